"""Goals: conjunctions of subgoals, what these demand, and whether they are reached (spec 4.1).

Every form of subgoal is a conjunction of choices, a choice a disjunction of options in the order of creation,
an option a conjunction of demands on single entities: ALL is one choice per entity, each with one option;
SOME one choice with an option per entity; ALL-SAME one choice with an option per place.

What must not hold (``not dusty``) is true of things that cannot have that state at all; what must hold is
false of them. A goal for all of a type that the household lacks is reached.

Plans, rewards and the candidates for help look at nothing but what a goal is about (`Targets`, spec 5.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from simulator.handmethat.hierarchy import Relation, hierarchy
from simulator.handmethat.world import NOTHING, BitSet, State, World, bit_set, entities

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
    """One conjunct of a goal: a type or entity x that is wanted in or on y, with states required of each.

    Attributes:
        y: None for BE and BE-ALL, as is its `relation`.
    """

    form: Form
    x: str
    y: str | None = None
    relation: Relation | None = None
    of_x: tuple[Requirement, ...] = ()
    of_y: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True)
class Goal:
    """The human's goal.

    Attributes:
        subgoals: in the order of the template.
        template: its number, 0 to 68; None for a goal of one's own.
    """

    subgoals: tuple[Subgoal, ...]
    template: int | None = None


class Demand(NamedTuple):
    """The demand on one entity.

    Attributes:
        place: the container it is to lie directly in or on; `NOTHING` if anywhere will do.
        possible: False if no action can lay it there: the wrong relation, a receptacle within another.
        related: False if nothing lies there in that relation: what lies in a cupboard is not on it.
    """

    entity: int
    place: int
    states: tuple[Requirement, ...]
    possible: bool = True
    related: bool = True

    def met(self, state: State) -> bool:
        """Return True if it is so in `state`."""
        if self.place != NOTHING and not (self.related and state.place[self.entity] == self.place):
            return False
        return all(bool(getattr(state, name) >> self.entity & 1) == value for name, value in self.states)


Option = tuple[Demand, ...]
Choice = tuple[Option, ...]


def goal_holds(world: World, state: State, goal: Goal) -> bool:
    """Return True if every subgoal holds.

    Raises:
        InputError: if the goal names a thing that is not in the household.
    """
    return all(holds(world, state, subgoal) for subgoal in goal.subgoals)


def holds(world: World, state: State, subgoal: Subgoal) -> bool:
    """Return True if every choice has an option with every demand met.

    Raises:
        InputError: if it names a thing that is not in the household.
    """
    return all(
        any(all(demand.met(state) for demand in option) for option in choice)
        for choice in choices_of(world, subgoal)
    )


def terms_of(world: World, subgoal: Subgoal) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the entities that x and y stand for, in the order of creation; no y stands for none.

    Raises:
        InputError: if it names a thing that is not in the household.
    """
    return (
        _term(world, subgoal.x, subgoal.form in OF_A_TYPE),
        () if subgoal.y is None else _term(world, subgoal.y, subgoal.form in ANYWHERE),
    )


def _term(world: World, name: str, is_type: bool) -> tuple[int, ...]:
    return tuple(entities(world.of(name))) if is_type else (world.entity(name),)


def choices_of(world: World, subgoal: Subgoal) -> tuple[Choice, ...]:
    """Return the choices of one subgoal; worked out once for a household."""
    choices: tuple[Choice, ...] | None = world.worked_out.get(subgoal)
    if choices is None:
        choices = world.worked_out[subgoal] = _choices_of(world, subgoal)
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
            every = ([demand for x in xs for demand in options[x, y]] for y in ys)
            return (tuple(tuple(dict.fromkeys(demands)) for demands in every),)
        case _:  # ALL and THE, whose y is one entity, ALL-ANY and THE-ANY
            return tuple(tuple(options[x, y] for y in ys) for x in xs)


def _option(world: World, subgoal: Subgoal, x: int, y: int) -> Option:
    nested = world.kinds[x].receptacle and world.kinds[y].movable
    related = world.kinds[y].relation == subgoal.relation
    demand = Demand(x, y, subgoal.of_x, related and world.kinds[x].movable and not nested, related)
    return (demand, Demand(y, NOTHING, subgoal.of_y)) if subgoal.of_y else (demand,)


# ---- what of a household a goal is about


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
    here = (world.entity("floor"), *([state.at] if state.at >= 0 else ()))
    return Targets(
        movable=movable & world.of("movable"),
        position=tuple(entities(position)),
        grounded=_with_containers(state, relevant) | bit_set(here),
    )


def _siblings(world: World, kind: str) -> BitSet:
    row = hierarchy().kinds.get(kind)
    return world.of(row.subclass) if row and row.movable else 0


def _with_containers(state: State, things: BitSet) -> BitSet:
    """Return `things`, what they lie in, and what that lies in."""
    for _ in range(2):
        containers = (state.container(entity) for entity in entities(things))
        things |= bit_set(container for container in containers if container != NOTHING)
    return things
