"""HandMeThat's planner: CPU of plans, estimates and rewards, and lengths of plans beside shortest ones.

Run as a script: ``make bench``, or ``python tests/benchmarks/bench_handmethat_planner.py [seeds]``. All
see the same households within one run, so that what else the machine does slows all.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from statistics import fmean, quantiles
from typing import NamedTuple, TypeVar

from rich.console import Console
from rich.table import Table
from rows import Row

from simulator.handmethat.actions import Action
from simulator.handmethat.goals.model import Goal
from simulator.handmethat.goals.templates import instantiate
from simulator.handmethat.meanings.model import QUESTS
from simulator.handmethat.planner.exact import ExactSearch, SearchLimitError
from simulator.handmethat.planner.grounding import ground
from simulator.handmethat.planner.plan import plan_goal, plan_subgoal, states_along
from simulator.handmethat.planner.relaxed import RelaxedGraph, wanted
from simulator.handmethat.planner.relevance import Targets, find_targets
from simulator.handmethat.planner.rewards import groundings, landed, rewards
from simulator.handmethat.profiles import load_profiles
from simulator.handmethat.scene import SceneRules, sample_scene, sample_stock
from simulator.handmethat.world import State, World

TEMPLATES = range(69)
SHORTEST = 60  # states that a search for a shortest plan may look at
T = TypeVar("T")


class Sampled(NamedTuple):
    """A household and what is wanted of it."""

    template: int
    world: World
    state: State
    goal: Goal
    targets: Targets


class Times:
    """CPU seconds by what was done."""

    def __init__(self) -> None:
        self._spent: dict[str, list[float]] = {}

    def measure(self, name: str, do: Callable[[], T]) -> T:
        """Do it and note how long it took."""
        start = time.process_time()
        found = do()
        self._spent.setdefault(name, []).append(time.process_time() - start)
        return found

    def of(self, name: str) -> list[float]:
        """What each time took, in milliseconds."""
        return [1000 * one for one in self._spent[name]]


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


def weigh(one: Sampled, times: Times) -> None:
    """Measure plans, estimates and rewards of a household."""
    _, world, state, goal, targets = one
    order = range(len(goal.subgoals))
    times.measure("plan of a goal", lambda: plan_goal(world, state, goal, order, targets, Random(0)))
    grounding = times.measure("grounding", lambda: ground(world, targets.grounded))
    graph, aim = RelaxedGraph(grounding.operators), wanted(grounding, goal.subgoals)
    waiting = state._replace(waiting=True)
    profile = load_profiles()["v2"]
    for quest in QUESTS:
        times.measure(
            f"rewards: {quest}",
            lambda quest=quest: rewards(world, waiting, goal, targets, quest, 10, profile),
        )
    helped = [
        landed(world, waiting, asked) for asked in groundings(world, waiting, "bring_me", targets.movable, ())
    ]
    for after in (state, *helped[:: max(1, len(helped) // 3)]):
        assert after is not None
        times.measure("estimate", lambda after=after: graph.estimate(grounding.encode(after), aim))


def compare(one: Sampled, shortest: Counter[int]) -> None:
    """Count how much longer plans are, subgoal by subgoal, than those of searches that end in time."""
    _, world, state, goal, targets = one
    for subgoal in goal.subgoals:
        plan = plan_subgoal(world, state, subgoal, targets)
        assert plan is not None
        if plan:
            exact = ExactSearch(world, subgoal, targets, SHORTEST)
            _count(shortest, plan, lambda s=state, search=exact: search.plan(s))
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


def main(seeds: int) -> None:
    """Print what was measured."""
    times, shortest = Times(), Counter[int]()
    for seed in range(seeds):
        for one in households(seed):
            _ = one.world.masks
            weigh(one, times)
            if seed == 0:
                compare(one, shortest)
    console = Console()
    table = Table("ms of CPU", "mean", "median", "95 %", title=f"{seeds} households for each of 69 templates")
    for name in (
        "plan of a goal",
        *(f"rewards: {quest}" for quest in QUESTS),
        "grounding",
        "estimate",
    ):
        spent = times.of(name)
        cuts = quantiles(spent, n=20)
        table.add_row(name, f"{fmean(spent):.3f}", f"{cuts[9]:.3f}", f"{cuts[18]:.3f}")
    console.print(table)
    lengths = Table("difference in length", *map(str, range(4)))
    name = f"subgoals: ours less shortest (up to {SHORTEST} states)"
    lengths.add_row(name, *(str(shortest[gap] or "") for gap in range(4)))
    console.print(lengths)


def rows() -> Iterator[Row]:
    """Yield the mean of plans and estimates."""
    times = Times()
    for household in households(0):
        _ = household.world.masks
        weigh(household, times)
    for name in ("plan of a goal", "estimate"):
        yield Row(work=f"HandMeThat: {name}", ours=fmean(times.of(name)), unit="ms", remark="CPU")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
