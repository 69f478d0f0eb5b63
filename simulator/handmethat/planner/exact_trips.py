"""A lower bound of how often the human must move, for the search for shortest plans.

Nobody carries two things. So each thing that must come to a place is an arrival there with that thing in the
hand, and each that must leave a place is a departure; one leaves a place only as often as one has come there,
counting the start. A place takes at least as many arrivals as the larger of the two.

A thing may also ride in a box (any receptacle that can be carried). That saves it at most as many moves as it
costs actions that are counted nowhere else, so the bound stands:

- A thing that neither lies in a box nor must come into one is laid into the box and taken out of it again:
  two actions for an arrival and a departure.
- For a thing that lies in a box, or must come into one, the box is picked up and put down. That pays for one
  thing, so each box stands for one at most; and for none if it is held, or must itself be carried.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from simulator.handmethat.planner.grounding import Facts, Grounding, Operator, bits
from simulator.handmethat.world import bit_set, entities


class _Thing(NamedTuple):
    """The facts of a movable thing.

    Attributes:
        held: that it is held.
        containers: that it lies in or on a container -> the container.
        anywhere: all of these.
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
        self._things = {one: _thing(grounding, one) for one in entities(movable)}
        touched = 0
        for operator in operators:
            touched |= operator.needs | operator.adds
        carried = (one for one, thing in self._things.items() if thing.held & touched)
        self._boxes = bit_set(carried) & world.of("receptacle")

    def count(self, facts: Facts, marks: Facts, more: Iterable[Trip] = ()) -> int:
        """The least number of moves that make `marks` true, facts that do not hold in `facts`.

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
        """The trips that count if `marks` must hold at some time."""
        found = []
        moved = bit_set(
            box
            for box in entities(self._boxes)
            if (self._things[box].held | self._things[box].anywhere) & marks or self._things[box].held & facts
        )
        for one, thing in self._things.items():
            if not thing.anywhere & marks:
                continue
            into = [thing.containers[fact] for fact in bits(thing.anywhere & marks)]
            lies = thing.containers.get(facts & thing.anywhere, -1)
            boxes = bit_set(box for box in (*into, lies) if box >= 0) & self._boxes
            here = self._where(facts, one)
            there = frozenset(self._spot(facts, container) for container in into) - {here, 0}
            if not here or not there or (boxes and (boxes & moved or len(into) > 1)):
                continue
            moved |= boxes
            found.append(Trip(one, here, there))
        return found

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
