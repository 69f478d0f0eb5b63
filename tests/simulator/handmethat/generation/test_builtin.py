"""The built-in episodes: of every level and quest type, good to play."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from simulator.errors import InputError
from simulator.handmethat.data import load_tasks
from simulator.handmethat.env.game import Game
from simulator.handmethat.generation import builtin
from simulator.handmethat.generation.builtin import builtin_tasks


def test_there_are_ten_of_each_level_and_the_demonstrations_succeed() -> None:
    tasks = load_tasks()
    assert Counter(task.level for task in tasks) == dict.fromkeys((1, 2, 3, 4), 25)
    assert {task.meaning.quest for task in tasks} == {"bring_me", "move_to", "change_state"}
    assert len({task.id for task in tasks}) == len(tasks)
    for task in tasks:
        game = Game(task)
        state = game.start()
        for command in task.demo:
            state = game.act(state, command).game
        assert state.success


def test_some_may_be_chosen() -> None:
    assert {task.level for task in load_tasks("builtin", levels=[3])} == {3}
    assert len(load_tasks(quests=["change_state"], limit=4)) == 4
    with pytest.raises(InputError, match="the built-in episodes have no split"):
        load_tasks(split="test")


def test_the_table_is_what_its_maker_finds() -> None:
    rows = json.loads(builtin.TABLE.read_text(encoding="utf-8"))
    assert len({(row["quest"], row["goal"], row["level"]) for row in rows}) == 100
    assert builtin._find(2, "v2", "bring_me", 13, 0) == rows[25:38]


def test_a_table_out_of_date_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = json.loads(builtin.TABLE.read_text(encoding="utf-8"))
    (tmp_path / "table.json").write_text(json.dumps([{**rows[0], "level": 4}]))
    monkeypatch.setattr(builtin, "TABLE", tmp_path / "table.json")
    with pytest.raises(RuntimeError, match=r"run python -m simulator\.handmethat\.generation\.builtin"):
        builtin_tasks.__wrapped__()
