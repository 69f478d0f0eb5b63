"""The recomputed tables agree with the readings stored in episodes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simulator.errors import InputError
from simulator.handmethat.data import list_episodes, load_episode, load_tasks
from simulator.handmethat.items import Task
from simulator.handmethat.meanings.model import Meaning, describe
from simulator.handmethat.meanings.rsa import MOST, profile_of, rsa_view


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    return [load_episode("builtin", name) for name in [*list_episodes("builtin")][::5]]


def test_the_listener_agrees_with_the_stored_readings(tasks: list[Task]) -> None:
    for task in tasks:
        view = rsa_view(task, most=10_000)
        heard = dict(zip(view.meanings, view.listener[:, 0], strict=True))
        assert view.utterances[0] == task.utterance
        for meaning, chance in task.listener:
            assert heard[meaning] == pytest.approx(chance, abs=1e-6)
        # A short table may leave out unlikely meanings, but not likely ones.
        likely = {meaning for meaning, chance in task.listener if chance > 1e-3}
        assert likely <= set(rsa_view(task).meanings)


def test_meaning_and_reading_are_in_the_view(tasks: list[Task]) -> None:
    for task in tasks:
        view = rsa_view(task, most=2)
        assert {task.meaning, task.heard} <= set(view.meanings)
        assert len(view.utterances) <= 2


def test_tables_are_probabilities(tasks: list[Task]) -> None:
    for task in tasks:
        view = rsa_view(task, most=10_000)
        shape = (len(view.meanings), len(view.utterances))
        assert view.speaker.shape == view.listener.shape == shape
        assert np.allclose(view.speaker.sum(axis=1), 1.0, atol=1e-6)
        assert rsa_view(task).speaker.shape[1] <= MOST


def test_an_utterance_of_other_rules_is_refused(tasks: list[Task]) -> None:
    odd = Meaning(tasks[0].meaning.quest, describe({"type": "saw", "dusty": True}))
    with pytest.raises(InputError, match="made by other rules"):
        rsa_view(replace(tasks[0], utterance=odd))


def test_published_episodes_have_the_profile_of_the_program_that_made_them() -> None:
    """The first generator has v1's rules, and names its files like v2."""
    wrong = []
    for task in load_tasks():
        name = f"task-{task.meaning.quest}-{task.goal_index}-0-{task.level}"
        official = replace(task, id=name, profile="official")
        if profile_of(official).name != task.profile.split(",")[0]:
            wrong.append(task.id)
        assert profile_of(replace(official, id="level3_task481_bring_me_goal59")).name == "v1"
        assert profile_of(replace(official, id="task-bring_me-32-0-0")).name == "v1"
        assert profile_of(replace(official, actions=task.actions[:2])).name == "v1"
    assert len(wrong) <= 2, wrong
