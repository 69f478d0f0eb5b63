"""Shortest plans by search over grounded operators (spec 5.2, 12.1 no. 7).

`ExactSearch` is an A* search with the bound of `exact_bound`; it is exponential in what a goal leaves open,
so it counts its steps and gives up with `SearchLimitError`.

What it manages: with the bound at hand, plans of 40 actions where things are carried to given places. Of one
household and goal per template (v1's generator), 49 of 69 are solved within the default limit, most within
half a second. The rest want many things in boxes (rides in them are hardly bounded), sliced or cooked (tools
and appliances are left open), or leave the box open as well; there the limit is reached after some seconds.
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
from simulator.handmethat.planner.relaxed import UNREACHABLE, RelaxedGraph, Target, wanted
from simulator.handmethat.world import State, World, entities

_SHORTEST_LIMIT: Final = 500


class SearchLimitError(AskbackError):
    """A search has looked at as many states as it may; the message says what to do."""


class ExactSearch:
    """Shortest plans for one goal from many states of a household."""

    def __init__(
        self, world: World, goal: Subgoal | Goal, targets: Targets, limit: int = _SHORTEST_LIMIT
    ) -> None:
        self._grounding = ground(world, targets.grounded)
        self._goal = wanted(self._grounding, goal.subgoals if isinstance(goal, Goal) else (goal,))
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
        # A goal that wants one thing in two places needs no search (spec 5.2(5)).
        if any((group & goal.facts).bit_count() > 1 for group in grounding.exclusive):
            return None
        operators = needed_operators(grounding, start, goal)
        return _a_star(grounding, operators, start, goal, self._symmetry, self._limit)


def _a_star(
    grounding: Grounding,
    operators: Sequence[Operator],
    start: Facts,
    goal: Target,
    symmetry: Symmetry,
    limit: int,
) -> tuple[Action, ...] | None:
    """Search by A* over states up to the exchange of like things; a state is opened anew on a shorter way.

    A state waits in the queue with the bound that follows from its predecessor's, and its own is worked out
    only when its turn comes.
    """
    bound, standing = LowerBound(grounding, operators, goal), grounding.exclusive[-1]
    # Operators by where the human stands.
    at = defaultdict[Facts, list[Operator]](list)
    for operator in operators:
        at[operator.needs & standing].append(operator)
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
        if expanded == limit:
            raise SearchLimitError(
                f"No plan among the first {limit} states; raise the limit, or take estimated costs for a "
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
                came[after] = (facts, operator)
                heappush(queue, (length + rest, rest, next(ages), after))
    return None


def _trace(came: dict[Facts, tuple[Facts, Operator] | None], facts: Facts) -> tuple[Action, ...]:
    actions = []
    while (step := came[facts]) is not None:
        facts, operator = step
        actions.append(operator.action)
    return tuple(reversed(actions))


# ---- What a search need not look at: operators that lead nowhere, and states that only exchange like things
#
# `needed_operators` keeps a shortest plan; `Symmetry` keeps the length of every plan.


# How a goal reads when the order of its parts does not matter.
_Form = tuple[Facts, frozenset[frozenset["_Form"]]]


def needed_operators(grounding: Grounding, start: Facts, goal: Target) -> tuple[Operator, ...]:
    """Return operators among which there is a shortest plan, if there is a plan.

    A free hand is not worth picking something up: whoever picks up a thing of no use and lays it elsewhere
    has a shorter plan without these two actions. So only what is held at first is laid down for the hand's
    sake. Nor is an operator needed if another needs less, deletes less and adds all of it that is of use.
    """
    atoms = grounding.atoms
    held = start & sum(bit for atom, bit in atoms.items() if atom[0] == "holding")
    hand, reachable = atoms[("hand-empty",)], RelaxedGraph(grounding.operators).reachable(start)
    possible = [operator for operator in grounding.operators if operator.needs & reachable == operator.needs]
    of_use = goal.mentioned()
    chosen: set[int] = set()
    grown = True
    while grown:
        grown = False
        for number, operator in enumerate(possible):
            worth = operator.adds & of_use or (operator.adds & hand and operator.needs & held)
            if number in chosen or not worth:
                continue
            if _is_outdone(operator, possible, of_use | hand):
                continue
            chosen.add(number)
            of_use |= operator.needs & ~hand
            grown = True
    return tuple(possible[number] for number in sorted(chosen))


class Symmetry:
    """States that differ only in which of several like things is where count as one.

    Like are things of one type, receptacles apart, whose exchange leaves the goal as it is.
    """

    def __init__(self, grounding: Grounding, goal: Target) -> None:
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
            own = [facts >> first & mask for first in firsts]
            in_order = sorted(own)
            if own != in_order:
                for first, was, becomes in zip(firsts, own, in_order, strict=True):
                    facts ^= (was ^ becomes) << first
        return facts


def _is_outdone(operator: Operator, by: Iterable[Operator], of_use: Facts) -> bool:
    """Return True if another operator does as well; tried only if some of what it adds is of no use."""
    if not operator.adds & ~of_use:
        return False
    useful = operator.adds & of_use
    return any(
        other.needs & operator.needs == other.needs
        and useful & other.adds == useful
        and not other.deletes & ~operator.deletes & of_use
        and other.needs != operator.needs
        for other in by
    )


def _blocks(grounding: Grounding) -> dict[int, tuple[int, Facts]]:
    """Return where the facts of each movable thing begin, and as many ones as it has."""
    firsts: dict[int, tuple[int, Facts]] = {}
    movable = grounding.relevant & grounding.world.of("movable")
    own: dict[int, list[int]] = {entity: [] for entity in entities(movable)}
    for atom, bit in grounding.atoms.items():
        if len(atom) > 1 and isinstance(atom[1], int) and atom[1] in own:
            own[atom[1]].append(bit.bit_length() - 1)
    for entity, numbers in own.items():
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        firsts[entity] = (numbers[0], (1 << len(numbers)) - 1)
    return firsts


def _form(goal: Target, mask: Facts = 0, first: int = 0, second: int = 0) -> _Form:
    """Return the goal without order, the facts of two things exchanged."""
    facts = goal.facts
    difference = (facts >> first ^ facts >> second) & mask
    facts ^= difference << first | difference << second
    return facts, frozenset(
        frozenset(_form(member, mask, first, second) for member in choice) for choice in goal.choices
    )
