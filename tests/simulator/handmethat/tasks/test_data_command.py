"""`askback check` and `askback data add handmethat` for episode files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from episode_files import write_file

from simulator import datasets
from simulator.errors import InputError
from simulator.handmethat.checking import checker, find_episodes, register
from simulator.handmethat.data import load_tasks
from simulator.handmethat.files.split import FOLDER, SPLIT_FILE, make_split, write_split
from simulator.handmethat.items import Task
from simulator.tables.registering import print_added

GOAL = "(and (forall (?x - phyobj) (or (not (type-rag ?x)) (inside ?x sink))))"
NAMES = ("task-bring_me-64-0-2", "task-bring_me-64-1-2")


@pytest.fixture(autouse=True)
def published(task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two episodes as published, one folder deep, and an empty Askback folder."""
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    folder = tmp_path / "download" / "data" / FOLDER
    folder.mkdir(parents=True)
    for name in NAMES:
        write_file(replace(task, id=name, goal=GOAL), folder)
    names = [f"{name}.json" for name in NAMES]
    write_split(make_split(names, {names[0]: "train", names[1]: "test"}), folder.parent / SPLIT_FILE)
    return tmp_path / "download"


def test_published_episodes_are_registered_and_loaded_by_name(
    published: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match=r"2 episodes, but 10000 or 116146 were published.*--partial"):
        register(published)
    print_added(register(published, "handmethat", True))
    assert "episodes 2, level 1 0, level 2 2" in capsys.readouterr().out
    assert [task.id for task in load_tasks("handmethat")] == list(NAMES)
    assert [task.id for task in load_tasks("handmethat", split="test")] == [NAMES[1]]
    dataset = datasets.find("handmethat")
    assert dataset is not None and dataset.benchmark == "handmethat"
    for path in (published / "data", published / "data" / FOLDER):
        assert not register(path, partial=True).changed


def test_faulty_and_empty_folders_are_not_registered(published: Path, tmp_path: Path) -> None:
    (published / "data" / FOLDER / f"{NAMES[1]}.json").write_text("{}")
    with pytest.raises(InputError, match=rf"faults, the first in .*{NAMES[1]}\.json: .*askback check"):
        register(published, partial=True)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=f"no episodes, in a folder {FOLDER}"):
        register(tmp_path / "empty")
    with pytest.raises(InputError, match="are not registered yet"):
        load_tasks("handmethat")


def test_data_of_another_benchmark_are_not_loaded(published: Path) -> None:
    register(published, "mine", partial=True)
    manifest = datasets.data_folder() / "mine" / datasets.MANIFEST
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "benchmark": "clarq"}))
    with pytest.raises(InputError, match="'mine' belong to clarq"):
        load_tasks("mine")


def test_a_check_finds_episodes_by_name_and_by_content(published: Path, tmp_path: Path) -> None:
    files = find_episodes(published)
    assert [file.name for file in files] == [SPLIT_FILE, *(f"{name}.json" for name in NAMES)]
    assert not checker().check(files)
    mine, other = tmp_path / "mine.json", tmp_path / "other.json"
    mine.write_bytes(files[1].read_bytes())
    other.write_text("{}")
    assert [find_episodes(path) for path in (mine, other, tmp_path / "none")] == [(mine,), (), ()]
    files[1].unlink()
    faults = checker().check(find_episodes(published))
    assert [fault.severity for fault in faults] == ["warning"]
    assert "1 files that do not exist" in faults[0].message


def test_all_sets_of_a_folder_are_registered(
    published: Path, task: Task, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sets at any depth and under other folder names are found, and their splits are merged."""
    deep = published / "more" / "a" / "b" / "c"
    deep.mkdir(parents=True)
    for number in (5, 6, 7):
        write_file(replace(task, id=f"task-bring_me-64-{number}-2", goal=GOAL), deep)
    write_file(replace(task, id="task-bring_me-64-5-2", goal=GOAL), published)  # the same once more
    own = write_file(replace(task, id="task-bring_me-64-9-2", goal=GOAL), deep)
    own.rename(deep / "mine.json")
    names = [f"task-bring_me-64-{number}-2.json" for number in (5, 6, 7)]
    write_split(make_split(names, dict.fromkeys(names, "test")), deep / SPLIT_FILE)
    print_added(register(published, "handmethat", True))
    assert "episodes 6, level 1 0, level 2 6" in capsys.readouterr().out.replace("\n", " ")
    assert [file.name for file in find_episodes(published)].count(SPLIT_FILE) == 2
    loaded = [entry.id for entry in load_tasks("handmethat")]
    assert loaded == [*NAMES, *(name.removesuffix(".json") for name in names), "mine"]
    assert len(load_tasks("handmethat", split="test")) == 4
    assert len(load_tasks("handmethat", split="train")) == 1


def test_sets_with_conflicting_episodes_are_refused(published: Path, task: Task) -> None:
    other = published / "other"
    other.mkdir()
    write_file(replace(task, id=NAMES[0], goal=GOAL, level=3), other)
    with pytest.raises(
        InputError, match=rf"{NAMES[0]}\.json in .* differs from that in .* --name.*other \(1\)"
    ):
        register(published, partial=True)
    assert datasets.find("handmethat") is None
    assert register(other, partial=True).dataset.details["episodes"] == 1


def test_a_file_in_two_parts_is_no_split(published: Path) -> None:
    beside = published / "data" / FOLDER / SPLIT_FILE
    names = [f"{name}.json" for name in NAMES]
    write_split(make_split(names, {names[0]: "test", names[1]: "test"}), beside)
    with pytest.raises(InputError, match=rf"{names[0]} is in train and in test"):
        register(published, partial=True)
