"""HandMeThat's planner: CPU of plans, estimates and rewards, and lengths of plans beside shortest ones."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from statistics import fmean
from typing import NamedTuple, TypeVar

from rows import Row, main

from simulator.handmethat.actions import Action
from simulator.handmethat.goals.model import Goal, Targets, find_targets
from simulator.handmethat.goals.templates import instantiate
from simulator.handmethat.meanings.model import QUESTS
from simulator.handmethat.planner.exact import ExactSearch, SearchLimitError
from simulator.handmethat.planner.grounding import ground
from simulator.handmethat.planner.plan import plan_goal, plan_subgoal, states_along
from simulator.handmethat.planner.relaxed import RelaxedGraph, ground_goal
from simulator.handmethat.planner.rewards import groundings, rewards, state_after_grounding
from simulator.handmethat.profiles import load_profiles
from simulator.handmethat.scene import SceneRules, sample_scene, sample_stock
from simulator.handmethat.world import State, World

TEMPLATES = range(69)
SHORTEST = 60  # states that a search for a shortest plan may look at
T = TypeVar("T")


class Sampled(NamedTuple):
    """A household with a goal."""

    template: int
    world: World
    state: State
    goal: Goal
    targets: Targets


class Times:
    """CPU seconds by kind of work."""

    def __init__(self) -> None:
        self._spent: dict[str, list[float]] = {}

    def measure(self, name: str, do: Callable[[], T]) -> T:
        """Call `do` and record how long it took."""
        start = time.process_time()
        result = do()
        self._spent.setdefault(name, []).append(time.process_time() - start)
        return result

    def milliseconds(self, name: str) -> list[float]:
        """Return the time of each call in milliseconds."""
        return [1000 * seconds for seconds in self._spent[name]]


def households(seed: int) -> Iterator[Sampled]:
    """One household for each template."""
    for template in TEMPLATES:
        random = Random(1000 * seed + template)
        goal = None
        while goal is None:
            stock = sample_stock(random, SceneRules())
            goal = instantiate(template, stock, random)
        world, state = sample_scene(random, stock=stock)
        yield Sampled(template, world, state, goal, find_targets(world, state, goal, True))


def weigh(case: Sampled, times: Times) -> None:
    """Measure plans, estimates and rewards of a household."""
    _, world, state, goal, targets = case
    order = range(len(goal.subgoals))
    times.measure("plan of a goal", lambda: plan_goal(world, state, goal, order, targets, Random(0)))
    grounding = times.measure("grounding", lambda: ground(world, targets.grounded))
    graph, aim = RelaxedGraph(grounding.operators), ground_goal(grounding, goal.subgoals)
    waiting = state._replace(waiting=True)
    profile = load_profiles()["v2"]
    for quest in QUESTS:
        times.measure(
            f"rewards: {quest}",
            partial(rewards, world, waiting, goal, targets, quest, 10, profile),
        )
    helped = [
        state_after_grounding(world, waiting, asked)
        for asked in groundings(world, waiting, "bring_me", targets.movable, ())
    ]
    for after in (state, *helped[:: max(1, len(helped) // 3)]):
        assert after is not None
        times.measure("estimate", partial(lambda now: graph.estimate(grounding.encode(now), aim), after))


def compare(case: Sampled, shortest: Counter[int]) -> None:
    """Count how much longer plans are, subgoal by subgoal, than those of searches that end in time."""
    _, world, state, goal, targets = case
    for subgoal in goal.subgoals:
        plan = plan_subgoal(world, state, subgoal, targets)
        assert plan is not None
        if plan:
            exact = ExactSearch(world, subgoal, targets, SHORTEST)
            _count(shortest, plan, partial(exact.plan, state))
        state = states_along(state, plan)[-1]


def _count(
    gaps: Counter[int], plan: tuple[Action, ...], search: Callable[[], tuple[Action, ...] | None]
) -> None:
    try:
        other = search()
    except SearchLimitError:
        return
    assert other is not None
    gaps[len(plan) - len(other)] += 1


def rows() -> Iterator[Row]:
    """Yield the means of plans, rewards and estimates, and how many plans are as short as can be."""
    times, longer = Times(), Counter[int]()
    for household in households(0):
        _ = household.world.masks
        weigh(household, times)
        compare(household, longer)
    for name in ("plan of a goal", *(f"rewards: {quest}" for quest in QUESTS), "grounding", "estimate"):
        yield Row(work=f"HandMeThat: {name}", ours=fmean(times.milliseconds(name)), unit="ms", remark="CPU")
    yield Row(
        work="HandMeThat: plans of subgoals that are as short as can be",
        ours=longer[0] / longer.total(),
        unit="",
        more=True,
        remark=f"of {longer.total()} whose shortest plan is found within {SHORTEST} states",
    )


if __name__ == "__main__":
    main(rows)
