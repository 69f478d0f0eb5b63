"""Shortest plans by search over grounded operators (spec 5.2, 12.1 no. 7).

`ExactSearch` is an A* search with the bound of `exact_bound`; it is exponential in what a goal leaves open,
so it counts its steps and gives up with `SearchLimitError`.

What it manages: with the bound at hand, plans of 40 actions where things are carried to given places. Of one
household and goal per template (v1's generator), 49 of 69 are solved within the default limit, most within
half a second. The rest want many things in boxes (rides in them are hardly bounded), sliced or cooked (tools
and appliances are left open), or leave the box open as well; there the limit is reached after some seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Final

from simulator.errors import AskbackError
from simulator.handmethat.actions import Action
from simulator.handmethat.goals.model import Goal, Subgoal
from simulator.handmethat.planner.exact_bound import LowerBound
from simulator.handmethat.planner.exact_prune import Symmetry, needed_operators
from simulator.handmethat.planner.grounding import Facts, Grounding, Operator, ground
from simulator.handmethat.planner.relaxed import UNREACHABLE, Target, wanted
from simulator.handmethat.planner.relevance import Targets
from simulator.handmethat.world import State, World

_SHORTEST_LIMIT: Final = 500


class SearchLimitError(AskbackError):
    """A search has looked at as many states as it may; the message says what to do."""


class ExactSearch:
    """Shortest plans for one goal from many states of a household."""

    def __init__(
        self, world: World, goal: Subgoal | Goal, targets: Targets, limit: int = _SHORTEST_LIMIT
    ) -> None:
        self._grounding = ground(world, targets.grounded)
        self._goal = wanted(self._grounding, _subgoals(goal))
        self._symmetry = Symmetry(self._grounding, self._goal)
        self._limit = limit

    def cost(self, state: State) -> int:
        """Return the fewest actions from `state` to the goal; `UNREACHABLE` if there is no way.

        Raises:
            SearchLimitError: if the limit is reached.
        """
        plan = self.plan(state)
        return UNREACHABLE if plan is None else len(plan)

    def plan(self, state: State) -> tuple[Action, ...] | None:
        """Return a shortest plan from `state`; None if there is none.

        Raises:
            SearchLimitError: if the limit is reached.
        """
        grounding, goal = self._grounding, self._goal
        start = grounding.encode(state)
        if goal.holds(start):
            return ()
        if is_contradictory(grounding, goal):
            return None
        operators = needed_operators(grounding, start, goal)
        return _a_star(grounding, operators, start, goal, self._symmetry, self._limit)


def is_contradictory(grounding: Grounding, goal: Target) -> bool:
    """Return True if the goal wants one thing in two places, so that no search is needed (spec 5.2(5))."""
    return any((group & goal.facts).bit_count() > 1 for group in grounding.exclusive)


def _a_star(
    grounding: Grounding,
    operators: Sequence[Operator],
    start: Facts,
    goal: Target,
    symmetry: Symmetry,
    limit: int,
) -> tuple[Action, ...] | None:
    """Return a* over states up to the exchange of like things; a state is opened anew on a shorter way.

    A state waits in the queue with the bound that follows from its predecessor's, and its own is worked out
    only when its turn comes.
    """
    bound, moves = LowerBound(grounding, operators, goal), _Successors(grounding, operators)
    came: dict[Facts, tuple[Facts, Operator] | None] = {start: None}
    shortest = {symmetry.canonical(start): 0}
    ages = count()
    queue = [(0, 0, next(ages), start)]
    expanded = 0
    while queue:
        total, rest, age, facts = heappop(queue)
        length = total - rest
        if length > shortest[symmetry.canonical(facts)]:
            continue
        if (own := bound.of(facts)) > rest:
            if own < UNREACHABLE:
                heappush(queue, (length + own, own, age, facts))
            continue
        if goal.holds(facts):
            return _trace(came, facts)
        expanded = _counted(expanded, limit)
        length, rest = length + 1, max(rest - 1, 0)
        for operator in moves.of(facts):
            after = operator.apply(facts)
            key = symmetry.canonical(after)
            if shortest.get(key, UNREACHABLE) > length:
                shortest[key] = length
                came[after] = (facts, operator)
                heappush(queue, (length + rest, rest, next(ages), after))
    return None


class _Successors:
    """The operators that apply in a state, looked up by where the human stands."""

    def __init__(self, grounding: Grounding, operators: Iterable[Operator]) -> None:
        self._standing = grounding.exclusive[-1]
        self._at: dict[Facts, list[Operator]] = {}
        for operator in operators:
            self._at.setdefault(operator.needs & self._standing, []).append(operator)

    def of(self, facts: Facts) -> list[Operator]:
        here = self._at.get(facts & self._standing, ())
        return [operator for operator in here if operator.needs & facts == operator.needs]


def _subgoals(goal: Subgoal | Goal) -> tuple[Subgoal, ...]:
    return goal.subgoals if isinstance(goal, Goal) else (goal,)


def _counted(expanded: int, limit: int) -> int:
    if expanded >= limit:
        raise SearchLimitError(
            f"No plan among the first {limit} states; raise the limit, or take estimated costs for a goal "
            "of this size."
        )
    return expanded + 1


def _trace(came: dict[Facts, tuple[Facts, Operator] | None], facts: Facts) -> tuple[Action, ...]:
    """Return the actions that led to `facts`."""
    actions = []
    while (step := came[facts]) is not None:
        facts, operator = step
        actions.append(operator.action)
    return tuple(reversed(actions))
