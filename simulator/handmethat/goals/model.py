"""Goals: conjunctions of subgoals, what these demand, and whether they are reached (spec 4.1).

Every form of subgoal is a conjunction of choices, a choice a disjunction of options in the order of creation,
an option a conjunction of demands on single entities: ALL is one choice per entity, each with one option;
SOME one choice with an option per entity; ALL-SAME one choice with an option per place.

What must not hold (``not dusty``) is true of things that cannot have that state at all; what must hold is
false of them. A goal for all of a type that the household lacks is reached.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from simulator.handmethat.hierarchy import Relation
from simulator.handmethat.world import NOTHING, State, World, entities

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
            return (tuple(_join_demands(options[x, y] for x in xs) for y in ys),)
        case _:  # ALL and THE, whose y is one entity, ALL-ANY and THE-ANY
            return tuple(tuple(options[x, y] for y in ys) for x in xs)


def _option(world: World, subgoal: Subgoal, x: int, y: int) -> Option:
    nested = world.kinds[x].receptacle and world.kinds[y].movable
    related = world.kinds[y].relation == subgoal.relation
    demand = Demand(x, y, subgoal.of_x, related and world.kinds[x].movable and not nested, related)
    return (demand, Demand(y, NOTHING, subgoal.of_y)) if subgoal.of_y else (demand,)


def _join_demands(options: Iterable[Option]) -> Option:
    return tuple(dict.fromkeys(demand for option in options for demand in option))
