"""HandMeThat's planner beside the generic one: CPU, and lengths of plans beside searched and shortest ones.

Run as a script: ``make bench``, or ``python tests/benchmarks/bench_handmethat_planner.py [seeds]``. Both
planners see the same households within one run, so that what else the machine does slows both.
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

from simulator.handmethat.actions import Action
from simulator.handmethat.goals.model import Goal
from simulator.handmethat.goals.templates import instantiate
from simulator.handmethat.meanings.model import QUESTS
from simulator.handmethat.planner.cost import CostToGo
from simulator.handmethat.planner.exact import ExactSearch, SearchLimitError, best_first
from simulator.handmethat.planner.grounding import ground
from simulator.handmethat.planner.plan import plan_goal, plan_subgoal, states_along
from simulator.handmethat.planner.relaxed import RelaxedGraph, wanted
from simulator.handmethat.planner.relevance import Targets, find_targets
from simulator.handmethat.planner.rewards import groundings, landed, rewards
from simulator.handmethat.profiles import load_profiles
from simulator.handmethat.scene import SceneRules, sample_scene, sample_stock
from simulator.handmethat.world import State, World

TEMPLATES = range(69)
SEARCHED = 100  # states that a best-first search may look at
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


def weigh(one: Sampled, times: Times, gaps: Counter[int]) -> None:
    """Plans, costs and rewards of a household; the generic estimate of the same states."""
    _, world, state, goal, targets = one
    order = range(len(goal.subgoals))
    times.measure("plan of a goal", lambda: plan_goal(world, state, goal, order, targets, Random(0)))
    costs = times.measure("cost-to-go: preparing", lambda: CostToGo(world, goal, targets))
    grounding = times.measure("generic: grounding", lambda: ground(world, targets.grounded))
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
        fast = times.measure("cost-to-go", lambda after=after: costs.cost(after))
        slow = times.measure(
            "generic: estimate", lambda after=after: graph.estimate(grounding.encode(after), aim)
        )
        gaps[fast - slow] += 1


def compare(one: Sampled, searched: Counter[int], shortest: Counter[int]) -> None:
    """Lengths of plans, subgoal by subgoal, beside those of searches that end in time."""
    _, world, state, goal, targets = one
    for subgoal in goal.subgoals:
        plan = plan_subgoal(world, state, subgoal, targets)
        assert plan is not None
        if plan:
            _count(searched, plan, lambda s=state, g=subgoal: best_first(world, s, g, targets, SEARCHED))
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
    times, gaps = Times(), Counter[int]()
    searched, shortest = Counter[int](), Counter[int]()
    for seed in range(seeds):
        for one in households(seed):
            _ = one.world.masks
            weigh(one, times, gaps)
            if seed == 0:
                compare(one, searched, shortest)
    console = Console()
    table = Table("ms of CPU", "mean", "median", "95 %", title=f"{seeds} households for each of 69 templates")
    for name in (
        "plan of a goal",
        "cost-to-go: preparing",
        "cost-to-go",
        *(f"rewards: {quest}" for quest in QUESTS),
        "generic: grounding",
        "generic: estimate",
    ):
        spent = times.of(name)
        cuts = quantiles(spent, n=20)
        table.add_row(name, f"{fmean(spent):.3f}", f"{cuts[9]:.3f}", f"{cuts[18]:.3f}")
    console.print(table)
    fast, slow = fmean(times.of("cost-to-go")), fmean(times.of("generic: estimate"))
    console.print(f"One estimate: generic {slow / fast:.1f} times the closed form, grounding aside.")
    lengths = Table("difference in length", *map(str, range(-9, 4)))
    for name, counts in (
        ("relaxed plans: closed form less generic", gaps),
        (f"subgoals: ours less best-first (up to {SEARCHED} states)", searched),
        (f"subgoals: ours less shortest (up to {SHORTEST} states)", shortest),
    ):
        lengths.add_row(name, *(str(counts[gap] or "") for gap in range(-9, 4)))
    console.print(lengths)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
