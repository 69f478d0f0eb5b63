"""Goals: conjunctions of subgoals, the demands of each, and tests whether they hold (spec 4.1).

Every form of subgoal is a conjunction of choices, a choice is a disjunction of options in the order of
creation, and an option is a conjunction of demands on single entities. ALL is one choice per entity, each
with one option; SOME is one choice with an option per entity; ALL-SAME is one with an option per place.

For a thing that cannot have a state at all, a negated requirement (``not dusty``) holds and a positive one
does not. A universal subgoal about a type that the household lacks holds.

Plans, rewards and candidates for help consider only the targets of a goal (`Targets`, spec 5.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from simulator.handmethat.hierarchy import Relation, hierarchy
from simulator.handmethat.world import NOTHING, BitSet, State, World, bit_set, entities

# The eight forms that templates use; x is the thing wanted, y the place where it is wanted.
Form = Literal["ALL", "SOME", "BE", "THE", "BE-ALL", "ALL-SAME", "ALL-ANY", "THE-ANY"]
# Forms whose x is a type, and forms whose y is a type; in the others it is a named entity.
X_IS_TYPE: Final = frozenset({"ALL", "SOME", "BE-ALL", "ALL-SAME", "ALL-ANY"})
Y_IS_TYPE: Final = frozenset({"ALL-SAME", "ALL-ANY", "THE-ANY"})
# Forms with a universal quantifier: the human visibly begins them before asking for help (spec 5.3).
UNIVERSAL: Final = frozenset({"ALL", "ALL-SAME", "ALL-ANY", "BE-ALL"})
# A state, and whether it must hold or must not.
Requirement = tuple[str, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subgoal:
    """One conjunct of a goal: a type or entity x, wanted in or on y, with required states.

    Attributes:
        y: the type or entity of the place; None for BE and BE-ALL, like `relation`.
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
    """The human's goal, in the order of its template; `template`: the number, None without one."""

    subgoals: tuple[Subgoal, ...]
    template: int | None = None


class Demand(NamedTuple):
    """The demand on one entity.

    Attributes:
        place: the container it must lie directly in or on; `NOTHING` if any place will do.
        states: required states.
        possible: False if no action can put it there: wrong relation, or a receptacle inside another.
        related: False if the place does not have the relation (e.g. on top of a cupboard).
    """

    entity: int
    place: int
    states: tuple[Requirement, ...]
    possible: bool = True
    related: bool = True

    def met(self, state: State) -> bool:
        """Return True if `state` meets the demand."""
        if self.place != NOTHING and not (self.related and state.place[self.entity] == self.place):
            return False
        return all(bool(getattr(state, name) >> self.entity & 1) == value for name, value in self.states)


Option = tuple[Demand, ...]
Choice = tuple[Option, ...]


def goal_holds(world: World, state: State, goal: Goal) -> bool:
    """Return True if every subgoal holds.

    Raises:
        InputError: if the goal names a thing that the household does not have.
    """
    return all(holds(world, state, subgoal) for subgoal in goal.subgoals)


def holds(world: World, state: State, subgoal: Subgoal) -> bool:
    """Return True if every choice has an option whose demands are all met.

    Raises:
        InputError: if the subgoal names a thing that the household does not have.
    """
    return all(
        any(all(demand.met(state) for demand in option) for option in choice)
        for choice in choices_of(world, subgoal)
    )


def terms_of(world: World, subgoal: Subgoal) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the entities that x and y denote, in the order of creation; an empty tuple without y.

    Raises:
        InputError: if the subgoal names a thing that the household does not have.
    """
    return (
        _entities_of(world, subgoal.x, subgoal.form in X_IS_TYPE),
        () if subgoal.y is None else _entities_of(world, subgoal.y, subgoal.form in Y_IS_TYPE),
    )


def _entities_of(world: World, name: str, is_type: bool) -> tuple[int, ...]:
    return tuple(entities(world.find_all(name))) if is_type else (world.entity(name),)


def choices_of(world: World, subgoal: Subgoal) -> tuple[Choice, ...]:
    """Return the choices of one subgoal, cached in the household."""
    choices: tuple[Choice, ...] | None = world.memo.get(subgoal)
    if choices is None:
        choices = world.memo[subgoal] = _choices_of(world, subgoal)
    return choices


def _choices_of(world: World, subgoal: Subgoal) -> tuple[Choice, ...]:
    xs, ys = terms_of(world, subgoal)
    if subgoal.y is None:
        return tuple(((Demand(x, NOTHING, subgoal.of_x),),) for x in xs)
    options = {(x, y): _option(world, subgoal, x, y) for x in xs for y in ys}
    match subgoal.form:
        case "SOME":
            return (tuple(options.values()),)
        case "ALL-SAME":
            per_place = ([demand for x in xs for demand in options[x, y]] for y in ys)
            return (tuple(tuple(dict.fromkeys(demands)) for demands in per_place),)
        case _:  # ALL and THE, which have one y, and ALL-ANY and THE-ANY
            return tuple(tuple(options[x, y] for y in ys) for x in xs)


def _option(world: World, subgoal: Subgoal, x: int, y: int) -> Option:
    nested = world.kinds[x].receptacle and world.kinds[y].movable
    related = world.kinds[y].relation == subgoal.relation
    demand = Demand(x, y, subgoal.of_x, related and world.kinds[x].movable and not nested, related)
    return (demand, Demand(y, NOTHING, subgoal.of_y)) if subgoal.of_y else (demand,)


# ---- the targets of a goal in a household


# State in a goal -> types of the tools that bring it about, and the places for it.
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
    """The entities that matter for a goal.

    Attributes:
        movable: bit set of the movable things with which help can be useful.
        position: places where they may be wanted, in the order of creation.
        grounded: bit set of everything a plan may use: the terms of the goal, distractors, tools,
            their containers, the containers of those, the agent's location and the floor.
    """

    movable: BitSet
    position: tuple[int, ...]
    grounded: BitSet


def find_targets(world: World, state: State, goal: Goal, distractors: bool) -> Targets:
    """Return the targets of `goal` in `state`.

    The agent's location counts as relevant, like the floor where the published episodes begin.

    `distractors`: also count everything in the subclass of a wanted type or tool as relevant (second version
    of the published generator).

    Raises:
        InputError: if the goal names an entity that the household does not have.
    """
    xs = ys = siblings_x = siblings = 0
    for subgoal in goal.subgoals:
        own_xs, own_ys = map(bit_set, terms_of(world, subgoal))
        xs, ys = xs | own_xs, ys | own_ys
        if subgoal.form in X_IS_TYPE:
            siblings_x |= _siblings(world, subgoal.x)
        if subgoal.y is not None and subgoal.form in Y_IS_TYPE:
            siblings |= _siblings(world, subgoal.y)
    states = [name for subgoal in goal.subgoals for name, _ in (*subgoal.of_x, *subgoal.of_y)]
    tools = bit_set(
        entity
        for name in states
        for kind in _TOOLS.get(name, ())
        for entity in entities(_siblings(world, kind) if distractors else world.find_all(kind))
    )
    places = bit_set(world.entity(place) for name in states for place in _PLACES.get(name, ()))
    movable = xs | ys | tools | (siblings_x if distractors else 0)
    position = ys | places | (xs & world.find_all("LOCATION"))
    relevant = xs | ys | tools | places | (siblings_x | siblings if distractors else 0)
    here = (world.entity("floor"), *([state.at] if state.at >= 0 else ()))
    return Targets(
        movable=movable & world.find_all("movable"),
        position=tuple(entities(position)),
        grounded=_with_containers(state, relevant) | bit_set(here),
    )


def _siblings(world: World, kind: str) -> BitSet:
    row = hierarchy().kinds.get(kind)
    return world.find_all(row.subclass) if row and row.movable else 0


def _with_containers(state: State, things: BitSet) -> BitSet:
    """Return `things`, their containers and the containers of these."""
    for _ in range(2):
        containers = (state.container(entity) for entity in entities(things))
        things |= bit_set(container for container in containers if container != NOTHING)
    return things
