"""A lower bound of how many actions are left, for the search for shortest plans.

It counts landmarks: facts that every plan makes true at some time, even when nothing is ever deleted. Each
must be added by some operator; where two have no adding operator in common, that takes two operators. The
landmarks of a fact are found as the largest solution of

    marks(f) = {f} and, over all operators that add f, what the marks of all their needs have in common

with marks(f) empty for facts that hold now (Zhu and Givan's propagation).

Moves are counted apart, by the places at which the human must arrive. As nobody carries two things, each
thing that must be brought to a place is an arrival there; each that must leave a place is a departure, and
one leaves a place only as often as one has come there, counting the start. So a place takes at least as many
arrivals as the larger of the two. That fails for things that may travel inside others; for these only
landmarks count.

Every term is a set of actions no two terms share, so the sum never exceeds the length of a plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Final, NamedTuple

from simulator.handmethat.planner.grounding import Facts, Grounding, Operator
from simulator.handmethat.planner.relaxed import UNREACHABLE, Wanted
from simulator.handmethat.world import entities

# A goal with more alternatives than this is bounded by what its alternatives have in common.
_MOST_ALTERNATIVES: Final = 64


class LowerBound:
    """The bound for one goal over some operators of a grounding."""

    def __init__(self, grounding: Grounding, operators: Sequence[Operator], goal: Wanted) -> None:
        self._operators = [
            (_numbers(operator.needs), [(number, 1 << number) for number in _numbers(operator.adds)])
            for operator in operators
        ]
        self._size = len(grounding.atoms)
        self._goal = goal
        self._alternatives = _alternatives(goal)
        self._standing = grounding.exclusive[-1]
        self._adders = _adders(operators, self._size)
        self._trips = _Trips(grounding, operators)
        self._known: dict[Facts, int] = {}

    def of(self, facts: Facts) -> int:
        """At most the number of actions from `facts` to the goal; `UNREACHABLE` if there is no way."""
        if (known := self._known.get(facts)) is None:
            known = self._known[facts] = self._bound(facts)
        return known

    def _bound(self, facts: Facts) -> int:
        marks = self._marks(facts)
        if self._alternatives is None:
            common = _common_marks(marks, self._goal)
            return UNREACHABLE if common is None else self._count(facts, common)
        least = UNREACHABLE
        for wanted in self._alternatives:
            together = _together(marks, wanted)
            if together is not None:
                least = min(least, self._count(facts, together))
        return least

    def _marks(self, facts: Facts) -> list[Facts | None]:
        """The landmarks of each fact by number; None for facts that cannot be reached."""
        marks: list[Facts | None] = [0 if facts >> i & 1 else None for i in range(self._size)]
        operators = self._operators
        changed = True
        while changed:
            changed = False
            for needs, adds in operators:
                together = 0
                for need in needs:
                    own = marks[need]
                    if own is None:
                        break
                    together |= own
                else:
                    for number, bit in adds:
                        old = marks[number]
                        if old == 0:
                            continue
                        new = together | bit if old is None else old & (together | bit)
                        if new != old:
                            marks[number] = new
                            changed = True
        return marks

    def _count(self, facts: Facts, marks: Facts) -> int:
        """How many operators it takes at least to make all of `marks` true."""
        used = total = 0
        rest = marks & ~self._standing
        while rest:
            fact = rest & -rest
            rest ^= fact
            adders = self._adders[fact.bit_length() - 1]
            if not adders & used:
                used |= adders
                total += 1
        return total + self._trips.count(facts, marks)


class _Thing(NamedTuple):
    """The facts of a movable thing: that it is held, and that it lies in or on a container."""

    held: Facts
    containers: Mapping[Facts, int]
    anywhere: Facts


class _Trips:
    """How many moves it takes at least (see the head of this file)."""

    def __init__(self, grounding: Grounding, operators: Sequence[Operator]) -> None:
        world, atoms = grounding.world, grounding.atoms
        self._standing = grounding.exclusive[-1]
        self._at = {atom[1]: bit for atom, bit in atoms.items() if atom[0] == "at"}
        self._things = {
            one: _thing(grounding, one) for one in entities(grounding.relevant & world.of("movable"))
        }
        needed = added = 0
        for operator in operators:
            needed |= operator.needs
            added |= operator.adds
        carried = {one for one, thing in self._things.items() if thing.held & (needed | added)}
        boxes = {one for one in carried if world.kinds[one].receptacle}
        self._in_boxes = sum(bit for atom, bit in atoms.items() if atom[0] == "in" and atom[2] in boxes)
        boxable = added & self._in_boxes
        self._by_hand = [one for one, thing in self._things.items() if not thing.anywhere & boxable]

    def count(self, facts: Facts, marks: Facts) -> int:
        """The least number of moves that make the landmarks `marks` true."""
        standing = facts & self._standing
        arrivals: dict[Facts, int] = dict.fromkeys(_bits(marks & self._standing & ~facts), 1)
        brought: dict[Facts, int] = {}
        departures: dict[Facts, int] = {}
        for one in self._by_hand:
            thing = self._things[one]
            if not marks & thing.anywhere or facts & thing.anywhere & self._in_boxes:
                continue
            here = self._where(facts, one)
            there = {self._spot(facts, thing.containers[fact]) for fact in _bits(marks & thing.anywhere)}
            there -= {here, 0}
            if here and there:
                departures[here] = departures.get(here, 0) + 1
                for place in there:
                    brought[place] = brought.get(place, 0) + 1
        for place, times in departures.items():
            arrivals[place] = max(arrivals.get(place, 0), times - (place == standing))
        for place, times in brought.items():
            arrivals[place] = max(arrivals.get(place, 0), times)
        return sum(arrivals.values())

    def _where(self, facts: Facts, one: int) -> Facts:
        """The fact of standing where a thing is; 0 if that is nowhere one can go."""
        thing = self._things[one]
        if facts & thing.held:
            return facts & self._standing
        lies = facts & thing.anywhere
        return self._spot(facts, thing.containers[lies]) if lies else 0

    def _spot(self, facts: Facts, container: int) -> Facts:
        return self._at[container] if container in self._at else self._where(facts, container)


def _thing(grounding: Grounding, one: int) -> _Thing:
    containers = {bit: int(atom[2]) for atom, bit in grounding.atoms.items() if atom[:2] == ("in", one)}
    return _Thing(grounding.atoms[("holding", one)], containers, sum(containers))


def _bits(facts: Facts) -> Iterator[Facts]:
    while facts:
        fact = facts & -facts
        yield fact
        facts ^= fact


def _numbers(facts: Facts) -> tuple[int, ...]:
    return tuple(fact.bit_length() - 1 for fact in _bits(facts))


def _adders(operators: Sequence[Operator], size: int) -> list[int]:
    """For each fact the bit set of the operators that add it."""
    adders = [0] * size
    for number, operator in enumerate(operators):
        for fact in _numbers(operator.adds):
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


def _together(marks: Sequence[Facts | None], wanted: Facts) -> Facts | None:
    """The landmarks of all of `wanted`; None if one cannot be reached."""
    together = 0
    for number in _numbers(wanted):
        own = marks[number]
        if own is None:
            return None
        together |= own
    return together


def _common_marks(marks: Sequence[Facts | None], goal: Wanted) -> Facts | None:
    """The landmarks of a goal: of a disjunction those that all its members share."""
    together = _together(marks, goal.facts)
    for choice in goal.choices:
        members = [_common_marks(marks, member) for member in choice]
        possible = [member for member in members if member is not None]
        if together is None or not possible:
            return None
        together |= reduce(and_, possible)
    return together
