"""A lower bound on the number of actions left, for the search for shortest plans.

The bound counts landmarks: facts that every plan makes true at some time, even if nothing is ever deleted.
Each must be added by some operator; two landmarks without a common adding operator take two operators. The
landmarks of a fact are the largest solution of

    marks(f) = {f} plus the intersection, over all operators that add f, of the union of marks of their needs

with marks(f) empty for facts that hold now (Zhu and Givan's propagation). Moves are counted by `Trips`.

Alternatives (any of three knives will do) have few common landmarks. So choices are counted too: the
disjunctions of the goal, and landmarks added by operators with different needs. A choice takes at
least as many operators, not used by an earlier term, as its cheapest member; afterwards all operators of
all its members count as used.

Every term thus counts operators that no other term counts, and the sum never exceeds the length of a plan.

Moves are bounded by trips. A person carries one thing at a time. So each thing that must come to a place is
an arrival there, and each thing that must leave a place is a departure; departures from a place do not exceed
arrivals, counting the start. A place takes at least as many arrivals as the larger of the two numbers.

A thing may also ride in a box (any movable receptacle). This saves at most as many moves as it
costs actions that are not counted elsewhere, so the bound is valid:

- A thing that is not in a box and need not come into one is put into the box and taken out again:
  two actions for an arrival and a departure.
- For a thing that is in a box, or must come into one, the box is picked up and put down. This pays for one
  thing, so each box accounts for at most one thing, and for none if it is held or must itself be carried.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Final, NamedTuple

from simulator.handmethat.planner.grounding import Facts, Grounding, Operator, bits
from simulator.handmethat.planner.relaxed import UNREACHABLE, FactGoal
from simulator.handmethat.world import BitSet, bit_set, entities


class _Thing(NamedTuple):
    """The facts of a movable thing: that it is held, fact -> its container, and all of the latter facts."""

    held: Facts
    containers: Mapping[Facts, int]
    anywhere: Facts


class Trip(NamedTuple):
    """A thing that must leave `here` and come to each of `there` (facts about the human's location)."""

    thing: int
    here: Facts
    there: frozenset[Facts]


class Trips:
    """The bound on moves, for some operators of a grounding."""

    def __init__(self, grounding: Grounding, operators: Sequence[Operator]) -> None:
        world, atoms = grounding.world, grounding.atoms
        movable = grounding.relevant & world.find_all("movable")
        self._standing = grounding.exclusive[-1]
        self._at = {int(atom[1]): bit for atom, bit in atoms.items() if atom[0] == "at"}
        self._things = {entity: _thing(grounding, entity) for entity in entities(movable)}
        touched = 0
        for operator in operators:
            touched |= operator.needs | operator.adds
        carried = (entity for entity, thing in self._things.items() if thing.held & touched)
        self._boxes = bit_set(carried) & world.find_all("receptacle")

    def count(self, facts: Facts, marks: Facts, more: Iterable[Trip] = ()) -> int:
        """Return a lower bound on the moves that make all of `marks` true at some time; none holds now.

        `facts`: the facts that hold now. `more`: trips of things that `marks` does not concern.
        """
        standing = facts & self._standing
        arrivals = dict.fromkeys(bits(marks & self._standing), 1)
        deliveries: dict[Facts, int] = {}
        departures: dict[Facts, int] = {}
        for trip in (*self.required(facts, marks), *more):
            if trip.here:
                departures[trip.here] = departures.get(trip.here, 0) + 1
            for place in trip.there:
                deliveries[place] = deliveries.get(place, 0) + 1
        for place, times in departures.items():
            arrivals[place] = max(arrivals.get(place, 0), times - (place == standing))
        for place, times in deliveries.items():
            arrivals[place] = max(arrivals.get(place, 0), times)
        return sum(arrivals.values())

    def required(self, facts: Facts, marks: Facts) -> list[Trip]:
        """Return the trips that are counted if `marks` must hold at some time."""
        trips = []
        moved = bit_set(
            box
            for box in entities(self._boxes)
            if (self._things[box].held | self._things[box].anywhere) & marks or self._things[box].held & facts
        )
        for entity, thing in self._things.items():
            if not thing.anywhere & marks:
                continue
            goals = [thing.containers[fact] for fact in bits(thing.anywhere & marks)]
            current = thing.containers.get(facts & thing.anywhere, -1)
            boxes = bit_set(box for box in (*goals, current) if box >= 0) & self._boxes
            here = self._standing_fact(facts, entity)
            there = frozenset(self._spot(facts, container) for container in goals) - {here, 0}
            if not here or not there or (boxes and (boxes & moved or len(goals) > 1)):
                continue
            moved |= boxes
            trips.append(Trip(entity, here, there))
        return trips

    def _standing_fact(self, facts: Facts, entity: int) -> Facts:
        """Return the fact that the human is at a thing's location; 0 if it has no reachable location."""
        thing = self._things[entity]
        if facts & thing.held:
            return facts & self._standing
        place = facts & thing.anywhere
        return self._spot(facts, thing.containers[place]) if place else 0

    def _spot(self, facts: Facts, container: int) -> Facts:
        return self._at[container] if container in self._at else self._standing_fact(facts, container)


def _thing(grounding: Grounding, entity: int) -> _Thing:
    containers = {bit: int(atom[2]) for atom, bit in grounding.atoms.items() if atom[:2] == ("in", entity)}
    return _Thing(grounding.atoms[("holding", entity)], containers, sum(containers))


# A goal with more alternatives is counted by its choices, not for each alternative.
_MOST_ALTERNATIVES: Final = 16

# The landmarks of each fact that do not hold yet; None for a fact that cannot be reached.
_Marks = Sequence[Facts | None]


class _Step(NamedTuple):
    """An operator, with facts given by their numbers."""

    needs: tuple[int, ...]
    adds: tuple[int, ...]


class LowerBound:
    """The bound for one goal over some operators of a grounding."""

    def __init__(self, grounding: Grounding, operators: Sequence[Operator], goal: FactGoal) -> None:
        self._steps = [
            _Step(tuple(entities(operator.needs)), tuple(entities(operator.adds))) for operator in operators
        ]
        self._size = len(grounding.atoms)
        self._goal = goal
        self._alternatives = _alternatives(goal)
        self._standing = grounding.exclusive[-1]
        # Operators that need each fact, and operators that add it.
        self._users: list[list[int]] = [[] for _ in range(self._size)]
        self._adders: list[BitSet] = [0] * self._size
        for number, step in enumerate(self._steps):
            for fact in step.needs:
                self._users[fact].append(number)
            for fact in step.adds:
                self._adders[fact] |= 1 << number
        # Fact -> the needs of each operator that adds it.
        self._ways = {
            bit: [self._steps[number].needs for number in entities(self._adders[bit.bit_length() - 1])]
            for bit in bits((1 << self._size) - 1 & ~self._standing)
        }
        self._trips = Trips(grounding, operators)
        self._cache: dict[Facts, int] = {}

    def value(self, facts: Facts) -> int:
        """Return a lower bound on the actions from `facts` to the goal; `UNREACHABLE` if there is no plan."""
        if (bound := self._cache.get(facts)) is None:
            bound = self._cache[facts] = self._bound(facts)
        return bound

    def _bound(self, facts: Facts) -> int:
        marks = self._marks(facts)
        if self._alternatives is not None:
            joint = (_joint_landmarks(marks, entities(alternative)) for alternative in self._alternatives)
            counts = (self._count(facts, marks, landmarks) for landmarks in joint if landmarks is not None)
            return min(counts, default=UNREACHABLE)
        common, choices = _joint_landmarks(marks, entities(self._goal.facts)), list[list[Facts]]()
        for choice in self._goal.choices:
            members = _landmarks_of_members(marks, choice)
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
            union = 0
            for need in needs:
                landmarks = marks[need]
                if landmarks is None:
                    break
                union |= landmarks
            else:
                for fact in adds:
                    old = marks[fact]
                    new = union | 1 << fact
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
        """Return a lower bound on the operators for all of `common` and one member of each choice."""
        total, used = self._new_operators(common, 0)
        for members in (*choices, *self._splits(marks, common)):
            least, claimed = UNREACHABLE, used
            for member in members:
                more, using = self._new_operators(member & ~common, used)
                least = min(least, more)
                claimed |= using
            if least:
                total, used = total + least, claimed
        return total + self._trips.count(facts, common, self._more_trips(facts, common, choices))

    def _new_operators(self, marks: Facts, used: BitSet) -> tuple[int, BitSet]:
        """Return how many operators outside `used` it takes to make `marks` true, and all used afterwards."""
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
        """Yield, for each landmark that can be added in several ways, the landmarks of each way."""
        for fact in bits(common & ~self._standing):
            ways = self._ways[fact]
            if len(ways) < 2:
                continue
            members = set[Facts]()
            for needs in ways:
                union = _joint_landmarks(marks, needs)
                # The operator that first makes a fact true cannot need it.
                if union is not None and not union & fact:
                    members.add(union)
            if len(members) > 1 and not any(member & ~common == 0 for member in members):
                yield sorted(members)

    def _more_trips(self, facts: Facts, common: Facts, choices: Iterable[Sequence[Facts]]) -> list[Trip]:
        """Return trips that every member of a choice requires, if no other trip concerns the same things."""
        more: list[Trip] = []
        taken = {trip.thing for trip in self._trips.required(facts, common)}
        for members in choices:
            trips = [self._trips.required(facts, member & ~common) for member in members]
            things = {trip.thing for group in trips for trip in group}
            if taken & things or any(len(group) != 1 for group in trips):
                continue
            taken |= things
            single_trips = [group[0] for group in trips]
            here = {trip.here for trip in single_trips}
            there = frozenset.intersection(*(trip.there for trip in single_trips))
            more.append(Trip(-1, here.pop() if len(here) == 1 else 0, there))
        return more


def _alternatives(goal: FactGoal) -> list[Facts] | None:
    """Return the goal as a disjunction of sets of facts; None if there are too many."""
    facts = [goal.facts]
    for choice in goal.choices:
        members: list[Facts] = []
        for member in choice:
            inner = _alternatives(member)
            if inner is None:
                return None
            members += inner
        if len(facts) * len(members) > _MOST_ALTERNATIVES:
            return None
        facts = [fact | other for fact in facts for other in members]
    return facts


def _joint_landmarks(marks: _Marks, numbers: Iterable[int]) -> Facts | None:
    """Return the union of the landmarks of facts, given by their numbers; None if one cannot be reached."""
    union = 0
    for number in numbers:
        landmarks = marks[number]
        if landmarks is None:
            return None
        union |= landmarks
    return union


def _common_landmarks(marks: _Marks, goal: FactGoal) -> Facts | None:
    """Return the landmarks of a goal; a disjunction contributes those that all its members share."""
    union = _joint_landmarks(marks, entities(goal.facts))
    for choice in goal.choices:
        members = _landmarks_of_members(marks, choice)
        if union is None or not members:
            return None
        union |= reduce(and_, members)
    return union


def _landmarks_of_members(marks: _Marks, choice: Iterable[FactGoal]) -> list[Facts]:
    """Return the landmarks of each member of a disjunction that can be reached."""
    landmarks = (_common_landmarks(marks, member) for member in choice)
    return [facts for facts in landmarks if facts is not None]
