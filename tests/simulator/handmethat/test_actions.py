"""Preconditions and effects of every action of the three domains in a small household."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from simulator.handmethat.actions import Action, Domain, carry_out, domain
from simulator.handmethat.hierarchy import hierarchy
from simulator.handmethat.scene import sample_scene
from simulator.handmethat.world import HUMAN, NOTHING, State, World, bit_set, entities

MakeWorld = Callable[..., tuple[World, State]]
Arrange = Callable[..., tuple[World, State]]
Change = Mapping[str, Any]

TABLE = yaml.safe_load((Path(__file__).parent / "actions.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def arrange(household: MakeWorld) -> Arrange:
    """The household with what a case says of it."""

    def make(
        *,
        at: str = "floor",
        holding: str | None = None,
        places: Mapping[str, str] | None = None,
        given: Iterable[str] = (),
        waiting: bool = False,
        **states: Iterable[str],
    ) -> tuple[World, State]:
        world, state = household({**TABLE["home"], **(places or {})}, **states)
        held = [world.entity(name) for name in given]
        if holding:
            state = state._replace(holding=world.entity(holding))
            held.append(state.holding)
        for entity in held:
            state = state.with_place(entity, NOTHING)
        return world, state._replace(
            at=world.entity(at), given=bit_set(world.entity(name) for name in given), waiting=waiting
        )

    return make


@dataclass(frozen=True, kw_only=True)
class Case:
    """An action that can be done; the head of actions.yaml explains its parts."""

    name: str
    args: list[str]
    given: Change = field(default_factory=dict)
    makes: Change
    fails: Mapping[str, Change]
    implied: Sequence[str] = ()


AGENT, ROBOT, TELEPORT = ([Case(**row) for row in TABLE[group]] for group in ("agent", "robot", "teleport"))
CASES: list[tuple[Domain, str, Case]] = [
    *(("human", f"human-{case.name}", case) for case in AGENT),
    *(("robot", f"robot-{case.name}", case) for case in (*AGENT, *ROBOT)),
    *(("teleport", case.name, case) for case in TELEPORT),
]
each_case = pytest.mark.parametrize(
    ("which", "name", "case"), CASES, ids=[f"{which}:{name}:{case.args[0]}" for which, name, case in CASES]
)


def numbers(world: World, names: Iterable[str]) -> tuple[int, ...]:
    return tuple(world.entity(name) for name in names)


@each_case
def test_effects(arrange: Arrange, which: Domain, name: str, case: Case) -> None:
    world, before = arrange(**case.given)
    _, after = arrange(**{**case.given, **case.makes})
    schema, args = domain(which)[name], numbers(world, case.args)
    assert schema.unmet(world, before, args) is None
    assert schema.applicable(world, before, args)
    assert schema.apply(before, args) == after != before
    assert carry_out(world, before, [Action(name, args)], which) == (after, None)


@each_case
def test_preconditions(arrange: Arrange, which: Domain, name: str, case: Case) -> None:
    schema = domain(which)[name]
    for need, change in case.fails.items():
        rest = {key: value for key, value in change.items() if key != "args"}
        world, before = arrange(**{**case.given, **rest})
        args = numbers(world, change.get("args", case.args))
        assert schema.unmet(world, before, args) == need
        assert not schema.applicable(world, before, args)
        fault = f"0: {name} cannot be done then: needs {need}"
        assert carry_out(world, before, [Action(name, args)], which) == (before, fault)


@pytest.mark.parametrize("case", AGENT, ids=lambda case: f"{case.name}:{case.args[0]}")
def test_the_human_acts_only_while_not_waiting(arrange: Arrange, case: Case) -> None:
    world, before = arrange(**case.given, waiting=True)
    args = numbers(world, case.args)
    assert domain("human")[f"human-{case.name}"].unmet(world, before, args) == "not waiting"
    assert domain("robot")[f"robot-{case.name}"].applicable(world, before, args)


@pytest.mark.parametrize(("which", "count"), [("human", 21), ("robot", 23), ("teleport", 9)])
def test_every_action_and_each_of_its_needs_has_a_case(which: Domain, count: int) -> None:
    schemas = domain(which)
    assert len(schemas) == count
    for name, schema in schemas.items():
        cases = [case for kind, action, case in CASES if (kind, action) == (which, name)]
        tried = {need for case in cases for need in (*case.fails, *case.implied)}
        assert {need.text for need in schema.needs} - {"not waiting"} == tried, name
        assert all(len(case.args) == len(schema.params) == len(schema.bounds) for case in cases)


def test_preconditions_implied_by_the_kinds() -> None:
    kinds = hierarchy().kinds.values()
    changeable = {"cookable", "freezable", "sliceable", "soakable"}
    assert not any(kind.receptacle and changeable & set(kind.abilities) for kind in kinds)
    assert all("dustyable" in kind.abilities for kind in kinds if not kind.movable)


def test_numbers_of_groundings() -> None:
    # Spec 3.1 and 3.2, column "groundings".
    place, reach = "location", ("movable", "receptacle", "location")
    assert {name.removeprefix("human-"): schema.bounds for name, schema in domain("human").items()} == {
        "move": (place, place),
        "pick-up-at-location": ("movable", place),
        "pick-up-from-receptacle-at-location": reach,
        "put-inside-location": ("movable", place),
        "put-ontop-location": ("movable", place),
        "put-inside-receptacle-at-location": reach,
        "put-ontop-receptacle-at-location": reach,
        "open-location": (place,),
        "close-location": (place,),
        "open-receptacle-at-location": ("receptacle", place),
        "close-receptacle-at-location": ("receptacle", place),
        "toggle-on-location": (place,),
        "toggle-off-location": (place,),
        "toggle-on-movable-at-location": ("tool", place),
        "toggle-off-movable-at-location": ("tool", place),
        "heat-obj": ("food", place),
        "cool-obj": ("food", place),
        "slice-obj": ("food", "tool", place),
        "soak-obj": ("tool", place),
        "clean-obj-at-location": ("receptacle-or-thing", "tool", place),
        "clean-location": ("tool", place),
    }
    moved = ("movable", "place", "place")
    assert {
        name: (schema.bounds, schema.serves, schema.argument) for name, schema in domain("teleport").items()
    } == {
        "robot-move-obj-to-human": (("movable", "place"), "bring_me", ""),
        "robot-move-obj-from-rec-into-rec": (moved, "move_to", "to"),
        "robot-move-obj-from-rec-onto-rec": (moved, "move_to", "to"),
        "robot-toggle-on": (("any",), "change_state", "toggle"),
        "robot-heat-obj": (("food",), "change_state", "heat"),
        "robot-cool-obj": (("food",), "change_state", "cool"),
        "robot-slice-obj": (("food",), "change_state", "slice"),
        "robot-soak-obj": (("food-tool-or-thing",), "change_state", "soak"),
        "robot-clean-obj": (("any",), "change_state", "clean"),
    }
    robot = domain("robot")
    bounds = {bound for schema in robot.values() for bound in schema.bounds}
    assert bounds == {"location", "movable", "receptacle", "human"}


def test_contents_go_where_their_receptacle_goes(arrange: Arrange) -> None:
    world, state = arrange(at="table")
    box, sofa, ball = (world.entity(name) for name in ("box#0", "sofa", "ball#0"))
    for action in (
        Action("human-pick-up-at-location", (box, world.entity("table"))),
        Action("human-move", (world.entity("table"), sofa)),
        Action("human-put-ontop-location", (box, sofa)),
    ):
        state, _ = carry_out(world, state, [action])
        assert state.container(ball) == box
    assert state.container(box) == sofa


@pytest.mark.parametrize("which", ["human", "robot", "teleport"])
def test_actions_keep_the_state_sound_for_any_arguments(which: Domain) -> None:
    random = Random(12)
    world, state = sample_scene(random)
    state = state._replace(waiting=which == "teleport")
    names = sorted(domain(which))
    done = 0
    for _ in range(6000):
        name = names[int(random.random() * len(names))]
        schema = domain(which)[name]
        args = tuple(any_of(random, world, state) for _ in schema.params)
        if schema.unmet(world, state, args) is None:
            state = schema.apply(state, args)
            done += 1
            assert_sound(world, state)
            state = state._replace(waiting=which == "teleport")
            if which == "teleport" and state.holding != NOTHING:
                state = state.with_place(state.holding, world.entity("floor"))._replace(holding=NOTHING)
    assert done > 50


def any_of(random: Random, world: World, state: State) -> int:
    """An entity, the human, or what is more likely to fit: where the agent stands, or what it holds."""
    likely = [state.at, state.holding if state.holding != NOTHING else state.at, HUMAN]
    likely += [entities_at(state)[0]] if entities_at(state) else []
    if random.random() < 0.7:
        return likely[int(random.random() * len(likely))]
    return int(random.random() * len(world))


def entities_at(state: State) -> list[int]:
    return state.contents(state.at) if state.at >= 0 else []


def assert_sound(world: World, state: State) -> None:
    held = bit_set([state.holding] if state.holding != NOTHING else []) | state.given
    for entity in world.movables:
        container = state.container(entity)
        assert (container == NOTHING) == bool(held >> entity & 1)
        if container != NOTHING:
            assert world.kinds[container].receptacle
            assert not (world.kinds[container].movable and world.kinds[entity].receptacle)
    for entity in entities(state.open):
        assert world.find_all("openable") >> entity & 1
    for entity in entities(state.cooked & state.frozen):
        raise AssertionError(f"{world.name(entity)} is cooked and frozen")
