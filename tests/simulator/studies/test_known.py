"""Studies that are added as files and opened on a log: what is taken and refused, and who can come in."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlparse

import pytest

from logs import LogReader, LogWriter, load_key
from simulator.clarq.benchmark import BENCHMARK as CLARQ
from simulator.clarq.sessions import ClarqSessions
from simulator.errors import InputError
from simulator.studies.files import Study
from simulator.studies.known import MOST_BYTES, add_study, all_studies, find_study, study_file
from simulator.studies.people import preview_link, preview_of
from simulator.studies.steering import admit_as, desk_of, plan_of, study_statuses

MINE = study_file("clarq-h2l").read_text(encoding="utf-8").replace("id: clarq-h2l", "id: mine", 1)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An Askback folder that nothing is in."""
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def log(tmp_path: Path) -> Iterator[tuple[LogWriter, LogReader]]:
    """A log that nothing is in."""
    path = tmp_path / "log.sqlite"
    with LogWriter(path, durable=True) as writer, LogReader(path) as reader:
        yield writer, reader


def added(text: str, reader: LogReader) -> Study:
    study = add_study(text.encode(), reader)
    assert isinstance(study, Study), study
    return study


def state(study: str, log: tuple[LogWriter, LogReader]) -> str:
    return next(each.state for each in study_statuses(*log) if each.study.id == study)


def test_an_added_study_is_found_by_its_id_and_opened(log: tuple[LogWriter, LogReader], home: Path) -> None:
    study = added(MINE, log[1])
    assert [file.name for file in (home / "studies").iterdir()] == ["mine.yaml"]
    assert find_study("mine") == study and plan_of(study).sets > 0
    assert state("mine", log) == "ready"
    desk = desk_of(study, *log)
    for status, changed in (("open", False), ("paused", True), ("paused", False), ("closed", True)):
        assert admit_as(desk, status) is changed  # type: ignore[arg-type]
        assert state("mine", log) == status


async def test_people_come_in_when_it_is_open_and_try_it_out_before(log: tuple[LogWriter, LogReader]) -> None:
    writer, reader = log
    sessions = ClarqSessions(CLARQ, writer, reader, lambda name: None)  # type: ignore[arg-type, return-value]
    listed = len(sessions.studies())
    assert sessions.study("mine") is None
    study = added(MINE, reader)
    assert sessions.study("mine") is None, "nobody is let in before it is opened"
    preview = sessions.study(preview_of(study).id)
    assert preview is not None and preview.preview
    query = dict(parse_qsl(urlparse(preview_link(study, load_key(writer.path), "https://lab.example")).query))
    await sessions.enter(preview.id, identity=query, participant_key="me", language="en")
    assert [run.id for run in reader.runs()] == [f"study-{preview.id}"]
    assert preview.id not in all_studies(reader), "what was tried out is no study"
    await asyncio.to_thread(admit_as, desk_of(study, writer, reader), "open")
    card = sessions.study("mine")
    assert card is not None and card.open and not card.preview and not card.builtin
    entry = await sessions.enter("mine", identity={}, participant_key="k", language="en")
    assert entry.episode_id is not None
    # A server that is started afterwards goes on with it, own questions and all.
    later = ClarqSessions(CLARQ, writer, reader, lambda name: None)  # type: ignore[arg-type, return-value]
    assert (await later.view(entry.episode_id, "seeker")).stage == "consent"
    assert len(later.studies()) == listed, "it is reached by its link alone"


def test_a_corrected_file_takes_the_place_of_the_first_until_it_is_opened(
    log: tuple[LogWriter, LogReader],
) -> None:
    added(MINE, log[1])
    better = added(MINE.replace("title:", "contact: me@lab.example\ntitle:", 1), log[1])
    assert all_studies(log[1])["mine"].contact == better.contact == "me@lab.example"
    admit_as(desk_of(better, *log), "open")
    with pytest.raises(InputError, match="another study has this id"):
        add_study(MINE.encode(), log[1])


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [*{before},*{before},*{before},*{before},*{before},*{before},*{before},*{before}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (BOMB, "YAML"),
        ("!!python/object/apply:os.system ['true']", "YAML|mapping"),
        ("[" * 5000, "YAML"),
        (MINE.replace("id: mine", "id: ../../escaped", 1), "id"),
        (MINE.replace("id: mine", "id: /etc/cron.d/x", 1), "id"),
        (MINE.replace("data: builtin", "data: /etc/passwd"), "settings: data: names a file"),
        (MINE.replace("offline/experts", "'python:os:system'"), "settings: opposite: names a file"),
        (MINE.replace("offline/experts", "'script:x'"), "settings: opposite: names a file"),
        (MINE.replace("offline/experts", "'openai/x@http://a.example'"), "settings: opposite: names a file"),
        ("\x00\x01", "YAML"),
    ],
    ids=["bomb", "object", "depth", "up", "absolute", "file", "program", "script", "server", "binary"],
)
def test_hostile_files_are_refused_by_name_and_nothing_is_kept(
    content: str, named: str, log: tuple[LogWriter, LogReader], home: Path
) -> None:
    assert content != MINE
    faults = add_study(content.encode(), log[1])
    assert isinstance(faults, tuple) and faults
    assert any(part in " ".join(fault.message for fault in faults) for part in named.split("|")), faults
    assert [file for file in home.rglob("*") if file.is_file()] == []


def test_a_file_of_ten_megabytes_is_not_even_read(log: tuple[LogWriter, LogReader], home: Path) -> None:
    with pytest.raises(InputError, match=f"{MOST_BYTES:,} bytes"):
        add_study(b"a" * 10_000_000, log[1])
    assert list(home.rglob("*")) == []


def test_a_study_that_comes_with_askback_is_not_replaced(log: tuple[LogWriter, LogReader]) -> None:
    with pytest.raises(InputError, match="another study has this id"):
        add_study(MINE.replace("id: mine", "id: clarq-h2l", 1).encode(), log[1])
