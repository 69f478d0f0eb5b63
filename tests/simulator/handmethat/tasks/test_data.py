"""Loading and checking folders of episodes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from episode_files import write_file

from simulator.errors import InputError
from simulator.handmethat.checking import check_folder
from simulator.handmethat.data import load_tasks
from simulator.handmethat.files.split import FOLDER, SPLIT_FILE, Part, make_split, write_split
from simulator.handmethat.items import Level, Task

NAMES: tuple[tuple[str, Level], ...] = (
    ("task-bring_me-64-10-2", 2),
    ("task-bring_me-64-9-2", 2),
    ("task-bring_me-9-0-1", 1),
    ("task-bring_me-64-0-4", 4),
)
GOAL = "(and (forall (?x - phyobj) (or (not (type-rag ?x)) (inside ?x sink))))"
ORDER = ["task-bring_me-9-0-1", "task-bring_me-64-9-2", "task-bring_me-64-10-2", "task-bring_me-64-0-4"]


def _of_level(task: Task, level: Level) -> Task:
    """The task of level 2, spoken or heard such that it is of another level."""
    changes: dict[int, dict[str, Any]] = {
        1: {"utterance": task.meaning, "in_utterance": task.in_meaning},
        2: {},
        4: {"heard": task.utterance, "in_heard": task.in_utterance, "useful": task.in_utterance},
    }
    return replace(task, level=level, **changes[level])


@pytest.fixture
def data(task: Task, tmp_path: Path) -> Iterator[Path]:
    """A data set as published: a folder of episodes and the split file next to it."""
    folder = tmp_path / "data" / FOLDER
    folder.mkdir(parents=True)
    for name, level in NAMES:
        goal = int(name.split("-")[2])
        write_file(replace(_of_level(task, level), id=name, goal_index=goal, goal=GOAL), folder)
    files = [f"{name}.json" for name, _ in NAMES]
    parts: dict[str, Part] = {**dict.fromkeys(files, "train"), files[0]: "test"}
    write_split(make_split(files, parts), folder.parent / SPLIT_FILE)
    yield folder.parent


def test_a_folder_is_loaded_in_order(data: Path) -> None:
    for path in (data, data / FOLDER, str(data)):
        assert [task.id for task in load_tasks(path)] == ORDER
    assert [task.id for task in load_tasks(data / FOLDER / f"{ORDER[0]}.json")] == ORDER[:1]


def test_levels_and_splits_are_selected(data: Path) -> None:
    assert [task.id for task in load_tasks(data, levels=[2])] == ORDER[1:3]
    for path in (data, data / FOLDER):
        assert [task.id for task in load_tasks(path, split="test")] == ["task-bring_me-64-10-2"]
    assert len(load_tasks(data, split="train", levels=[1, 4])) == 2


def test_unselected_files_are_not_read(data: Path) -> None:
    (data / FOLDER / "task-move_to-9-0-3.json").write_text("{")
    assert len(load_tasks(data, levels=[1, 2, 4])) == 4
    with pytest.raises(InputError, match=r"task-move_to-9-0-3\.json: is not JSON"):
        load_tasks(data)


def test_wrong_selections_are_refused_with_the_right_ones(
    data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    with pytest.raises(InputError, match="level 5: must be one of 1, 2, 3, 4"):
        load_tasks(data, levels=[5])
    with pytest.raises(InputError, match="split 'dev': must be one of train"):
        load_tasks(data, split="dev")
    with pytest.raises(InputError, match="contain no episode"):
        load_tasks(data, levels=[3])
    with pytest.raises(InputError, match="neither 'builtin', nor registered"):
        load_tasks(tmp_path / "nowhere")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="askback data add handmethat"):
        load_tasks("handmethat")
    (data / SPLIT_FILE).unlink()
    with pytest.raises(InputError, match=f"there is no {SPLIT_FILE}"):
        load_tasks(data, split="test")


def test_a_check_lists_every_fault_and_keeps_the_rest(data: Path) -> None:
    assert not check_folder(data).faults
    folder = data / FOLDER
    good = json.loads((folder / f"{ORDER[0]}.json").read_text())
    (folder / f"{ORDER[0]}.json").write_text(json.dumps({**good, "level": 3}))
    (folder / f"{ORDER[1]}.json").write_text("{")
    del good["utterance"], good["_goal"]
    (folder / f"{ORDER[2]}.json").write_text(json.dumps(good))
    (folder / f"{ORDER[3]}.json").rename(folder / "mine.json")
    checked = check_folder(data)
    assert [task.id for task in checked.tasks] == [ORDER[0], "mine"]
    reported = {(Path(fault.file).name, fault.severity, fault.code) for fault in checked.faults}
    assert reported == {
        (f"{ORDER[0]}.json", "warning", "level"),
        (f"{ORDER[0]}.json", "warning", "name"),
        (f"{ORDER[1]}.json", "error", "format"),
        (f"{ORDER[2]}.json", "error", "format"),
        (SPLIT_FILE, "warning", "split"),
    }
    assert sum(fault.file.endswith(f"{ORDER[2]}.json") for fault in checked.faults) == 2
    (data / SPLIT_FILE).write_text("[]")
    assert check_folder(data).faults[-1].severity == "error"


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ("", "_goal: "),
        ("(and (dusty moon)", "_goal: "),
        ("(and (dusty moon))", "'moon'"),
        ("(and (not (sliced table)))", "holds already when the human asks"),
    ],
)
def test_an_unknown_goal_is_a_warning(goal: str, message: str, task: Task, tmp_path: Path) -> None:
    path = write_file(replace(task, goal=goal), tmp_path)
    (fault,) = check_folder(path).faults
    assert (fault.severity, fault.code) == ("warning", "goal")
    assert message in fault.message
    assert load_tasks(path)[0].goal == goal
