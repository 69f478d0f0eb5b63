"""Households for tests: a sampled one, and small ones written by hand."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from simulator.handmethat.actions import Action, domain
from simulator.handmethat.hierarchy import hierarchy
from simulator.handmethat.items import Task
from simulator.handmethat.meanings.model import Meaning, describe, matching
from simulator.handmethat.scene import sample_scene
from simulator.handmethat.world import NOTHING, State, World, bit_set, entities, start_state

MakeWorld = Callable[..., tuple[World, State]]

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))  # bench_giver


@pytest.fixture
def household() -> MakeWorld:
    """A household by hand: ``household({"apple#0": "table", "jar#0": "cabinet"}, open=["jar#0"])``.

    All 16 locations are there; the refrigerator is on; nothing is dusty unless said.
    """

    def make(
        places: Mapping[str, str],
        *,
        colors: Mapping[str, str] | None = None,
        sizes: Mapping[str, str] | None = None,
        **states: Iterable[str],
    ) -> tuple[World, State]:
        kinds = hierarchy().kinds
        # Receptacles come first, as in sampled households.
        movable = sorted(places, key=lambda name: not kinds[name.split("#")[0]].receptacle)
        names = [*hierarchy().locations, *movable]
        world = World(
            names=tuple(names),
            kinds=tuple(kinds[name.split("#")[0]] for name in names),
            colors=tuple((colors or {}).get(name) for name in names),
            sizes=tuple((sizes or {}).get(name) for name in names),
        )
        containers = [world.index[places[name]] if name in places else NOTHING for name in names]
        bits = {"toggled": ["refrigerator"], **states}
        sets = {state: bit_set(world.index[name] for name in labels) for state, labels in bits.items()}
        return world, start_state(world, containers, sets)

    return make


@pytest.fixture
def task() -> Task:
    """A task in a sampled household: after two moves the human wants any fruit of the refrigerator."""
    for seed in range(100):
        world, initial = sample_scene(Random(seed))
        meaning = Meaning("bring_me", describe({"subclass": "fruit", "inside": "refrigerator"}))
        utterance = Meaning("bring_me", describe({"subclass": "fruit"}))
        if matching(world, initial, meaning.description):
            break
    floor, table, sofa = (world.entity(name) for name in ("floor", "table", "sofa"))
    actions = (Action("human-move", (floor, table)), Action("human-move", (table, sofa)))
    state: State = initial
    for action in actions:
        state = domain("human")[action.name].apply(state, action.args)
    meant = tuple((entity, None) for entity in entities(matching(world, state, meaning.description)))
    spoken = tuple((entity, None) for entity in entities(matching(world, state, utterance.description)))
    return Task(
        id="task-bring_me-64-0-2",
        level=2,
        goal_index=64,
        task_index=0,
        world=world,
        initial=initial,
        current=state._replace(waiting=True),
        goal="",
        subgoal=None,
        actions=actions,
        solution=actions,
        meaning=meaning,
        utterance=utterance,
        heard=meaning,
        in_meaning=meant,
        in_utterance=spoken,
        useful=meant,
        in_heard=meant,
        seed=7,
        profile="v2",
        listener=((meaning, 0.8), (utterance, 0.2)),
    )


MakeTask = Callable[..., Task]


@pytest.fixture
def make_task() -> MakeTask:
    """A task by hand: ``make_task(world, state, meaning)``; A(.) is worked out from the descriptions."""

    def make(
        world: World,
        state: State,
        meaning: Meaning,
        *,
        utterance: Meaning | None = None,
        actions: tuple[Action, ...] = (),
        seed: int = 0,
    ) -> Task:
        spoken = utterance or meaning
        current = state
        for action in actions:
            current = domain("human")[action.name].apply(current, action.args)

        def objects(reading: Meaning) -> tuple[tuple[int, str | None], ...]:
            return tuple(
                (entity, reading.argument)
                for entity in entities(matching(world, current, reading.description))
            )

        return Task(
            id=f"task-{meaning.quest}-0-{seed}-1",
            level=1,
            goal_index=0,
            task_index=seed,
            world=world,
            initial=state,
            current=current._replace(waiting=True),
            goal="",
            subgoal=None,
            actions=actions,
            solution=actions,
            meaning=meaning,
            utterance=spoken,
            heard=meaning,
            in_meaning=objects(meaning),
            in_utterance=objects(spoken),
            useful=objects(meaning),
            in_heard=objects(meaning),
            seed=seed,
            profile="v2",
        )

    return make


@pytest.fixture
def kitchen(household: MakeWorld, make_task: MakeTask) -> Task:
    """A red and a green book-bag … two boxes, lamps on two tables: what is wanted is the lamp on the shelf.

    "Hand me the lamp" fits three lamps; meant is the one on the shelf.
    """
    world, state = household(
        {
            "box#0": "floor",
            "box#1": "floor",
            "package#0": "cabinet",
            "lamp#0": "table",
            "lamp#1": "table",
            "lamp#2": "shelf",
            "apple#0": "refrigerator",
            "knife#0": "countertop",
        },
        colors={"box#0": "red", "box#1": "green", "package#0": "blue"},
        sizes={"box#0": "large", "box#1": "small", "package#0": "small"},
        dusty=["box#0"],
        frozen=["apple#0"],
    )
    meaning = Meaning("bring_me", describe({"type": "lamp", "ontop": "shelf"}))
    utterance = Meaning("bring_me", describe({"type": "lamp"}))
    task = make_task(world, state, meaning, utterance=utterance, seed=5)
    return replace(task, level=2, id="task-bring_me-0-5-2", goal="(and )")


LAMP = ["move to shelf", "pick up lamp#2", "move to human", "give lamp#2 to human"]
WRONG = ["move to table", "pick up lamp#0", "move to human", "give lamp#0 to human"]


@pytest.fixture(scope="session")
def lamp() -> list[str]:
    return list(LAMP)


@pytest.fixture(scope="session")
def wrong() -> list[str]:
    return list(WRONG)
