"""Relevance: what of a household a goal is about (spec 5.1).

Plans, rewards and the candidates for help look at nothing else.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from simulator.handmethat.goals.model import ANYWHERE, OF_A_TYPE, Goal, terms_of
from simulator.handmethat.hierarchy import hierarchy
from simulator.handmethat.world import NOTHING, BitSet, State, World, bit_set, entities

# A state that is mentioned -> types of the tools for it, and the places where it comes about.
_TOOLS: Final = {
    "sliced": ("knife",),
    "dusty": ("rag", "dishtowel", "hand_towel", "scrub_brush"),
    "stained": ("rag", "dishtowel", "hand_towel", "scrub_brush"),
}
_PLACES: Final = {
    "dusty": ("sink",),
    "stained": ("sink",),
    "cooked": ("microwave", "oven", "stove"),
    "frozen": ("refrigerator",),
}


class Targets(NamedTuple):
    """The subject of a goal.

    Attributes:
        movable: bit set of the movable things with which help may be worth something.
        position: where they may be wanted, in the order of creation.
        grounded: bit set of everything that a plan may use: the terms of the goal, distractors, tools,
            their containers, the containers of these, and the floor.
    """

    movable: BitSet
    position: tuple[int, ...]
    grounded: BitSet


def find_targets(world: World, state: State, goal: Goal, distractors: bool) -> Targets:
    """Return what `goal` is about, as the household stands in `state`.

    Args:
        world: the household.
        state: it says what lies in what, and where the agent stands: that place counts as relevant, like
            the floor where the published episodes begin.
        goal: what is wanted.
        distractors: count everything of the subclass of a wanted type, and of a tool, as relevant too
            (the published generator's second version).

    Raises:
        InputError: if the goal names an entity that the household does not have.
    """
    xs = ys = siblings_x = siblings = 0
    for subgoal in goal.subgoals:
        own_xs, own_ys = map(bit_set, terms_of(world, subgoal))
        xs, ys = xs | own_xs, ys | own_ys
        if subgoal.form in OF_A_TYPE:
            siblings_x |= _siblings(world, subgoal.x)
        if subgoal.y is not None and subgoal.form in ANYWHERE:
            siblings |= _siblings(world, subgoal.y)
    mentioned = [name for each in goal.subgoals for name, _ in (*each.of_x, *each.of_y)]
    tools = bit_set(
        entity
        for word in mentioned
        for kind in _TOOLS.get(word, ())
        for entity in entities(_siblings(world, kind) if distractors else world.of(kind))
    )
    places = bit_set(world.entity(name) for word in mentioned for name in _PLACES.get(word, ()))
    movable = xs | ys | tools | (siblings_x if distractors else 0)
    position = ys | places | (xs & world.of("LOCATION"))
    relevant = xs | ys | tools | places | (siblings_x | siblings if distractors else 0)
    return Targets(
        movable=movable & world.of("movable"),
        position=tuple(entities(position)),
        grounded=_with_containers(state, relevant) | 1 << world.entity("floor") | _location_bit(state),
    )


def _siblings(world: World, kind: str) -> BitSet:
    row = hierarchy().kinds.get(kind)
    return world.of(row.subclass) if row and row.movable else 0


def _with_containers(state: State, some: BitSet) -> BitSet:
    """Return `some`, what they lie in, and what that lies in."""
    for _ in range(2):
        containers = (state.container(entity) for entity in entities(some))
        some |= bit_set(container for container in containers if container != NOTHING)
    return some


def _location_bit(state: State) -> BitSet:
    return 1 << state.at if state.at >= 0 else 0
