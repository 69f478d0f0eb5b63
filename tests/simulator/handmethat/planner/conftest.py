"""Sampled households with a goal of any template."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

import pytest

from simulator.handmethat.goals.model import Goal, Targets, find_targets
from simulator.handmethat.goals.templates import instantiate
from simulator.handmethat.scene import SceneRules, sample_scene, sample_stock
from simulator.handmethat.world import State, World


class Sampled(NamedTuple):
    """A household with a goal."""

    world: World
    state: State
    goal: Goal
    targets: Targets


Sample = Callable[..., Sampled]


@pytest.fixture(scope="session")
def sampled() -> Sample:
    """A household for a template and a seed: ``sampled(2, seed=1, distractors=True)``."""

    def sample(template: int, seed: int = 0, *, distractors: bool = False) -> Sampled:
        random = Random(1000 * seed + template)
        while True:
            stock = sample_stock(random, SceneRules())
            goal = instantiate(template, stock, random)
            if goal is not None:
                world, state = sample_scene(random, stock=stock)
                return Sampled(world, state, goal, find_targets(world, state, goal, distractors))

    return sample
