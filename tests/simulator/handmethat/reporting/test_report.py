"""Tables of runs."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from logs.erase import erase_participant
from logs.rows import Ending, Episode, Participant, Run, Turn
from simulator.errors import InputError
from simulator.handmethat.reporting.report import report
from simulator.handmethat.reporting.scored import score_run
from simulator.handmethat.reporting.terminal import (
    print_report,
    report_csv,
    report_json,
    report_latex,
    table_cell,
)
from simulator.handmethat.room import ROOM, Posed
from simulator.handmethat.score import paper_average

ASK = "question: where is the object you want"


@pytest.fixture
def put(log, kitchen):
    """Log an episode out of the robot's commands."""

    def put(
        *commands,
        run="run",
        robot="offline/asker:0",
        level=1,
        number=0,
        status="completed",
        repeat=0,
        person=None,
        **options,
    ):
        name = f"task-bring_me-0-{number}-{level}"
        row = ROOM.item_row(Posed(replace(kitchen, id=name, level=level), "en"))
        log.put(Run(id=run, benchmark="handmethat", setup="L2L", seed=0))
        log.put(row)
        if person:
            log.put(Participant(id=person))
        episode = f"{run}/{name}/{repeat}"
        log.put(
            Episode(
                id=episode,
                run_id=run,
                item_hash=row.hash,
                language="en",
                seats={"robot": robot, "human": "offline/giver"},
                seed=0,
                repeat=repeat,
                options=options,
                participant_id=person,
            )
        )
        payload = {"kind": "utterance", "mode": options.get("mode", "partial")}
        payload["protocol"] = options.get("protocol", "free")
        log.put(Turn(episode_id=episode, number=0, seat="human", text="u", payload=payload))
        for place, command in enumerate(commands, start=1):
            told = {"command": command}
            log.put(Turn(episode_id=episode, number=place, seat="robot", text=command, payload=told))
        if status:
            message = "it broke" if status == "failed" else ""
            log.put(Ending(episode_id=episode, status=status, message=message))
        log.flush()

    return put


def test_the_table_follows_from_its_own_rates(put, reader, lamp):
    """score = p (100 - n) - 40 (1 - p), as in the paper's Table 2 (spec 9.5)."""
    for number in range(6):
        put(*["look"] * number, *(lamp if number < 4 else ["stop"]), number=number)
    (row,) = report(reader, ["run"]).rows
    cell = row.levels[1]
    assert cell.moves is not None
    assert (cell.n, cell.success.value, cell.moves.value) == (6, pytest.approx(4 / 6), 5.5)
    assert cell.score.value == pytest.approx(paper_average(4 / 6, 5.5))
    assert table_cell(cell) == f"{cell.score.value:.1f} (66.7, 5.5)"
    assert table_cell(cell, person=True) == "(66.7, 5.5)"
    assert cell.success.low < 4 / 6 < cell.success.high


def test_rows_are_robots_and_columns_levels(put, reader, lamp, wrong):
    put(*lamp, robot="person", run="people", protocol="paper", max_questions=None)
    put(*wrong, "stop", robot="offline/heuristic", mode="full", level=2)
    put(*lamp, robot="offline/heuristic", mode="partial", level=4)
    put(*lamp, robot="openai/x", run="model", max_questions=2)
    found = report(reader, ["run", "people", "model"])
    assert [row.who.label for row in found.rows] == [
        "person, one try",
        "offline/heuristic",
        "offline/heuristic*",
        "openai/x, 2 questions",
    ]
    assert [list(row.levels) for row in found.rows] == [[1], [4], [2], [1]]
    assert found.rows[2].levels[2].moves is None


def test_what_failed_is_told_and_not_scored(put, reader, lamp):
    put(*lamp)
    put(*lamp, number=1, status="truncated")
    put(number=2, status="failed")
    put(number=3, status="aborted")
    put(*lamp[:2], number=4, status=None)
    found = report(reader, ["run"])
    assert found.statuses == {"completed": 1, "truncated": 1, "failed": 1, "aborted": 1, "open": 1}
    assert (found.unscored, found.failures) == (3, {"it broke": 1})
    assert found.rows[0].all.n == 2


def test_who_has_withdrawn_does_not_count_and_is_told(put, log_path, reader, lamp):
    put(*lamp, robot="person", person="stays")
    put(*lamp, robot="person", person="gone", number=1)
    put(*lamp[:2], robot="person", person="gone", number=2, status="aborted")
    erase_participant(log_path, "gone")
    found = report(reader, ["run"])
    (row,) = found.rows
    assert (row.all.n, row.all.success.value) == (1, 1)
    assert (found.statuses, found.unscored) == ({"completed": 1, "erased": 2}, 2)
    assert [one.episode.participant_id for one in score_run(reader, "run")] == ["stays"]


def test_success_and_score_by_questions_asked(put, reader, lamp, wrong):
    put(*wrong, "stop", robot="openai/x")
    put(ASK, *lamp, robot="openai/x", number=1)
    put(ASK, ASK, *lamp, robot="openai/x", number=2, level=3)
    found = [one for one in report(reader, ["run"]).asked if one.level is None]
    assert [(one.questions, one.cell.success.value, one.cell.score.value) for one in found] == [
        (0, 0, -40),
        (1, 1, 86),
        (2, 1, 76),
    ]
    of_level = [one for one in report(reader, ["run"]).asked if one.level == 3]
    assert [(one.questions, one.cell.n) for one in of_level] == [(2, 1)]


def test_the_gain_per_question_is_paired_over_items(put, reader, lamp, wrong):
    for number in range(3):
        put(*wrong, "stop", number=number, run="none")
        put(ASK, *lamp, number=number, run="one", robot="offline/asker:1")
        put(ASK, ASK, ASK, *lamp, number=number, run="three", robot="offline/asker", max_questions=3)
    put(*lamp, number=9, run="none")
    found = [one for one in report(reader, ["none", "one", "three"]).gains if one.level is None]
    assert [(one.robot, one.fewer, one.more, one.success.n) for one in found] == [
        ("offline/asker", 0, 1, 3),
        ("offline/asker", 1, 3, 3),
    ]
    assert [(one.success.value, one.score.value) for one in found] == [(1, 126), (0, -10)]
    assert report(reader, ["none"]).gains == ()
    levels = {one.level for one in report(reader, ["none", "one"]).gains}
    assert levels == {None, 1}


def test_the_table_as_csv_latex_json_and_text(put, reader, lamp, wrong):
    put(*lamp)
    put(*wrong, "stop", level=3)
    put(ASK, *lamp, robot="offline/asker:1", run="one")
    found = report(reader, ["run", "one"])
    rows = list(csv.DictReader(io.StringIO(report_csv(found))))
    assert [(row["robot"], row["questions_allowed"], row["level"]) for row in rows] == [
        ("offline/asker", "0", "1"),
        ("offline/asker", "0", "3"),
        ("offline/asker", "0", "all"),
        ("offline/asker", "1", "1"),
        ("offline/asker", "1", "all"),
    ]
    assert (rows[0]["score"], rows[0]["moves"], rows[1]["moves"]) == ("96.0000", "4.0000", "")
    assert float(rows[1]["raw_sum"]) == -5
    latex = report_latex(found)
    assert r"Robot & Level 1 & Level 2 & Level 3 & Level 4 \\" in latex
    assert "96.0 (100.0, 4.0) & -- & -40.0 (0.0) & --" in latex
    plain = report_json(found)
    assert json.loads(json.dumps(plain)) == plain
    assert plain["rows"][0]["levels"]["1"]["moves"]["value"] == 4
    console = Console(width=200)
    with console.capture() as capture:
        print_report(console, found)
    text = capture.get()
    assert "96.0 (100.0, 4.0)" in text
    assert "gain per question allowed" in text


def test_a_run_of_another_benchmark_is_refused(log, reader):
    log.put(Run(id="other", benchmark="clarq", setup="L2L", seed=0))
    log.flush()
    with pytest.raises(InputError, match="clarq"):
        score_run(reader, "other")
