"""Plans of the human: a goal's subgoals in some order, each from where the one before has led (spec 5.2).

A plan for a subgoal is not searched for among actions. What is to be done with each thing is plain; open
is only which things where a goal leaves a choice, with which tools, and in what order. The promising ways
are walked in thought, and the shortest is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations
from math import factorial
from random import Random
from typing import Final, TypeVar

from simulator.handmethat.actions import Action, domain
from simulator.handmethat.goals.model import Goal, Subgoal
from simulator.handmethat.planner.aims import Aim, Case, Trip, aims_for
from simulator.handmethat.planner.demands import Choice, Demand, Option
from simulator.handmethat.planner.errands import errands_for, manners, run
from simulator.handmethat.planner.relevance import Targets
from simulator.handmethat.planner.walk import NO_LIMIT, DeadEndError, Walk
from simulator.handmethat.world import NOTHING, BitSet, State, World

Plan = tuple[Action, ...]
T = TypeVar("T")
# All orders of so many subgoals are tried; of more, this many.
_ORDERS: Final = 12


class Rewound(Random):
    """The numbers of ``Random(origin)``, to be drawn from the first on as often as one likes.

    What depends on nothing but a case and these numbers is planned once.

    Attributes:
        origin: the seed.
        drawn: how many were drawn since the beginning; set it to 0 to begin again.
    """

    def __init__(self, origin: int) -> None:
        super().__init__(origin)
        self.origin, self.drawn = origin, 0
        self._numbers: list[float] = []

    def random(self) -> float:
        """Draw the next number."""
        self.drawn += 1
        while len(self._numbers) < self.drawn:
            self._numbers.append(super().random())
        return self._numbers[self.drawn - 1]


def plan_subgoal(
    world: World,
    state: State,
    subgoal: Subgoal,
    targets: Targets,
    random: Random | None = None,
    fixed: BitSet = 0,
) -> Plan | None:
    """Return a short plan for one subgoal.

    Args:
        world: the household.
        state: where the plan starts; a human who waits is taken as working.
        subgoal: what must hold at the end.
        targets: what the plan may use.
        random: settles what makes no difference; without it the first created goes first.
        fixed: bit set of things that are best left where they are.

    Returns:
        The actions, none if the subgoal holds already; None if it cannot be reached.
    """
    (aim,) = aims_for(world, (subgoal,), targets.grounded)
    walk = _solve(Walk(world, state, targets.grounded), aim, fixed, random)
    return None if walk is None else tuple(walk.actions)


def plan_goal(
    world: World,
    state: State,
    goal: Goal,
    order: Sequence[int],
    targets: Targets,
    random: Random | None = None,
) -> tuple[Plan, ...] | None:
    """Return a plan for each subgoal, each from the state left by the one before.

    What has been achieved before is not protected, except that a plan leaves alone the things that were put
    in place for an earlier subgoal where others serve as well.

    Args:
        world: the household.
        state: where the plan starts.
        goal: the goal.
        order: the order in which the subgoals are gone about, as their numbers.
        targets: what the plans may use.
        random: settles what makes no difference.

    Returns:
        One plan per subgoal, in that order; None if a subgoal cannot be reached.
    """
    aims = aims_for(world, goal.subgoals, targets.grounded)
    walks = _in_order(Walk(world, state, targets.grounded), [aims[number] for number in order], random)
    return None if walks is None else tuple(tuple(walk.actions) for walk in walks)


def plan_whole(
    world: World, state: State, goal: Goal, targets: Targets, random: Random, orders: int = _ORDERS
) -> tuple[tuple[int, ...], tuple[Plan, ...]] | None:
    """A short plan after which the whole goal holds: that of the best of several orders of its subgoals.

    All orders of the subgoals are tried if they are at most `orders`, else so many drawn ones.

    Returns:
        The order and the plans in it; None if no order was found that does not undo what was done.
    """
    numbers = range(len(goal.subgoals))
    if factorial(len(numbers)) <= orders:
        tried = list(permutations(numbers))
    else:
        tried = [tuple(sorted(numbers, key=lambda _: random.random())) for _ in range(orders)]
    aims, start = aims_for(world, goal.subgoals, targets.grounded), Walk(world, state, targets.grounded)
    best: tuple[tuple[int, ...], list[Walk]] | None = None
    length = 0
    for order in tried:
        walks = _in_order(start, [aims[number] for number in order], random)
        if walks is None:
            return None
        steps = sum(len(walk.actions) for walk in walks)
        if best is None or steps < length:
            end = walks[-1] if walks else start
            if all(aim.is_met(end) for aim in aims):
                best, length = (order, walks), steps
    return None if best is None else (best[0], tuple(tuple(walk.actions) for walk in best[1]))


def states_along(state: State, actions: Iterable[Action]) -> tuple[State, ...]:
    """Return the states before each action of a plan, and after the last.

    Args:
        state: where the plan starts; a human who waits is taken as working.
        actions: actions of the human, each applicable where the ones before have led.
    """
    schemas = domain("human")
    states = [state._replace(waiting=False)]
    for name, args in actions:
        states.append(schemas[name].apply(states[-1], args))
    return tuple(states)


def _in_order(walk: Walk, aims: Iterable[Aim], random: Random | None) -> list[Walk] | None:
    """Walks to one aim after the other; None if one of them cannot be reached."""
    walks, fixed = [], 0
    for aim in aims:
        there = _solve(walk, aim, fixed, random)
        if there is None:
            return None
        walks.append(there)
        fixed |= aim.settled(there)
        walk = there
    return walks


def _solve(walk: Walk, aim: Aim, fixed: BitSet, random: Random | None) -> Walk | None:
    """Return the shortest of the promising walks on from `walk`; None if none leads to `aim`."""
    if aim.is_met(walk):
        return walk.fork()
    case = aim.case(walk, fixed)
    if isinstance(random, Rewound):
        key = case.key, random.origin, random.drawn
        solved = aim.solved.get(key)
        if solved is None:
            trip = _shortest_trip(walk, aim, case, fixed, random)
            solved = aim.solved[key] = trip, random.drawn
        best, random.drawn = solved
    else:
        best = _shortest_trip(walk, aim, case, fixed, random)
    return None if best is None else aim.taken(walk, case, best)


def _shortest_trip(walk: Walk, aim: Aim, case: Case, fixed: BitSet, random: Random | None) -> Trip | None:
    best, limit = None, NO_LIMIT
    for demands in _selections(walk, aim.choices, aim.met(walk), fixed, random):
        ordered = _shuffled(demands, random)
        try:
            trip = aim.known(case, ordered, limit)
        except KeyError:
            shortest = _shortest(walk, aim, ordered, fixed, limit)
            trip = aim.note(case, ordered, shortest, walk.holding, limit)
        if trip is not None and len(trip.actions) < limit:
            best, limit = trip, len(trip.actions)
    return best


def _shortest(walk: Walk, aim: Aim, demands: Sequence[Demand], fixed: BitSet, limit: int) -> Walk | None:
    """Return the shortest of the walks that meet `demands` in less than `limit` steps."""
    errands = errands_for(walk, demands)
    if errands is None:
        return None
    best: Walk | None = None
    for manner in manners(walk, errands, fixed):
        there = walk.fork(limit - 1)
        try:
            run(there, errands, manner, fixed)
        except DeadEndError:
            continue
        if aim.is_met(there):
            best, limit = there, len(there.actions)
    return best


def _selections(
    walk: Walk, choices: Sequence[Choice], met: Sequence[Option | None], fixed: BitSet, random: Random | None
) -> Iterator[list[Demand]]:
    """Yield the options that may be worth taking, one of each choice."""
    plain: list[Demand] = []
    open_choices: list[Choice] = []
    for choice, already in zip(choices, met, strict=True):
        if already is not None:
            plain += already
        elif len(choice) == 1:
            plain += choice[0]
        else:
            loose = tuple(option for option in choice if not _moves(walk, option, fixed))
            open_choices.append(loose or choice)
    if not open_choices:
        yield plain
    elif len(open_choices) == 1:
        for option in _distinct(walk, _shuffled(open_choices[0], random)):
            yield [*plain, *option]
    else:
        # Many things, and places of a kind for them: all into one place, or each into the nearest.
        for i in _shuffled(range(min(map(len, open_choices))), random):
            yield plain + [one for choice in open_choices for one in choice[i]]
            yield plain + [one for choice in open_choices for one in _nearest(walk, choice, choice[i])]


def _shuffled(some: Sequence[T], random: Random | None) -> list[T]:
    if random is None:
        return list(some)
    if len(some) == 1:
        # Whoever comes next draws the same, however many there are to sort.
        random.random()
        return list(some)
    return sorted(some, key=lambda _: random.random())


def _moves(walk: Walk, option: Option, fixed: BitSet) -> bool:
    """Return True if `option` takes something away that is best left where it is."""
    return any(
        fixed >> one.entity & 1 and one.place not in (NOTHING, walk.place[one.entity]) for one in option
    )


def _distinct(walk: Walk, options: Iterable[Option]) -> list[Option]:
    """Return the first of the options that cost the same."""
    found: dict[tuple[object, ...], Option] = {}
    for option in options:
        key = tuple(_signature(walk, one) for one in option)
        found.setdefault(key, option)
    return list(found.values())


def _signature(walk: Walk, demand: Demand) -> tuple[object, ...]:
    """Return what makes a difference to how `demand` is met."""
    entity, place, states, _ = demand
    there: tuple[object, ...] = (place,)
    if place != NOTHING and not walk.locations >> place & 1:
        # Of two containers that stand side by side the one is as good as the other, if both are shut.
        there = (walk.place[place], walk.is_shut(place), walk.place[entity] == place)
    held = walk.holding == entity
    return (walk.place[entity], held, *there, *(walk.states[name] >> entity & 1 for name, _ in states))


def _nearest(walk: Walk, choice: Choice, otherwise: Option) -> Option:
    """Return the option that wants things where they are, if there is one."""
    for option in choice:
        if all(
            one.place == NOTHING or walk.location(one.place) == walk.location(one.entity) for one in option
        ):
            return option
    return otherwise
