"""Packed episodes are those of their files, found by number, id and part."""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from episode_files import write_file

import app
from simulator.errors import InputError
from simulator.handmethat.data import Packed, draw_tasks, load_tasks, task_source, write_packed
from simulator.handmethat.env.gym_env import HandMeThat
from simulator.handmethat.files.split import FOLDER, SPLIT_FILE, Part, make_split, write_split
from simulator.handmethat.items import Sample, Task


@pytest.fixture
def folder(task: Task, tmp_path: Path) -> Path:
    inner = tmp_path / "data" / FOLDER
    inner.mkdir(parents=True)
    names = [f"task-bring_me-64-{number}-2" for number in range(6)]
    for name in names:
        write_file(replace(task, id=name), inner)
    parts: dict[str, Part] = {f"{name}.json": "test" if i > 3 else "train" for i, name in enumerate(names)}
    write_split(make_split(list(parts), parts), inner.parent / SPLIT_FILE)
    return inner.parent


def test_packed_episodes_are_those_of_the_files(folder: Path, tmp_path: Path, monkeypatch, capsys) -> None:
    file = tmp_path / "some.packed"
    monkeypatch.setattr(sys, "argv", ["askback", "pack", "handmethat", str(folder), "--out", str(file)])
    with pytest.raises(SystemExit):
        app.main()
    assert "6 episodes are in" in capsys.readouterr().out
    for split, count in ((None, 6), ("train", 4), ("test", 2)):
        loose, packed = load_tasks(folder, split=split), load_tasks(file, split=split)
        assert len(loose) == len(packed) == count
        for whole, other in zip(loose, packed, strict=True):
            assert replace(whole, demo_full=(), demo_partial=()) == other
    source = task_source(file, "test")
    assert (len(source), source.task(1).id) == (2, "task-bring_me-64-5-2")
    again = pickle.loads(pickle.dumps(source))
    assert again.named("task-bring_me-64-4-2").id == "task-bring_me-64-4-2"
    assert len(draw_tasks(file, Sample(limit=3))) == 3
    first, _ = HandMeThat(str(file)).reset(options={"task": 2})
    other, _ = HandMeThat(str(folder)).reset(options={"task": 2})
    assert first == other


def test_wrong_packs_are_refused(task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    file = tmp_path / "some.packed"
    with pytest.raises(InputError, match="same id"):
        write_packed([task, task], {}, file)
    assert not list(tmp_path.iterdir())
    assert write_packed([task], {}, file) == 1
    with pytest.raises(InputError, match="no episode of split 'test'"):
        Packed(file, "test")
    with pytest.raises(InputError, match="ids are like 'task-bring_me-64-0-2'"):
        task_source(file).named("gone")
    other = tmp_path / "other.packed"
    other.write_text("{}")
    with pytest.raises(InputError, match=r"other\.packed: cannot be read"):
        Packed(other)
    with pytest.raises(InputError, match="cannot be written"):
        write_packed([task], {}, tmp_path / "gone" / "some.packed")
    monkeypatch.setattr(sys, "argv", ["askback", "pack", "handmethat", "builtin", "--out", "x.zip"])
    with pytest.raises(SystemExit):
        app.main()
    assert "must end in .packed" in capsys.readouterr().err
