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

Moves are bounded by trips. Nobody carries two things. So each thing that must come to a place is an arrival
there with that thing in the hand, and each that must leave a place is a departure; one leaves a place only
as often as one has come there, counting the start. A place takes at least as many arrivals as the larger of
the two.

A thing may also ride in a box (any receptacle that can be carried). That saves it at most as many moves as it
costs actions that are counted nowhere else, so the bound stands:

- A thing that neither lies in a box nor must come into one is laid into the box and taken out of it again:
  two actions for an arrival and a departure.
- For a thing that lies in a box, or must come into one, the box is picked up and put down. That pays for one
  thing, so each box stands for one at most; and for none if it is held, or must itself be carried.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Final, NamedTuple

from simulator.handmethat.planner.grounding import Facts, Grounding, Operator, bits
from simulator.handmethat.planner.relaxed import UNREACHABLE, Target
from simulator.handmethat.world import BitSet, bit_set, entities


class _Thing(NamedTuple):
    """The facts of a movable thing.

    Attributes:
        containers: that it lies in or on a container -> the container.
    """

    held: Facts
    containers: Mapping[Facts, int]
    anywhere: Facts


class Trip(NamedTuple):
    """That a thing must leave `here` and come to each of `there` (facts of standing somewhere)."""

    thing: int
    here: Facts
    there: frozenset[Facts]


class Trips:
    """The bound for some operators of a grounding."""

    def __init__(self, grounding: Grounding, operators: Sequence[Operator]) -> None:
        world, atoms = grounding.world, grounding.atoms
        movable = grounding.relevant & world.of("movable")
        self._standing = grounding.exclusive[-1]
        self._at = {int(atom[1]): bit for atom, bit in atoms.items() if atom[0] == "at"}
        self._things = {entity: _thing(grounding, entity) for entity in entities(movable)}
        touched = 0
        for operator in operators:
            touched |= operator.needs | operator.adds
        carried = (entity for entity, thing in self._things.items() if thing.held & touched)
        self._boxes = bit_set(carried) & world.of("receptacle")

    def count(self, facts: Facts, marks: Facts, more: Iterable[Trip] = ()) -> int:
        """Return the least number of moves that make `marks` true, facts that do not hold in `facts`.

        Args:
            facts: the facts that hold now.
            marks: facts that must all hold at some time.
            more: trips of things that none of `marks` is about.
        """
        standing = facts & self._standing
        arrivals = dict.fromkeys(bits(marks & self._standing), 1)
        brought: dict[Facts, int] = {}
        left: dict[Facts, int] = {}
        for trip in (*self.of(facts, marks), *more):
            if trip.here:
                left[trip.here] = left.get(trip.here, 0) + 1
            for place in trip.there:
                brought[place] = brought.get(place, 0) + 1
        for place, times in left.items():
            arrivals[place] = max(arrivals.get(place, 0), times - (place == standing))
        for place, times in brought.items():
            arrivals[place] = max(arrivals.get(place, 0), times)
        return sum(arrivals.values())

    def of(self, facts: Facts, marks: Facts) -> list[Trip]:
        """Return the trips that count if `marks` must hold at some time."""
        trips = []
        moved = bit_set(
            box
            for box in entities(self._boxes)
            if (self._things[box].held | self._things[box].anywhere) & marks or self._things[box].held & facts
        )
        for entity, thing in self._things.items():
            if not thing.anywhere & marks:
                continue
            into = [thing.containers[fact] for fact in bits(thing.anywhere & marks)]
            lies = thing.containers.get(facts & thing.anywhere, -1)
            boxes = bit_set(box for box in (*into, lies) if box >= 0) & self._boxes
            here = self._standing_fact(facts, entity)
            there = frozenset(self._spot(facts, container) for container in into) - {here, 0}
            if not here or not there or (boxes and (boxes & moved or len(into) > 1)):
                continue
            moved |= boxes
            trips.append(Trip(entity, here, there))
        return trips

    def _standing_fact(self, facts: Facts, entity: int) -> Facts:
        """Return the fact of standing where a thing is; 0 if that is nowhere one can go."""
        thing = self._things[entity]
        if facts & thing.held:
            return facts & self._standing
        lies = facts & thing.anywhere
        return self._spot(facts, thing.containers[lies]) if lies else 0

    def _spot(self, facts: Facts, container: int) -> Facts:
        return self._at[container] if container in self._at else self._standing_fact(facts, container)


def _thing(grounding: Grounding, entity: int) -> _Thing:
    containers = {bit: int(atom[2]) for atom, bit in grounding.atoms.items() if atom[:2] == ("in", entity)}
    return _Thing(grounding.atoms[("holding", entity)], containers, sum(containers))


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

    def __init__(self, grounding: Grounding, operators: Sequence[Operator], goal: Target) -> None:
        self._steps = [
            _Step(tuple(entities(operator.needs)), tuple(entities(operator.adds))) for operator in operators
        ]
        self._size = len(grounding.atoms)
        self._goal = goal
        self._alternatives = _alternatives(goal)
        self._standing = grounding.exclusive[-1]
        # The operators that need a fact, and those that add it, by its number.
        self._users: list[list[int]] = [[] for _ in range(self._size)]
        self._adders: list[BitSet] = [0] * self._size
        for number, step in enumerate(self._steps):
            for fact in step.needs:
                self._users[fact].append(number)
            for fact in step.adds:
                self._adders[fact] |= 1 << number
        # Facts with several adders: in which ways they come about.
        self._ways = {
            bit: [self._steps[number].needs for number in entities(self._adders[bit.bit_length() - 1])]
            for bit in bits((1 << self._size) - 1 & ~self._standing)
        }
        self._trips = Trips(grounding, operators)
        self._known: dict[Facts, int] = {}

    def of(self, facts: Facts) -> int:
        """Return at most the number of actions from `facts` to the goal; `UNREACHABLE` if there is no way."""
        if (known := self._known.get(facts)) is None:
            known = self._known[facts] = self._bound(facts)
        return known

    def _bound(self, facts: Facts) -> int:
        marks = self._marks(facts)
        if self._alternatives is not None:
            each = (_joint_landmarks(marks, alternative) for alternative in self._alternatives)
            counts = (self._count(facts, marks, marked) for marked in each if marked is not None)
            return min(counts, default=UNREACHABLE)
        common, choices = _joint_landmarks(marks, self._goal.facts), list[list[Facts]]()
        for choice in self._goal.choices:
            members = [
                marked
                for marked in (_common_landmarks(marks, member) for member in choice)
                if marked is not None
            ]
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
        """Return the least number of operators that make all of `common` true, and one of each choice."""
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
        """Return how many operators that are not `used` it takes to make `marks` true; and all used then."""
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
        """Yield what each way takes, of each landmark that comes about in several ways."""
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
            if len(members) > 1 and not any(member & ~common == 0 for member in members):
                yield sorted(members)

    def _more_trips(self, facts: Facts, common: Facts, choices: Iterable[Sequence[Facts]]) -> list[Trip]:
        """Trips that a choice takes whichever member is chosen, if no other is about the same things."""
        more: list[Trip] = []
        taken = {trip.thing for trip in self._trips.of(facts, common)}
        for members in choices:
            trips = [self._trips.of(facts, member & ~common) for member in members]
            things = {trip.thing for group in trips for trip in group}
            if taken & things or any(len(group) != 1 for group in trips):
                continue
            taken |= things
            each = [group[0] for group in trips]
            here = {trip.here for trip in each}
            there = frozenset.intersection(*(trip.there for trip in each))
            more.append(Trip(-1, here.pop() if len(here) == 1 else 0, there))
        return more


def _alternatives(goal: Target) -> list[Facts] | None:
    """Return sets of facts of which the goal is the disjunction; None if there are too many."""
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


def _joint_landmarks(marks: _Marks, facts: Facts) -> Facts | None:
    """Return the landmarks of all facts; None if one cannot be reached."""
    together = 0
    for number in entities(facts):
        own = marks[number]
        if own is None:
            return None
        together |= own
    return together


def _common_landmarks(marks: _Marks, goal: Target) -> Facts | None:
    """Return the landmarks of a goal: of a disjunction those that all its members share."""
    together = _joint_landmarks(marks, goal.facts)
    for choice in goal.choices:
        members = [
            marked for marked in (_common_landmarks(marks, member) for member in choice) if marked is not None
        ]
        if together is None or not members:
            return None
        together |= reduce(and_, members)
    return together
