"""Goals: conjunctions of subgoals, and whether they are reached (spec 4.1).

What must not hold (``not dusty``) is true of things that cannot have that state at all; what must hold is
false of them. A goal for all of a type that the household lacks is reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from simulator.handmethat.hierarchy import Relation
from simulator.handmethat.world import BitSet, State, World, entities

# The eight forms that templates use; x is what is wanted, y where it is wanted.
Form = Literal["ALL", "SOME", "BE", "THE", "BE-ALL", "ALL-SAME", "ALL-ANY", "THE-ANY"]
# In these x is a type, else a named entity; in these y is a type.
OF_A_TYPE: Final = frozenset({"ALL", "SOME", "BE-ALL", "ALL-SAME", "ALL-ANY"})
ANYWHERE: Final = frozenset({"ALL-SAME", "ALL-ANY", "THE-ANY"})
# Those with a universal quantifier: the human visibly begins them before asking for help (spec 5.3).
UNIVERSAL: Final = frozenset({"ALL", "ALL-SAME", "ALL-ANY", "BE-ALL"})
# A state that is required, and whether it must hold or must not.
Requirement = tuple[str, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subgoal:
    """One conjunct of a goal.

    Attributes:
        form: its logical form.
        x: the type or the entity it is about.
        y: the type or the entity in or on which x is wanted; None for BE and BE-ALL.
        relation: how x is to lie there; None where there is no y.
        of_x: states required of x.
        of_y: states required of y.
    """

    form: Form
    x: str
    y: str | None = None
    relation: Relation | None = None
    of_x: tuple[Requirement, ...] = ()
    of_y: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True)
class Goal:
    """What the human is up to.

    Attributes:
        subgoals: in the order of the template.
        template: its number, 0 to 68; None for a goal of one's own.
    """

    subgoals: tuple[Subgoal, ...]
    template: int | None = None


def goal_holds(world: World, state: State, goal: Goal) -> bool:
    """Return True if every subgoal holds.

    Raises:
        InputError: if the goal names a thing that is not in the household.
    """
    return all(holds(world, state, subgoal) for subgoal in goal.subgoals)


def holds(world: World, state: State, subgoal: Subgoal) -> bool:
    """Return True if a subgoal holds.

    Raises:
        InputError: if it names a thing that is not in the household.
    """
    match subgoal.form:
        case "BE" | "BE-ALL":
            return _all_meet(state, _about(world, subgoal), subgoal.of_x)
        case "ALL" | "THE":
            return _all_lie_well(world, state, subgoal, world.entity(subgoal.y or ""))
        case "SOME":
            return _some_lies_well(world, state, subgoal, world.entity(subgoal.y or ""))
        case "ALL-SAME" | "THE-ANY":
            return _all_lie_together(world, state, subgoal)
        case "ALL-ANY":
            return _all_lie_somewhere(world, state, subgoal)


def _about(world: World, subgoal: Subgoal) -> BitSet:
    """Return the things that x stands for."""
    if subgoal.form in ("BE", "THE", "THE-ANY"):
        return 1 << world.entity(subgoal.x)
    return world.of(subgoal.x)


def _all_meet(state: State, of: BitSet, required: tuple[Requirement, ...]) -> bool:
    return all(not of & ~_with(state, name, wanted) for name, wanted in required)


def _with(state: State, name: str, wanted: bool) -> BitSet:
    bits: BitSet = getattr(state, name)
    return bits if wanted else ~bits


def _all_lie_well(world: World, state: State, subgoal: Subgoal, place: int) -> bool:
    """Return True if all of x lie in or on `place`, with what is required of them and of it."""
    about = _about(world, subgoal)
    if not about:
        # What is required of the place is required together with its lying there (see the formulas).
        return True
    if world.kinds[place].relation != subgoal.relation:
        return False
    where = state.place
    if any(where[entity] != place for entity in entities(about)):
        return False
    return _all_meet(state, about, subgoal.of_x) and _all_meet(state, 1 << place, subgoal.of_y)


def _all_lie_together(world: World, state: State, subgoal: Subgoal) -> bool:
    """Return True if all of x lie well in or on one y."""
    about, places = _about(world, subgoal), world.of(subgoal.y or "")
    if not about:
        return bool(places)
    place = state.container(next(entities(about)))
    return place >= 0 and bool(places >> place & 1) and _all_lie_well(world, state, subgoal, place)


def _some_lies_well(world: World, state: State, subgoal: Subgoal, place: int) -> bool:
    if world.kinds[place].relation != subgoal.relation or not _all_meet(state, 1 << place, subgoal.of_y):
        return False
    where = state.place
    return any(
        where[entity] == place and _all_meet(state, 1 << entity, subgoal.of_x)
        for entity in entities(world.of(subgoal.x))
    )


def _all_lie_somewhere(world: World, state: State, subgoal: Subgoal) -> bool:
    """Return True if each of x lies in or on some y, one that meets what is required of y."""
    about = _about(world, subgoal)
    places = world.of(subgoal.y or "")
    for entity in entities(about):
        place = state.container(entity)
        if place < 0 or not places >> place & 1 or world.kinds[place].relation != subgoal.relation:
            return False
        if not _all_meet(state, 1 << place, subgoal.of_y):
            return False
    return _all_meet(state, about, subgoal.of_x)
