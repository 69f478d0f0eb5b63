"""The built-in episodes: of every level and quest type, good to play."""

from __future__ import annotations

from collections import Counter

import pytest

from simulator.errors import InputError
from simulator.handmethat.data import load_tasks
from simulator.handmethat.env.game import Game
from simulator.handmethat.goals.formula import parse_goal
from simulator.handmethat.goals.model import find_targets
from simulator.handmethat.meanings.model import QUESTS
from simulator.handmethat.meanings.rsa import builtin_rewards, profile_of
from simulator.handmethat.planner.rewards import rewards


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


def test_stored_rewards_belong_to_groundings_and_agree_with_the_useful_ones() -> None:
    """Rewards in the table: of what is weighed today, mostly the same, the useful above the rest."""
    same = 0
    for task in load_tasks():
        quest, profile = task.meaning.quest, profile_of(task)
        stored = builtin_rewards(task, quest)
        assert stored is not None and stored.useful == task.useful, task.id
        assert [builtin_rewards(task, other) for other in QUESTS if other != quest] == [None, None]
        least = min(stored.values[grounding] for grounding in stored.useful)
        assert all(least > value for which, value in stored.values.items() if which not in stored.useful), (
            task.id
        )
        goal = parse_goal(task.goal)
        targets = find_targets(task.world, task.initial, goal, profile.distractors)
        rest = len(task.solution) - len(task.actions)
        state = task.current._replace(waiting=True)
        today = rewards(task.world, state, goal, targets, quest, rest, profile, task.seed)
        assert stored.values.keys() == today.values.keys(), task.id
        same += stored.values == today.values
    assert same >= 60


def test_levels_and_samples_can_be_selected() -> None:
    assert {task.level for task in load_tasks("builtin", levels=[3])} == {3}
    assert sum(task.meaning.quest == "change_state" for task in load_tasks()) >= 4
    with pytest.raises(InputError, match="the built-in episodes have no split"):
        load_tasks(split="test")


def test_the_paper_s_numbers_of_each_quest_type_and_different_templates() -> None:
    kinds = [(task.level, task.meaning.quest, task.goal_index) for task in load_tasks()]
    assert len(set(kinds)) == len(kinds)
    quests = Counter(quest for level, quest, _ in kinds if level == 2)
    assert quests == {"bring_me": 13, "move_to": 9, "change_state": 3}
