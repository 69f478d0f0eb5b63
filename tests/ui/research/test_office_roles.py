"""Actions on the pages of studies and runs are refused to readers, and to anybody not logged in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import gradio as gr
import pytest
from gradio.context import LocalContext
from starlette.requests import Request

from logs import LogReader, LogWriter
from simulator import catalog
from simulator.commands.run import run_form
from simulator.models import ModelOptions
from simulator.runner.processes import RunProcesses
from simulator.studies.known import find_study, study_file
from simulator.studies.steering import desk_of
from ui.accounts import User
from ui.i18n import strings
from ui.research import guard
from ui.research.address import START, STUDIES, Address
from ui.research.blocks import Visit
from ui.research.office import Office
from ui.research.start_page import StartPage
from ui.research.studies_page import StudiesPage, StudyPeople

STUDY = "clarq-h2l"


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path))
    file = tmp_path / "log.sqlite"
    with LogWriter(file, durable=True) as writer, LogReader(file) as reader:
        processes = RunProcesses(file)
        yield Office(writer=writer, reader=reader, models=ModelOptions(), offered=(), processes=processes)


@contextmanager
def sent_by(user: User | None) -> Iterator[None]:
    """Let events be those of somebody, or of nobody who has logged in."""
    token = LocalContext.request.set(gr.Request(Request({"type": "http", guard._USER: user})))
    try:
        yield
    finally:
        LocalContext.request.reset(token)


def deeds(office: Office) -> dict[str, Callable[[], object]]:
    """Return what the pages do, by name, as their events call it."""
    page = StudiesPage(Visit(strings("en"), Address.read(STUDIES, ""), office))
    start = StartPage(Visit(strings("en"), Address.read(START, ""), office))
    study = find_study(STUDY, office.writer.path)
    people = StudyPeople(page.visit, desk_of(study, office.writer, office.reader))
    content = study_file(STUDY).read_text("utf-8").replace(f"id: {STUDY}", "id: another", 1)
    form = run_form(catalog.find("clarq"), ())
    return {
        "pick": lambda: page._read_picked({"text": content}),
        "check": lambda: page._check_file(content),
        "add": lambda: page._add(content),
        "open": lambda: page._open(study),
        "pause": lambda: page._pause(study),
        "close": lambda: page._close(study, True),
        "exclude": lambda: people._act_on_study("exclude", "p-1", "a bot"),
        "return": lambda: people._act_on_study("return", "p-1", "asleep"),
        "message": lambda: people._act_on_study("message", "p-1", "Hello"),
        "start": lambda: start._start(form, {}),
        "stop": lambda: start._stop(1),
        "continue": lambda: start._continue("one"),
    }


@pytest.mark.parametrize("user", [None, User("vie", "viewer")])
def test_nothing_is_done_for_a_viewer_or_nobody(office: Office, tmp_path: Path, user: User | None) -> None:
    with sent_by(user):
        for name, deed in deeds(office).items():
            with pytest.raises(gr.Error, match="your role does not allow this"):
                deed()
            assert not office.reader.events(), name
    assert not office.processes.started()
    assert not list(tmp_path.rglob("*.yaml"))


def test_an_editor_is_answered_what_is_wrong_and_is_in_the_log_where_nothing_is(office: Office) -> None:
    with sent_by(User("edi", "editor")):
        made = deeds(office)
        for name in ("exclude", "return", "message"):
            with pytest.raises(gr.Error, match="“p-1” has no place in this study"):
                made[name]()
        made["open"]()
    assert [event.details for event in office.reader.events(kind="researcher.study")] == [
        {"by": "edi", "did": "open", "study": STUDY}
    ]


def test_what_an_editor_does_to_a_participant_is_in_the_log(office: Office) -> None:
    study = find_study(STUDY, office.writer.path)
    desk = desk_of(study, office.writer, office.reader)
    who = asyncio.run(desk.admit({"PROLIFIC_PID": "A1"})).participant
    people = StudyPeople(Visit(strings("en"), Address.read(STUDIES, ""), office), desk)
    with sent_by(User("edi", "editor")):
        assert "will see your message" in people._act_on_study("message", who, "Hello")[2]
        people._act_on_study("return", who, "asleep")
        with pytest.raises(gr.Error, match="is not taking part"):
            people._act_on_study("return", who, "asleep")
        people._act_on_study("exclude", who, "a bot")
    assert people.choices() == [(f"{who} · Excluded", who)]
    assert office.reader.exclusions(study.run_id)
