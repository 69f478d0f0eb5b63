"""Batches: the same plan gives the same files for any number of processes and interruptions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from logs import LogReader, LogWriter
from simulator.errors import InputError
from simulator.handmethat.checking import check_folder
from simulator.handmethat.data import load_tasks
from simulator.handmethat.files.split import FOLDER, PARTS, SPLIT_FILE, read_split
from simulator.handmethat.generation import batch
from simulator.handmethat.generation.attempts import Job, Plan, make_attempt
from simulator.handmethat.generation.batch import JOURNAL, RESULT, Tally, generate_folder, run_batch
from simulator.handmethat.generation.generate import Generated, generate
from simulator.handmethat.items import item_row
from simulator.handmethat.profiles import load_profiles
from simulator.runner.options import Engine

PLAN = Plan(
    profile="v2",
    episodes=9,
    quotas={2: 4, 3: 3, 4: 2},
    mix={"bring_me": 1.0},
    templates=(2, 33, 36, 54, 62, 66),
    seed=3,
)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The episodes of `PLAN`, made here and at one go."""
    folder = tmp_path_factory.mktemp("whole")
    generate_folder(PLAN, folder)
    return folder


def test_a_batch_has_what_was_asked_for(whole: Path) -> None:
    checked = check_folder(whole)
    assert not checked.faults
    assert sorted(task.level for task in checked.tasks) == [2] * 4 + [3] * 3 + [4] * 2
    assert all(task.demo and task.description for task in checked.tasks)
    split = read_split(whole / SPLIT_FILE)
    assert sum(len(split.part(part)) for part in PARTS) == 9
    assert {task.goal_index for task in checked.tasks} <= set(PLAN.templates)
    # The running number counts within goal and quest type.
    for template in PLAN.templates:
        numbers = [task.task_index for task in checked.tasks if task.goal_index == template]
        assert sorted(number or 0 for number in numbers) == list(range(len(numbers)))
    # Each descends from its own seed alone.
    task = checked.tasks[0]
    again = generate(load_profiles()["v2"], task.seed, task.meaning.quest, task.goal_index or 0)
    assert isinstance(again, Generated)
    assert replace(again.task, id=task.id, task_index=task.task_index) == replace(
        task, demo=(), demo_full=(), demo_partial=(), description=None
    )
    assert set(contents(whole)) == {
        SPLIT_FILE,
        RESULT,
        *(f"{FOLDER}/{task.id}.json" for task in checked.tasks),
    }


@pytest.mark.slow
def test_two_processes_give_the_same_files_as_one(whole: Path, tmp_path: Path) -> None:
    generate_folder(PLAN, tmp_path / "out", engine=Engine(workers=2))
    assert contents(tmp_path / "out") == contents(whole)


class Stop(Exception):
    """Simulate Ctrl-C."""


@pytest.mark.parametrize("after", [1, 14])
def test_an_interrupted_batch_goes_on_to_the_same_files(
    after: int, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "_GROUP", 4)
    count = 0

    def report(tally: Tally) -> None:
        nonlocal count
        count += tally.attempts
        if count >= after:
            raise Stop

    total = json.loads((whole / RESULT).read_text())["attempts"]
    out = tmp_path / "out"
    assert after < total
    with pytest.raises(Stop):
        generate_folder(PLAN, out, report=report)
    assert (out / JOURNAL).exists()
    # Killed while writing: half a line, and a file that is not in the journal.
    with (out / JOURNAL).open("a") as journal:
        journal.write('{"attempts": 4, "ke')
    before: list[int] = []
    generate_folder(PLAN, out, report=lambda tally: before.append(tally.attempts))
    assert before[0] == after // 4 * 4
    assert sum(before) == total
    assert contents(out) == contents(whole)


def test_a_finished_batch_is_left_as_it_is(whole: Path, tmp_path: Path) -> None:
    before = contents(whole)
    tally = generate_folder(PLAN, whole)
    assert (len(tally.kept), tally.cpu) == (9, 0.0)
    assert contents(whole) == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 4}, "generated with seed 3, not 4"),
        ({"profile": "v1"}, 'generated with profile "v2", not "v1"'),
        ({"quotas": None}, "generated with levels"),
        ({"demos": False}, "generated with demos true, not false"),
        ({"mix": {"move_to": 1.0}}, "generated with quest_mix"),
        ({"templates": (2, 33)}, "generated with templates"),
    ],
)
def test_another_plan_in_the_same_folder_is_refused(
    change: dict[str, Any], message: str, whole: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        generate_folder(replace(PLAN, **change), whole)
    (tmp_path / JOURNAL).write_text(json.dumps({"plan": PLAN.to_json()}) + "\n")
    with pytest.raises(InputError, match=message):
        generate_folder(replace(PLAN, **change), tmp_path)


def test_foreign_folders_and_journals_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"is not empty \(notes\.txt is in it\)"):
        generate_folder(PLAN, tmp_path / "a")
    with pytest.raises(InputError, match="choose another --out"):
        generate_folder(PLAN, tmp_path / "a" / "notes.txt")
    for number, text in enumerate(("[]\n", "{\n", '{"plan": 1}\n')):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / JOURNAL).write_text(text)
        with pytest.raises(InputError, match=r"damaged|not written by this program"):
            generate_folder(PLAN, folder)
    folder = tmp_path / "line"
    folder.mkdir()
    (folder / JOURNAL).write_text(json.dumps({"plan": PLAN.to_json()}) + '\n{"attempts": 1}\n')
    with pytest.raises(InputError, match="damaged"):
        generate_folder(PLAN, folder)


@pytest.mark.slow
def test_rows_reach_the_log_once_even_after_an_interruption(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    for _ in range(2):
        with LogWriter(path, durable=False) as log:
            generate_folder(PLAN, tmp_path / "out", log=lambda row: log.put(item_row(row)))
    with LogReader(path) as reader, reader.connection() as connection:
        rows = connection.execute("SELECT name, hash FROM items").fetchall()
    tasks = load_tasks(whole)
    assert sorted(rows) == sorted((task.id, item_row(task).hash) for task in tasks)


def test_an_impossible_plan_is_refused() -> None:
    with pytest.raises(InputError, match=r"none of the templates \[2, 3\] can serve change_state"):
        replace(PLAN, templates=(2, 3), mix={"change_state": 1.0})
    with pytest.raises(InputError, match="profile 'v3': must be one of v1, v2, paper"):
        replace(PLAN, profile="v3")


def test_a_batch_without_results_stops_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(job: Job) -> Any:
        return replace(make_attempt(replace(job, closed=frozenset((1, 2, 3, 4)))), level=None)

    made = nothing(Job(PLAN, 0))
    monkeypatch.setattr(batch, "make_attempt", lambda job: replace(made, rejections={"no plan": 1000}))
    with pytest.raises(InputError, match=r"none of 20000 households gave an episode \(no plan 20000\)"):
        list(run_batch(PLAN))
    monkeypatch.setattr(batch, "make_attempt", lambda job: replace(made, level=1))
    with pytest.raises(InputError, match="gave no episode of level 2, 3, 4"):
        list(run_batch(PLAN))


def test_an_attempt_for_a_closed_level_is_not_finished() -> None:
    for number in range(20):
        attempt = make_attempt(Job(PLAN, number))
        if attempt.level is not None and attempt.facts is not None:
            break
    again = make_attempt(Job(PLAN, number, closed=frozenset([attempt.level])))
    assert (again.level, again.facts, again.file) == (attempt.level, None, b"")
    assert again.rejections == attempt.rejections
    assert attempt.file.count(b'"task_idx": 0') == 1
