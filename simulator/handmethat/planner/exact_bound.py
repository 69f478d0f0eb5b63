"""A lower bound of how many actions are left, for the search for shortest plans.

It counts landmarks: facts that every plan makes true at some time, even when nothing is ever deleted. Each
must be added by some operator; where two have no adding operator in common, that takes two operators. The
landmarks of a fact are the largest solution of

    marks(f) = {f} and, over all operators that add f, what the marks of all their needs have in common

with marks(f) empty for facts that hold now (Zhu and Givan's propagation). Moves are counted apart (`Trips`).

Where there are several ways, landmarks share little: any of three knives will do. So choices are counted too:
the disjunctions of the goal, and landmarks that operators of different needs add. Whatever is chosen takes at
least as many operators as the cheapest member, of those that no earlier count has used; and after a choice
all operators of all its members are used.

Every term so counts operators that no other term counts, and the sum never exceeds the length of a plan.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from operator import and_
from typing import Final, NamedTuple

from simulator.handmethat.planner.exact_trips import Trip, Trips
from simulator.handmethat.planner.grounding import Facts, Grounding, Operator, bits
from simulator.handmethat.planner.relaxed import UNREACHABLE, Wanted
from simulator.handmethat.world import BitSet, entities

# A goal with more alternatives than this is counted by its choices instead of alternative by alternative.
_MOST_ALTERNATIVES: Final = 16

# By number of a fact its landmarks that do not hold yet; None for a fact that cannot be reached.
_Marks = Sequence[Facts | None]


class _Step(NamedTuple):
    """An operator, by the numbers of its facts."""

    needs: tuple[int, ...]
    adds: tuple[int, ...]


class LowerBound:
    """The bound for one goal over some operators of a grounding."""

    def __init__(self, grounding: Grounding, operators: Sequence[Operator], goal: Wanted) -> None:
        self._steps = [_Step(tuple(entities(one.needs)), tuple(entities(one.adds))) for one in operators]
        self._size = len(grounding.atoms)
        self._goal = goal
        self._alternatives = _alternatives(goal)
        self._standing = grounding.exclusive[-1]
        # The operators that need a fact, by its number.
        self._users: list[list[int]] = [[] for _ in range(self._size)]
        for number, step in enumerate(self._steps):
            for fact in step.needs:
                self._users[fact].append(number)
        self._adders = _adders(self._steps, self._size)
        # Facts with several adders: in which ways they come about.
        self._ways = {
            one: [self._steps[number].needs for number in entities(self._adders[one.bit_length() - 1])]
            for one in bits((1 << self._size) - 1 & ~self._standing)
        }
        self._trips = Trips(grounding, operators)
        self._known: dict[Facts, int] = {}

    def of(self, facts: Facts) -> int:
        """At most the number of actions from `facts` to the goal; `UNREACHABLE` if there is no way."""
        if (known := self._known.get(facts)) is None:
            known = self._known[facts] = self._bound(facts)
        return known

    def _bound(self, facts: Facts) -> int:
        marks = self._marks(facts)
        if self._alternatives is not None:
            each = (_together(marks, wanted) for wanted in self._alternatives)
            counts = (self._count(facts, marks, one) for one in each if one is not None)
            return min(counts, default=UNREACHABLE)
        common, choices = _together(marks, self._goal.facts), list[list[Facts]]()
        for choice in self._goal.choices:
            members = [one for one in (_common(marks, member) for member in choice) if one is not None]
            if common is None or not members:
                return UNREACHABLE
            common |= reduce(and_, members)
            choices.append(members)
        return UNREACHABLE if common is None else self._count(facts, marks, common, choices)

    def _marks(self, facts: Facts) -> _Marks:
        marks: list[Facts | None] = [0 if facts >> i & 1 else None for i in range(self._size)]
        steps, users = self._steps, self._users
        todo = deque(range(len(steps)))
        queued = [True] * len(steps)
        while todo:
            number = todo.popleft()
            queued[number] = False
            needs, adds = steps[number]
            together = 0
            for need in needs:
                own = marks[need]
                if own is None:
                    break
                together |= own
            else:
                for fact in adds:
                    old = marks[fact]
                    new = together | 1 << fact
                    if old is not None:
                        new &= old
                    if new != old:
                        marks[fact] = new
                        for user in users[fact]:
                            if not queued[user]:
                                queued[user] = True
                                todo.append(user)
        return marks

    def _count(
        self, facts: Facts, marks: _Marks, common: Facts, choices: Sequence[Sequence[Facts]] = ()
    ) -> int:
        """How many operators it takes at least to make all of `common` true, and one of each choice."""
        total, used = self._new(common, 0)
        for members in (*choices, *self._splits(marks, common)):
            least, claimed = UNREACHABLE, used
            for member in members:
                more, using = self._new(member & ~common, used)
                least = min(least, more)
                claimed |= using
            if least:
                total, used = total + least, claimed
        return total + self._trips.count(facts, common, self._more_trips(facts, common, choices))

    def _new(self, marks: Facts, used: BitSet) -> tuple[int, BitSet]:
        """How many operators that are not `used` it takes to make `marks` true; and all used then."""
        total = 0
        claimed = used
        for fact in bits(marks & ~self._standing):
            adders = self._adders[fact.bit_length() - 1]
            if not adders & used:
                used |= adders
                total += 1
            claimed |= adders
        return total, claimed

    def _splits(self, marks: _Marks, common: Facts) -> Iterator[list[Facts]]:
        """Of each landmark that comes about in several ways, what each way takes."""
        for fact in bits(common & ~self._standing):
            ways = self._ways[fact]
            if len(ways) < 2:
                continue
            members = set[Facts]()
            for needs in ways:
                together = 0
                for need in needs:
                    own = marks[need]
                    if own is None:
                        break
                    together |= own
                else:
                    # What first makes a fact true does not need it.
                    if not together & fact:
                        members.add(together)
            if len(members) > 1 and not any(one & ~common == 0 for one in members):
                yield sorted(members)

    def _more_trips(self, facts: Facts, common: Facts, choices: Iterable[Sequence[Facts]]) -> list[Trip]:
        """Trips that a choice takes whichever member is chosen, if no other is about the same things."""
        found: list[Trip] = []
        taken = {trip.thing for trip in self._trips.of(facts, common)}
        for members in choices:
            trips = [self._trips.of(facts, member & ~common) for member in members]
            things = {trip.thing for some in trips for trip in some}
            if taken & things or any(len(some) != 1 for some in trips):
                continue
            taken |= things
            each = [some[0] for some in trips]
            here = {trip.here for trip in each}
            there = frozenset.intersection(*(trip.there for trip in each))
            found.append(Trip(-1, here.pop() if len(here) == 1 else 0, there))
        return found


def _adders(steps: Iterable[_Step], size: int) -> list[BitSet]:
    """For each fact the operators that add it."""
    adders = [0] * size
    for number, step in enumerate(steps):
        for fact in step.adds:
            adders[fact] |= 1 << number
    return adders


def _alternatives(goal: Wanted) -> list[Facts] | None:
    """Sets of facts of which the goal is the disjunction; None if there are too many."""
    found = [goal.facts]
    for choice in goal.choices:
        members: list[Facts] = []
        for member in choice:
            inner = _alternatives(member)
            if inner is None:
                return None
            members += inner
        if len(found) * len(members) > _MOST_ALTERNATIVES:
            return None
        found = [one | other for one in found for other in members]
    return found


def _together(marks: _Marks, wanted: Facts) -> Facts | None:
    """The landmarks of all of `wanted`; None if one cannot be reached."""
    together = 0
    for number in entities(wanted):
        own = marks[number]
        if own is None:
            return None
        together |= own
    return together


def _common(marks: _Marks, goal: Wanted) -> Facts | None:
    """The landmarks of a goal: of a disjunction those that all its members share."""
    together = _together(marks, goal.facts)
    for choice in goal.choices:
        members = [one for one in (_common(marks, member) for member in choice) if one is not None]
        if together is None or not members:
            return None
        together |= reduce(and_, members)
    return together
