"""`askback import ambik-results`: people's decisions come with pseudonyms, and can be erased."""

from __future__ import annotations

import asyncio
import json

import pytest
import typer
from typer.testing import CliRunner

from logs import LogReader, LogWriter
from logs.erase import erase_participant
from simulator.ambik.benchmark import BENCHMARK
from simulator.ambik.import_command import import_ambik
from simulator.ambik.reporting.exporting import write_run_lines
from simulator.ambik.sessions import AmbikSessions
from simulator.ambik.trial_log import decisions
from simulator.seats import Reply

from .imports import THRESHOLD, brought, foreign, lines_of, reported, written


@pytest.fixture
def call(call, monkeypatch):
    """Calls the command as from a terminal."""
    monkeypatch.setenv("COLUMNS", "400")
    app = typer.Typer()
    app.command()(import_ambik)
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_people_come_with_what_they_saw_and_said(log, tmp_path):
    run = "play-ambik-person-offline-item"
    with LogReader(log) as reader:
        write_run_lines(tmp_path / "people.jsonl", reader, [run])
    new = tmp_path / "log.sqlite"
    (imported,) = brought(new, tmp_path / "people.jsonl")
    assert imported.runs[0].run.setup == "H2L"
    assert lines_of(new, run) == lines_of(log, run)
    assert reported(new, [run]) == reported(new, files=[tmp_path / "people.jsonl"])
    with LogReader(new) as reader:
        kinds = [[turn.payload["kind"] for turn in turns] for _, turns in reader.turns_of_run(run)]
    assert kinds == [["ready", "decide", "answer", "decide"]] * 2


async def _answering(path):
    writer, reader = LogWriter(path, durable=False, group_seconds=0.0), LogReader(path)
    sessions = AmbikSessions(BENCHMARK, writer, reader, lambda name: None, env={})
    for _ in range(2):
        episode = await sessions.start(
            seat="user", others={"robot": "offline/always-asks"}, rules={"type": "preferences"}
        )
        view = await sessions.view(episode, "user")
        while view.stage != "done":
            reply = Reply(text="ready" if view.stage != "task" else "The blue one, please.")
            view = await sessions.submit(episode, "user", reply, number=view.number)
    reader.close()
    writer.close()


def test_who_answered_comes_with_the_answer(tmp_path):
    asyncio.run(_answering(tmp_path / "played.sqlite"))
    with LogReader(tmp_path / "played.sqlite") as reader:
        (run,) = [run.id for run in reader.runs()]
        write_run_lines(tmp_path / "a.jsonl", reader, [run])
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert sum(line.get("seat") == "user" for line in lines) == 2
    (imported,) = brought(tmp_path / "log.sqlite", tmp_path / "a.jsonl")
    assert imported.runs[0].run.setup == "L2H"
    # The lines do not tell that the person has read the instructions; so turns are counted without that.
    made = lines_of(tmp_path / "log.sqlite", run)
    assert [{**decision, "turn": 0} for decision in made] == [{**line, "turn": 0} for line in lines]
    assert reported(tmp_path / "log.sqlite", [run]) == reported(
        tmp_path / "log.sqlite", files=[tmp_path / "a.jsonl"]
    )


def test_people_are_participants_and_can_be_erased_for_good(tmp_path):
    marked = {"method": "person", "marked": ["take the mug", "take the cup"], "asks": True}
    lines = [
        {**line, "generator": who, "episode_id": who}
        for who, line in zip(("ann", "bob"), foreign(1, **marked), strict=True)
    ]
    file, log = written(tmp_path / "a.jsonl", *lines), tmp_path / "log.sqlite"
    (imported,) = brought(log, file, data="builtin")
    digest = imported.digest[:8]
    with LogReader(log) as reader:
        assert [person.id for person in reader.participants()] == [f"ann-{digest}", f"bob-{digest}"]
        assert [decision.generator for decision in decisions(reader, ["a"])] == [
            f"ann-{digest}",
            f"bob-{digest}",
        ]
    erase_participant(log, f"bob-{digest}")
    (again,) = brought(log, file, data="builtin", name="again")
    assert [run.receipt.episodes for run in again.runs] == [1]
    assert "were erased from this log and are not added again" in again.faults[0].message
    with LogReader(log) as reader:
        assert [decision.generator for decision in decisions(reader, ["a", "again"])] == [f"ann-{digest}"] * 2


def test_forms_of_annotators_are_counted_and_left_out(tmp_path, call):
    lines = foreign(1, **THRESHOLD)
    form = {"pair_id": "d1", "seat": "annotator", "form": {}, "method": None}
    file = written(tmp_path / "a.jsonl", *lines, form)
    result = call(file, "--data", "builtin", "--log", tmp_path / "log.sqlite")
    assert result.exit_code == 0 and "2 lines, 2 episodes" in result.stdout
    assert "1 lines are annotators' forms; left out" in result.stderr
