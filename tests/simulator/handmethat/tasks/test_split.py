"""The split file in its three shapes, and the names of episode files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from shared_data import SHARED

from simulator.errors import InputError
from simulator.handmethat.files.split import (
    PARTS,
    Name,
    Part,
    make_split,
    parse_name,
    read_split,
    write_split,
)

HEAD = SHARED / "handmethat" / "HandMeThat_data_info.head.json"
NAMES = ["task-bring_me-10-0-1.json", "task-move_to-9-0-4.json", "task-bring_me-10-1-0.json"]


def test_names_of_both_versions_are_read_and_written() -> None:
    assert parse_name("level3_task481_bring_me_goal59.json") == Name("v1", 3, "bring_me", 59, 481)
    assert parse_name("task-change_state-5-17-0") == Name("v2", 0, "change_state", 5, 17)
    for name in ("level3_task481_bring_me_goal59", "task-move_to-68-0-4"):
        assert str(parse_name(name)) == name
    for name in ("level5_task0_bring_me_goal1", "task-fetch-1-1-1", "task-bring_me-1-1", "notes"):
        assert parse_name(name) is None


@pytest.mark.skipif(not HEAD.is_file(), reason=f"needs the published split file's head at {HEAD}")
def test_the_published_split_file_is_read() -> None:
    split = read_split(HEAD)
    assert [len(files) for files in split.levels.values()] == [5, 5, 5, 5]
    assert list(split.quests) == ["bring_me", "move_to", "change_state"]
    assert list(split.parts) == list(PARTS)
    assert not split.goals
    for group in (split.levels, split.quests, split.parts):
        for key, files in group.items():
            for file in files:
                name = parse_name(file)
                assert name is not None and name.style == "v1"
                assert key in (f"level{name.level}", name.quest, *PARTS)


def test_both_published_shapes_are_written_and_all_are_read(tmp_path: Path) -> None:
    parts: dict[str, Part] = dict(zip(NAMES, PARTS, strict=True))
    split = make_split(NAMES, parts)
    path = tmp_path / "info.json"
    write_split(split, path)
    assert read_split(path) == split
    quests, levels, goals, written = json.loads(path.read_text())
    assert list(quests) == ["bring_me", "move_to", "change_state"] and quests["move_to"] == [NAMES[1]]
    assert levels == {"level1": [NAMES[0]], "level2": [], "level3": [], "level4": NAMES[1:]}
    assert list(goals) == ["9", "10"]
    assert written == {"train": [NAMES[0]], "validate": [NAMES[1]], "test": [NAMES[2]]}
    write_split(split, path, "v1")
    assert json.loads(path.read_text()) == [levels, quests, written]
    assert read_split(path).part("test") == (NAMES[2],)
    path.write_text(json.dumps([quests, levels, goals]))
    without = read_split(path)
    write_split(without, path)
    assert json.loads(path.read_text()) == [quests, levels, goals]
    with pytest.raises(InputError, match="the split file has no parts"):
        without.part("test")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "not a list"),
        ([], "is empty"),
        ([[]], r"\[0\] is \[\], not an object"),
        ([{"train": "a.json"}], r"\[0\].train is \"a.json\", not a list"),
        ([{"train": [1]}], r"train\[0\] is 1, not a text"),
        ([{"train": [], "level1": []}], "expected level1"),
        ([{}], "expected level1"),
        ([{"test": []}, {"train": []}], "lists parts a second time"),
    ],
)
def test_a_faulty_split_file_is_refused(data: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "info.json"
    path.write_text(json.dumps(data))
    with pytest.raises(InputError, match=message) as caught:
        read_split(path)
    assert str(path) in str(caught.value)


def test_unreadable_split_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_split(tmp_path / "none.json")
    (tmp_path / "info.json").write_text("[")
    with pytest.raises(InputError, match="is not JSON"):
        read_split(tmp_path / "info.json")
    with pytest.raises(InputError, match="not the name of an episode file"):
        make_split(["notes.json"], {"notes.json": "train"})
