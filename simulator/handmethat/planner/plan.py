"""Plans of the human: the subgoals of a goal in some order, each from the state after the last (spec 5.2).

Plans are not found by a search over actions. The state determines the errands for a subgoal, except for
alternative things, tools and the order. The promising variants are simulated, and the shortest is taken
(see `aims`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import permutations
from math import factorial
from random import Random
from typing import Final

from simulator.handmethat.actions import Action, domain
from simulator.handmethat.goals.model import Goal, Subgoal, Targets
from simulator.handmethat.planner.aims import Aim, Trip, aims_for
from simulator.handmethat.planner.errands import run
from simulator.handmethat.planner.walk import Walk
from simulator.handmethat.world import BitSet, State, World

Plan = tuple[Action, ...]
Order = tuple[int, ...]
# Largest number of orders of the subgoals that are tried.
_ORDERS: Final = 12


def plan_subgoal(
    world: World,
    state: State,
    subgoal: Subgoal,
    targets: Targets,
    fixed: BitSet = 0,
) -> Plan | None:
    """Return a short plan for one subgoal from `state`, where a waiting human counts as working.

    `targets`: entities that the plan may use. `fixed`: bit set of things to leave where they are if possible.

    Returns:
        The actions (empty if the subgoal holds already); None if it cannot be reached.
    """
    aims = aims_for(world, (subgoal,), targets.grounded)
    trips = _trips(Walk(world, state, targets.grounded), aims, None, fixed)
    return None if trips is None else _write_plans(world, state, targets, trips)[0]


def plan_goal(
    world: World,
    state: State,
    goal: Goal,
    order: Sequence[int],
    targets: Targets,
    random: Random | None = None,
) -> tuple[Plan, ...] | None:
    """Return a plan per subgoal in `order`, each from the state after the last; None if one has none.

    Earlier subgoals are not protected, except that a plan prefers things that were not put in place for an
    earlier subgoal.

    `order`: indices of the subgoals, in the order of the plans.
    """
    aims = aims_for(world, goal.subgoals, targets.grounded)
    trips = _trips(Walk(world, state, targets.grounded), [aims[number] for number in order], random)
    return None if trips is None else _write_plans(world, state, targets, trips)


def plan_whole(
    world: World, state: State, goal: Goal, targets: Targets, random: Random
) -> tuple[Order, tuple[Plan, ...]] | None:
    """Return an order and short plans after which all subgoals hold; None if every order undoes one.

    It follows the best of all orders of the subgoals if there are at most 12 orders, else of 12 random ones.
    """
    orders = draw_orders(len(goal.subgoals), _ORDERS, random)
    aims = aims_for(world, goal.subgoals, targets.grounded)
    best = best_order(Walk(world, state, targets.grounded), aims, orders, random)
    return None if best is None else (best[0], _write_plans(world, state, targets, best[1]))


def draw_orders(subgoals: int, most: int, random: Random) -> list[Order]:
    """Return all orders of a number of subgoals, or `most` random ones if there are more."""
    numbers = range(subgoals)
    if factorial(subgoals) <= most:
        return list(permutations(numbers))
    return [tuple(sorted(numbers, key=lambda _: random.random())) for _ in range(most)]


def best_order(
    start: Walk, aims: Sequence[Aim], orders: Iterable[Order], random: Random
) -> tuple[Order, list[Trip | None], int] | None:
    """Return the order with the fewest steps after which all aims hold, with its trips and steps, or None."""
    best: tuple[Order, list[Trip | None], int] | None = None
    for order in orders:
        walk = start.fork()
        trips = _trips(walk, [aims[number] for number in order], random)
        if trips is None:
            return None
        steps = sum([trip.steps for trip in trips if trip is not None])
        if (best is None or steps < best[2]) and all(aim.settled(walk) is not None for aim in aims):
            best = order, trips, steps
    return best


def states_along(state: State, actions: Iterable[Action]) -> tuple[State, ...]:
    """Return the states before each action of a plan, and after the last."""
    schemas = domain("human")
    states = [state._replace(waiting=False)]
    for name, args in actions:
        states.append(schemas[name].apply(states[-1], args))
    return tuple(states)


def _trips(
    walk: Walk, aims: Iterable[Aim], random: Random | None, fixed: BitSet = 0
) -> list[Trip | None] | None:
    """Take `walk` to each aim; return the trips (None for an aim that holds), or None if one fails."""
    trips: list[Trip | None] = []
    for aim in aims:
        trip, settled = None, aim.settled(walk)
        if settled is None:
            trip = aim.trip(walk, fixed, random)
            if trip is None:
                return None
            trip.follow(walk)
            settled = trip.settled
        trips.append(trip)
        fixed |= settled
    return trips


def _write_plans(
    world: World, state: State, targets: Targets, trips: Iterable[Trip | None]
) -> tuple[Plan, ...]:
    walk, plans = Walk(world, state, targets.grounded), []
    for trip in trips:
        walk.actions = []
        if trip is not None:
            run(walk, trip.errands, trip.style, trip.fixed)
        plans.append(tuple(walk.actions))
    return tuple(plans)
