"""A goal taken apart: what it demands of which entity, and where it leaves a choice.

Every form of subgoal (spec 4.1) is a conjunction of choices, a choice a disjunction of options in the order
of creation, an option a conjunction of demands on single entities: ALL is one choice per entity, each with
one option; SOME one choice with an option per entity; ALL-SAME one choice with an option per place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from simulator.handmethat.goals.model import ANYWHERE, OF_A_TYPE, Goal, Requirement, Subgoal
from simulator.handmethat.world import NOTHING, State, World, entities


class Demand(NamedTuple):
    """What is demanded of one entity.

    Attributes:
        entity: of whom.
        place: the container it is to lie directly in or on; `NOTHING` if anywhere will do.
        states: required states and their values.
        possible: False if no action can lay it there: the wrong relation, a receptacle within another.
    """

    entity: int
    place: int
    states: tuple[Requirement, ...]
    possible: bool = True

    def met(self, state: State) -> bool:
        """Return True if it is so in `state`."""
        if self.place != NOTHING and not (self.possible and state.place[self.entity] == self.place):
            return False
        return all(bool(getattr(state, name) >> self.entity & 1) == value for name, value in self.states)


Option = tuple[Demand, ...]
Choice = tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class Terms:
    """The entities a subgoal is about.

    Attributes:
        xs: those that x stands for.
        ys: those that y stands for; empty if there is no y.
    """

    xs: tuple[int, ...]
    ys: tuple[int, ...]


def terms_of(world: World, subgoal: Subgoal) -> Terms:
    """Return the entities that x and y of `subgoal` stand for, in the order of creation."""
    xs = entities(world.of(subgoal.x)) if subgoal.form in OF_A_TYPE else iter((world.entity(subgoal.x),))
    ys: Iterator[int] = iter(())
    if subgoal.y is not None:
        ys = entities(world.of(subgoal.y)) if subgoal.form in ANYWHERE else iter((world.entity(subgoal.y),))
    return Terms(tuple(xs), tuple(ys))


def choices_of(world: World, subgoal: Subgoal) -> tuple[Choice, ...]:
    """Return the choices of one subgoal; it holds if every one has an option with every demand met."""
    known = world.worked_out.get(subgoal)
    if known is None:
        known = world.worked_out[subgoal] = _choices_of(world, subgoal)
    choices: tuple[Choice, ...] = known
    return choices


def _choices_of(world: World, subgoal: Subgoal) -> tuple[Choice, ...]:
    terms = terms_of(world, subgoal)
    if subgoal.y is None:
        return tuple(((Demand(x, NOTHING, subgoal.of_x),),) for x in terms.xs)
    options = {(x, y): _option(world, subgoal, x, y) for x in terms.xs for y in terms.ys}
    match subgoal.form:
        case "SOME":
            return (tuple(options.values()),)
        case "ALL-SAME":
            return (tuple(_joined(options[x, y] for x in terms.xs) for y in terms.ys),)
        case _:  # ALL and THE, whose y is one entity, ALL-ANY and THE-ANY
            return tuple(tuple(options[x, y] for y in terms.ys) for x in terms.xs)


def choices_of_goal(world: World, goal: Goal) -> tuple[Choice, ...]:
    """Return the choices of a whole goal."""
    return tuple(choice for subgoal in goal.subgoals for choice in choices_of(world, subgoal))


def _option(world: World, subgoal: Subgoal, x: int, y: int) -> Option:
    nested = world.kinds[x].receptacle and world.kinds[y].movable
    fits = world.kinds[y].relation == subgoal.relation and world.kinds[x].movable and not nested
    demand = Demand(x, y, subgoal.of_x, fits)
    return (demand, Demand(y, NOTHING, subgoal.of_y)) if subgoal.of_y else (demand,)


def _joined(options: Iterable[Option]) -> Option:
    return tuple(dict.fromkeys(demand for option in options for demand in option))
