"""Shortest plans by search over grounded operators (spec 5.2, 12.1 no. 7).

`ExactSearch` is an A* search with the bound of `exact_bound`. It is exponential in the number of choices that
a goal leaves, so it counts its steps and raises `SearchLimitError` at a limit.

Range: plans of 40 actions that carry things to fixed places. With one household and goal per template (v1's
generator), 49 of 69 are solved within the default limit, most within half a second. The others want many
things in boxes (the bound is weak for rides in them), sliced or cooked (several tools and appliances), or in
any box of a type; they reach the limit after some seconds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Final

from simulator.errors import AskbackError
from simulator.handmethat.actions import Action
from simulator.handmethat.goals.model import Goal, Subgoal, Targets
from simulator.handmethat.planner.exact_bound import LowerBound
from simulator.handmethat.planner.grounding import Facts, Grounding, Operator, ground
from simulator.handmethat.planner.relaxed import UNREACHABLE, FactGoal, RelaxedGraph, ground_goal
from simulator.handmethat.world import State, World, entities

_SHORTEST_LIMIT: Final = 500


class SearchLimitError(AskbackError):
    """A search that reached its limit of states; the message says what to do."""


class ExactSearch:
    """Shortest plans for one goal from many states of a household."""

    def __init__(
        self, world: World, goal: Subgoal | Goal, targets: Targets, limit: int = _SHORTEST_LIMIT
    ) -> None:
        self._grounding = ground(world, targets.grounded)
        self._goal = ground_goal(self._grounding, goal.subgoals if isinstance(goal, Goal) else (goal,))
        self._symmetry = Symmetry(self._grounding, self._goal)
        self._limit = limit

    def cost(self, state: State) -> int:
        """Return the length of a shortest plan from `state`; `UNREACHABLE` if there is no plan.

        Raises:
            SearchLimitError: if the limit is reached.
        """
        plan = self.plan(state)
        return UNREACHABLE if plan is None else len(plan)

    def plan(self, state: State) -> tuple[Action, ...] | None:
        """Return a shortest plan from `state`, or None if there is no plan.

        Raises:
            SearchLimitError: if the limit is reached.
        """
        grounding, goal = self._grounding, self._goal
        start = grounding.encode(state)
        if goal.holds(start):
            return ()
        # A goal that wants one thing in two places cannot be reached (spec 5.2(5)).
        if any((group & goal.facts).bit_count() > 1 for group in grounding.exclusive):
            return None
        operators = needed_operators(grounding, start, goal)
        return _a_star(grounding, operators, start, goal, self._symmetry, self._limit)


def _a_star(
    grounding: Grounding,
    operators: Sequence[Operator],
    start: Facts,
    goal: FactGoal,
    symmetry: Symmetry,
    limit: int,
) -> tuple[Action, ...] | None:
    """Search by A* over states up to symmetry; reopen a state that is reached on a shorter path.

    A state is queued with the bound inherited from its predecessor; its own bound is computed only when it
    leaves the queue.
    """
    bound, standing = LowerBound(grounding, operators, goal), grounding.exclusive[-1]
    # Operators by the human's location.
    at = defaultdict[Facts, list[Operator]](list)
    for operator in operators:
        at[operator.needs & standing].append(operator)
    predecessors: dict[Facts, tuple[Facts, Operator] | None] = {start: None}
    shortest = {symmetry.canonical(start): 0}
    ages = count()
    queue = [(0, 0, next(ages), start)]
    expanded = 0
    while queue:
        total, rest, age, facts = heappop(queue)
        length = total - rest
        if length > shortest[symmetry.canonical(facts)]:
            continue
        if (own_bound := bound.value(facts)) > rest:
            if own_bound < UNREACHABLE:
                heappush(queue, (length + own_bound, own_bound, age, facts))
            continue
        if goal.holds(facts):
            return _trace(predecessors, facts)
        if expanded == limit:
            raise SearchLimitError(
                f"No plan among the first {limit} states; raise the limit, or use estimated costs for a "
                "goal of this size."
            )
        expanded += 1
        length, rest = length + 1, max(rest - 1, 0)
        for operator in at[facts & standing]:
            if operator.needs & facts != operator.needs:
                continue
            after = operator.apply(facts)
            key = symmetry.canonical(after)
            if shortest.get(key, UNREACHABLE) > length:
                shortest[key] = length
                predecessors[after] = (facts, operator)
                heappush(queue, (length + rest, rest, next(ages), after))
    return None


def _trace(predecessors: dict[Facts, tuple[Facts, Operator] | None], facts: Facts) -> tuple[Action, ...]:
    actions = []
    while (step := predecessors[facts]) is not None:
        facts, operator = step
        actions.append(operator.action)
    return tuple(reversed(actions))


# ---- pruning: irrelevant operators, and states that differ by an exchange of like things
#
# `needed_operators` preserves a shortest plan; `Symmetry` preserves the length of every plan.


# A goal without the order of its parts.
_Form = tuple[Facts, frozenset[frozenset["_Form"]]]


def needed_operators(grounding: Grounding, start: Facts, goal: FactGoal) -> tuple[Operator, ...]:
    """Return operators that contain a shortest plan, if there is a plan.

    Nothing is picked up just to free the hand by putting it down: a plan without both actions is shorter. So
    only the thing held at the start is put down for that reason. An operator is also unnecessary if another
    one needs less, deletes less and adds all its useful facts.
    """
    atoms = grounding.atoms
    held = start & sum(bit for atom, bit in atoms.items() if atom[0] == "holding")
    hand, reachable = atoms[("hand-empty",)], RelaxedGraph(grounding.operators).reachable(start)
    possible = [operator for operator in grounding.operators if operator.needs & reachable == operator.needs]
    useful = goal.mentioned()
    chosen: set[int] = set()
    changed = True
    while changed:
        changed = False
        for number, operator in enumerate(possible):
            helps = operator.adds & useful or (operator.adds & hand and operator.needs & held)
            if number in chosen or not helps:
                continue
            if _is_dominated(operator, possible, useful | hand):
                continue
            chosen.add(number)
            useful |= operator.needs & ~hand
            changed = True
    return tuple(possible[number] for number in sorted(chosen))


class Symmetry:
    """Equivalence of states that differ only by an exchange of like things.

    Things are alike if they have the same type, are not receptacles, and their exchange does not change the
    goal.
    """

    def __init__(self, grounding: Grounding, goal: FactGoal) -> None:
        form = _form(goal)
        by_type: dict[str, list[tuple[Facts, list[int]]]] = {}
        for entity, (first, mask) in _blocks(grounding).items():
            kind = grounding.world.kinds[entity]
            if not kind.receptacle:
                classes = by_type.setdefault(kind.name, [])
                like = (firsts for _, firsts in classes if _form(goal, mask, firsts[0], first) == form)
                if (firsts := next(like, None)) is not None:
                    firsts.append(first)
                else:
                    classes.append((mask, [first]))
        self._classes = [
            members for classes in by_type.values() for members in classes if len(members[1]) > 1
        ]

    def canonical(self, facts: Facts) -> Facts:
        """Return the same number for all states that differ by an exchange of like things."""
        for mask, firsts in self._classes:
            blocks = [facts >> first & mask for first in firsts]
            in_order = sorted(blocks)
            if blocks != in_order:
                for first, old, new in zip(firsts, blocks, in_order, strict=True):
                    facts ^= (old ^ new) << first
        return facts


def _is_dominated(operator: Operator, others: Iterable[Operator], useful: Facts) -> bool:
    """Return True if another operator is at least as good; False right away if all it adds is useful."""
    if not operator.adds & ~useful:
        return False
    gains = operator.adds & useful
    return any(
        other.needs & operator.needs == other.needs
        and gains & other.adds == gains
        and not other.deletes & ~operator.deletes & useful
        and other.needs != operator.needs
        for other in others
    )


def _blocks(grounding: Grounding) -> dict[int, tuple[int, Facts]]:
    """Return the offset of the facts of each movable thing, and a mask with one bit per fact."""
    blocks: dict[int, tuple[int, Facts]] = {}
    movable = grounding.relevant & grounding.world.find_all("movable")
    positions: dict[int, list[int]] = {entity: [] for entity in entities(movable)}
    for atom, bit in grounding.atoms.items():
        if len(atom) > 1 and isinstance(atom[1], int) and atom[1] in positions:
            positions[atom[1]].append(bit.bit_length() - 1)
    for entity, numbers in positions.items():
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        blocks[entity] = (numbers[0], (1 << len(numbers)) - 1)
    return blocks


def _form(goal: FactGoal, mask: Facts = 0, first: int = 0, second: int = 0) -> _Form:
    """Return the goal as an unordered form, with the facts of two things exchanged."""
    facts = goal.facts
    difference = (facts >> first ^ facts >> second) & mask
    facts ^= difference << first | difference << second
    return facts, frozenset(
        frozenset(_form(member, mask, first, second) for member in choice) for choice in goal.choices
    )
