"""Rewards made by hand and by chance, and pools out of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import NamedTuple

import numpy as np
import pytest

from simulator.handmethat.meanings.model import Grounding, Meaning, Quest
from simulator.handmethat.meanings.prior import Pool
from simulator.handmethat.scene import sample_scene
from simulator.handmethat.world import State, World, entities


class Worth(NamedTuple):
    values: Mapping[Grounding, float]
    useful: tuple[Grounding, ...]


class Places(NamedTuple):
    position: tuple[int, ...]


class Case(NamedTuple):
    """A household in which some help is worth something."""

    world: World
    state: State
    rewards: Worth
    targets: Places
    rest: int


@pytest.fixture(scope="session")
def worth() -> Callable[..., Worth]:
    """Rewards by hand: ``worth({(entity, None): -3.0}, above=-5)``; those above are useful."""

    def make(values: Mapping[Grounding, float], above: float = -1e9) -> Worth:
        return Worth(values, tuple(grounding for grounding, value in values.items() if value > above))

    return make


@pytest.fixture(scope="session")
def places() -> Callable[..., Places]:
    return lambda *position: Places(position)


@pytest.fixture(scope="session")
def case() -> Callable[[int, Quest], Case]:
    """A sampled household; half the things of three subclasses may be helped with, the others not."""

    def make(seed: int, quest: Quest) -> Case:
        random = Random(seed)
        world, state = sample_scene(Random(seed + 1000))
        subclasses = random.sample(["fruit", "tableware", "box", "paper_product", "snack", "clothing"], 3)
        things = [entity for subclass in subclasses for entity in entities(world.find_all(subclass))]
        names = ("table", "refrigerator", "box#0", "box#1", "floor")
        targets = Places(tuple(world.entity(name) for name in names))
        arguments: dict[Quest, tuple[str | None, ...]] = {
            "bring_me": (None,),
            "move_to": names,
            "change_state": ("clean", "slice"),
        }
        desired = [entity for entity in things if random.random() < 0.5]
        before = 3 * len(desired)
        values: dict[Grounding, float] = {}
        for entity in things:
            for argument in arguments[quest]:
                helps = entity in desired and argument in (None, "refrigerator", "clean", "slice")
                values[entity, argument] = float(-before + (3 if helps else random.choice([1, 0, -2])))
        useful = tuple(grounding for grounding, value in values.items() if value > -before)
        return Case(world, state, Worth(values, useful), targets, before)

    return make


@pytest.fixture
def pool_of(household: Callable[..., tuple[World, State]]) -> Callable[..., Pool]:
    """A pool by hand: ``pool_of({meaning: probability}, places)``."""

    def make(meanings: Mapping[Meaning, float], things: Mapping[str, str] | None = None) -> Pool:
        world, state = household(things or {"apple#0": "table"})
        return Pool(world, state, tuple(meanings), np.array(list(meanings.values())))

    return make
