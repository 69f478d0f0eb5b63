"""When the human stops and asks, and which subgoal the request serves (spec 5.3, 5.4)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from random import Random
from typing import Final

from simulator.handmethat.goals.model import UNIVERSAL, Goal, Subgoal
from simulator.handmethat.meanings.model import VERBS, Grounding
from simulator.handmethat.planner.plan import Plan, plan_subgoal
from simulator.handmethat.planner.relevance import Targets
from simulator.handmethat.planner.rewards import state_after_grounding
from simulator.handmethat.profiles import Truncation
from simulator.handmethat.world import NOTHING, State, World

# What must be left to do, and how many actions v2 shows at least.
_LEAST_LEFT: Final = 2
_LEAST_SHOWN: Final = {"v1": 0, "v2": 3, "uniform": 0}


def choose_stop(
    plans: Sequence[Plan],
    subgoals: Sequence[Subgoal],
    states: Sequence[State],
    truncation: Truncation,
    random: Random,
    least_shown: int | None = None,
) -> int | None:
    """Return after how many actions the human stops, with a free hand.

    Args:
        plans: one per subgoal.
        subgoals: in the order of their plans.
        states: before each action, and after the last; one more than there are actions.
        truncation: the rule: v1's, v2's, or any moment with a free hand alike (``uniform``).
        random: the earliest moment is drawn from it.
        least_shown: fewest actions by then; default: the rule's own, 3 for v2 and else 0.

    Returns:
        T; None if the plan is of no use: fewer than two actions would be left, or too few shown.
    """
    shown = _LEAST_SHOWN[truncation] if least_shown is None else least_shown
    free = [t for t, state in enumerate(states) if state.holding == NOTHING]
    length = len(states) - 1
    if truncation == "uniform":
        free = [t for t in free if shown <= t <= length - _LEAST_LEFT]
        return free[int(random.random() * len(free))] if free else None
    earliest = _earliest(length, random)
    beginnings = _universal_beginnings(plans, subgoals) if truncation == "v2" else frozenset()
    stop = next((t for t in free if t >= earliest and t not in beginnings), length)
    return stop if shown <= stop <= length - _LEAST_LEFT else None


def _earliest(length: int, random: Random) -> int:
    """Return a place in the later half of a plan, four actions before its end at the latest."""
    if length < 5:
        return 0
    low, high = (length - 4) // 2, length - 5
    return low + int(random.random() * (high - low + 1))


def _universal_beginnings(plans: Sequence[Plan], subgoals: Sequence[Subgoal]) -> frozenset[int]:
    """Return where the plans of subgoals about all of a type begin: such a plan is seen begun before help."""
    starts = accumulate(map(len, plans), initial=0)
    return frozenset(
        start
        for start, plan, subgoal in zip(starts, plans, subgoals, strict=False)
        if plan and subgoal.form in UNIVERSAL
    )


def served_subgoal(
    world: World,
    state: State,
    goal: Goal,
    targets: Targets,
    plans: Sequence[Plan],
    order: Sequence[int],
    stop: int,
    meant: Sequence[Grounding],
) -> int | None:
    """Return which subgoal it helps most that the robot does what is asked for.

    That is the subgoal whose plan, made anew where the robot's help leads, is shorter by most than what was
    left of it; the first in the order of the plans if several are.

    Args:
        world: the household.
        state: when the human asks.
        goal: the goal.
        targets: what the goal is about.
        plans: one per subgoal.
        order: the numbers of the subgoals, in the order of their plans.
        stop: how many actions are done.
        meant: what is asked for, A(m); its first member counts.

    Returns:
        The number of the subgoal; None if none gains anything, or nothing of the goal is asked for.
    """
    evaluated = meant and _is_evaluated(world, meant[0], targets)
    after = state_after_grounding(world, state, meant[0]) if evaluated else None
    if after is None:
        return None
    served, best = None, 0
    for number, left in zip(order, remaining(plans, stop), strict=True):
        if left <= best:
            continue
        plan = plan_subgoal(world, after, goal.subgoals[number], targets)
        if plan is not None and left - len(plan) > best:
            served, best = number, left - len(plan)
    return served


def remaining(plans: Sequence[Plan], stop: int) -> tuple[int, ...]:
    """Return how many actions of each plan are left after `stop` actions of all."""
    ends = accumulate(map(len, plans))
    return tuple(min(len(plan), max(0, end - stop)) for plan, end in zip(plans, ends, strict=True))


def _is_evaluated(world: World, grounding: Grounding, targets: Targets) -> bool:
    entity, argument = grounding
    if argument is not None and argument not in VERBS and world.index[argument] not in targets.position:
        return False
    return bool(targets.movable >> entity & 1)
