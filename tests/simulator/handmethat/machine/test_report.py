"""Tables of runs."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest
from rich.console import Console

from logs.erase import erase_participant
from logs.rows import Ending, Episode, Participant, Run, Turn
from simulator import catalog
from simulator.errors import InputError
from simulator.frames import Frames
from simulator.handmethat.machine import MACHINE
from simulator.handmethat.playing import Posed
from simulator.handmethat.reports import paper_cell, scored_episodes
from simulator.reporting import report_latex
from simulator.reports import build_report, print_run_report
from simulator.stats import Interval

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
        row = MACHINE.item_row(Posed(replace(kitchen, id=name, level=level), "en"))
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
            content = {"command": command}
            log.put(Turn(episode_id=episode, number=place, seat="robot", text=command, payload=content))
        if status:
            message = "it broke" if status == "failed" else ""
            log.put(Ending(episode_id=episode, status=status, message=message))
        log.flush()

    return put


def report(reader, *runs):
    return build_report(catalog.find("handmethat"), Frames(log=reader, runs=tuple(runs)))


def rows(report, section, table):
    """Rows of a table as dicts."""
    (made,) = [each for each in report.section(section).tables if each.name == table]
    return [dict(zip([head.name for head in made.heads], row, strict=True)) for row in made.rows]


def levels(report):
    return {(row["label"], row["level"]): row for row in rows(report, "levels", "exact")}


def test_the_table_follows_from_its_own_rates(put, reader, lamp):
    """score = p (100 - n) - 40 (1 - p), as in the paper's Table 2 (spec 9.5)."""
    for number in range(6):
        put(*["look"] * number, *(lamp if number < 4 else ["stop"]), number=number)
    cell = levels(report(reader, "run"))["offline/asker, 0 questions", "1"]
    assert (cell["n"], cell["success"].value, cell["moves"].value) == (6, pytest.approx(4 / 6), 5.5)
    assert cell["score"].value == pytest.approx(4 / 6 * (100 - 5.5) - 2 / 6 * 40)
    assert paper_cell(cell) == f"{cell['score'].value:.1f} (66.7, 5.5)"
    assert paper_cell(cell, person=True) == "(66.7, 5.5)"
    assert cell["success"].low < 4 / 6 < cell["success"].high


def test_a_paper_cell_is_rounded_as_its_table_is():
    half = Interval(95.25, None, None, 1)
    result = {"score": half, "success": Interval(0.1255, None, None, 1), "moves": half}
    assert paper_cell(result) == "95.3 (12.6, 95.3)"


def test_rows_are_robots_and_columns_levels(put, reader, lamp, wrong):
    put(*lamp, robot="person", run="people", protocol="paper", max_questions=None)
    put(*wrong, "stop", robot="offline/heuristic", mode="full", level=2)
    put(*lamp, robot="offline/heuristic", mode="partial", level=4)
    put(*lamp, robot="openai/x", run="model", max_questions=2)
    made = report(reader, "run", "people", "model")
    assert [row["Robot"] for row in rows(made, "levels", "paper")] == [
        "person, one try",
        "offline/heuristic*",
        "openai/x, 2 questions",
    ]
    cells = levels(made)
    assert [level for _, level in cells] == ["1", "all", "2", "4", "all", "1", "all"]
    assert cells["offline/heuristic*", "2"]["moves"] is None
    assert repr(cells["openai/x, 2 questions", "1"]["allowed"]) == "2"  # not 2.0, which is shown as 2.00


def test_failed_episodes_are_counted_but_not_scored(put, reader, lamp):
    put(*lamp)
    put(*lamp, number=1, status="truncated")
    put(number=2, status="failed")
    put(number=3, status="aborted")
    put(*lamp[:2], number=4, status=None)
    made = report(reader, "run")
    assert made.endings.statuses == {"completed": 1, "truncated": 1, "failed": 1, "aborted": 1, "open": 1}
    assert (made.section("items").data["unscored"], made.endings.failures) == (3, {"it broke": 1})
    assert levels(made)["offline/asker, 0 questions", "all"]["n"] == 2


def test_withdrawn_participants_are_excluded_and_counted(put, log_path, reader, lamp):
    put(*lamp, robot="person", person="stays")
    put(*lamp, robot="person", person="gone", number=1)
    put(*lamp[:2], robot="person", person="gone", number=2, status="aborted")
    erase_participant(log_path, "gone")
    made = report(reader, "run")
    row = levels(made)["person", "all"]
    assert (row["n"], row["success"].value) == (1, 1)
    assert made.endings.statuses == {"completed": 1, "erased": 2}
    assert made.section("items").data["unscored"] == 2
    assert scored_episodes(reader, ["run"])["participant"].tolist() == ["stays"]


def test_success_and_score_by_questions_asked(put, reader, lamp, wrong):
    put(*wrong, "stop", robot="openai/x")
    put(ASK, *lamp, robot="openai/x", number=1)
    put(ASK, ASK, *lamp, robot="openai/x", number=2, level=3)
    asked = rows(report(reader, "run"), "asked", "asked")
    assert [
        (row["questions"], row["success"].value, row["score"].value) for row in asked if row["level"] is None
    ] == [(0, 0, -40), (1, 1, 86), (2, 1, 76)]
    assert [(row["questions"], row["n"]) for row in asked if row["level"] == 3] == [(2, 1)]


def test_the_gain_per_question_is_paired_over_items(put, reader, lamp, wrong):
    for number in range(3):
        put(*wrong, "stop", number=number, run="none")
        put(ASK, *lamp, number=number, run="one", robot="offline/asker:1")
        put(ASK, ASK, ASK, *lamp, number=number, run="three", robot="offline/asker", max_questions=3)
    put(*lamp, number=9, run="none")
    gains = [row for row in rows(report(reader, "none", "one", "three"), "gains", "gains")]
    whole = [row for row in gains if row["level"] is None]
    assert [(row["robot"], row["fewer"], row["more"], row["success"].n) for row in whole] == [
        ("offline/asker", 0, 1, 3),
        ("offline/asker", 1, 3, 3),
    ]
    assert [(row["success"].value, row["score"].value) for row in whole] == [(1, 126), (0, -10)]
    assert {row["level"] for row in gains} == {None, 1}
    assert "gains" not in [section.name for section in report(reader, "none").sections]


def test_the_table_as_csv_latex_json_and_text(put, reader, lamp, wrong):
    put(*lamp)
    put(*wrong, "stop", level=3)
    put(ASK, *lamp, robot="offline/asker:1", run="one")
    made = report(reader, "run", "one")
    (exact,) = [table for table in made.section("levels").tables if table.name == "exact"]
    lines = list(csv.DictReader(io.StringIO(exact.to_csv())))
    assert [(row["robot"], row["allowed"], row["level"]) for row in lines] == [
        ("offline/asker", "0", "1"),
        ("offline/asker", "0", "3"),
        ("offline/asker", "0", "all"),
        ("offline/asker", "1", "1"),
        ("offline/asker", "1", "all"),
    ]
    assert (float(lines[0]["score"]), float(lines[0]["moves"]), lines[1]["moves"]) == (96, 4, "")
    assert float(lines[1]["raw_sum"]) == -5
    latex = report_latex(made)
    assert r"{Robot} & {Level 1} & {Level 2} & {Level 3} & {Level 4} & {all} \\" in latex
    assert "96.0 (100.0, 4.0) & {--} & -40.0 (0.0) & {--} &" in latex
    console = Console(width=200)
    with console.capture() as capture:
        print_run_report(console, made)
    text = capture.get()
    assert "96.0 (100.0, 4.0)" in text
    assert "Gain per question allowed" in text


def test_a_run_of_another_benchmark_is_refused(log, reader):
    log.put(Run(id="other", benchmark="clarq", setup="L2L", seed=0))
    log.flush()
    with pytest.raises(InputError, match="clarq"):
        report(reader, "other")


def test_moves_without_effect_are_counted(put, reader):
    put("Sure! Here is my move.", "stop", robot="openai/x")
    put("stop", robot="offline/asker:0", number=1)
    remarks = report(reader, "run").section("levels").remarks
    assert remarks == ["openai/x: 1 of 2 moves had no effect"]
