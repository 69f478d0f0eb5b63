"""Subgoals prepared for planning, with cached trips that reach them.

The best way to reach a subgoal depends on few facts: where the person is, what is in the hand, which
locations are open or switched on, and the states and containers of the things concerned. These facts form a
case; each case is solved once, and its solution is reused.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from operator import itemgetter
from random import Random
from typing import Any, Final, NamedTuple, TypeVar

from simulator.handmethat.goals.model import Choice, Demand, Option, Subgoal, choices_of
from simulator.handmethat.hierarchy import STATES
from simulator.handmethat.planner.errands import Errands, ErrandStyle, errands_for, run, styles
from simulator.handmethat.planner.walk import NO_LIMIT, NOWHERE, DeadEndError, Walk
from simulator.handmethat.world import NOTHING, BitSet, World, bit_set, entities

T = TypeVar("T")
# States of locations that influence a trip even if the subgoal does not mention them.
_LOCATION_STATES: Final = ("open", "toggled")
# States that are brought about with an appliance, if only to soak a tool.
_BY_APPLIANCE: Final = frozenset({"toggled", "cooked", "frozen", "soaked", "dusty", "stained"})
_BY_CLEANING: Final = frozenset({"dusty", "stained"})


class ReplayableRandom(Random):
    """A fixed sequence of random numbers that can be replayed from any position.

    A result that depends only on a case and these numbers can be cached.

    Attributes:
        drawn: position in the sequence; set it to 0 to start again.
    """

    def __init__(self) -> None:
        super().__init__(0)
        self.drawn = 0
        self._numbers: list[float] = []

    def random(self) -> float:
        """Return the next number."""
        self.drawn += 1
        while len(self._numbers) < self.drawn:
            self._numbers.append(super().random())
        return self._numbers[self.drawn - 1]


# New containers of moved entities; by state, the entities whose state has changed.
Changes = tuple[tuple[tuple[int, int], ...], tuple[tuple[str, BitSet], ...]]


class Trip(NamedTuple):
    """A way to reach one subgoal.

    Attributes:
        steps: number of actions.
        at: location at the end.
        holding: entity in the hand at the end.
        moved: entities that were moved, with their new containers.
        changed: by state, the entities whose state has changed.
        settled: things that lie where the subgoal wants them.
        errands: the errands done.
        style: how they are done.
        fixed: things that were to be left where they are.
    """

    steps: int
    at: int
    holding: int
    moved: tuple[tuple[int, int], ...]
    changed: tuple[tuple[str, BitSet], ...]
    settled: BitSet
    errands: Errands
    style: ErrandStyle
    fixed: BitSet

    def follow(self, walk: Walk) -> None:
        """Take `walk` to the end of the trip."""
        walk.at, walk.holding, place = self.at, self.holding, walk.place
        for entity, container in self.moved:
            place[entity] = container
        for name, bits in self.changed:
            walk.states[name] ^= bits
            if name == "open":
                walk.shut ^= bits


class _OptionTest:
    """The conditions of an option, for a fast test: places, and state bits that must or must not be set."""

    __slots__ = ("option", "placed", "places", "states")

    def __init__(self, option: Option) -> None:
        self.option = option
        self.places = tuple((demand.entity, demand.place) for demand in option if demand.place != NOTHING)
        self.placed = bit_set(entity for entity, _ in self.places)
        states: dict[str, list[BitSet]] = {}
        for demand in option:
            for name, value in demand.states:
                states.setdefault(name, [0, 0])[0 if value else 1] |= 1 << demand.entity
        self.states = tuple((name, on, off) for name, (on, off) in states.items())

    def is_met(self, walk: Walk) -> bool:
        place = walk.place
        for entity, container in self.places:
            if place[entity] != container:
                return False
        for name, on, off in self.states:
            bits = walk.states[name]
            if bits & on != on or bits & off:
                return False
        return True


class Aim:
    """One subgoal in one household."""

    def __init__(self, world: World, subgoal: Subgoal, grounded: BitSet, states: Sequence[str]) -> None:
        self._choices: Sequence[Choice] = choices_of(world, subgoal)
        self._tests = [
            [
                _OptionTest(option)
                for option in choice
                if all(demand.possible or demand.place == NOTHING for demand in option)
            ]
            for choice in self._choices
        ]
        self._only_demands: list[Demand] | None = None
        if all(len(choice) == 1 for choice in self._choices):
            self._only_demands = [demand for choice in self._choices for demand in choice[0]]
        # Choices with one option are tested together.
        forced = [tests[0].option for tests in self._tests if len(tests) == 1]
        self._fixed = _OptionTest(tuple(chain.from_iterable(forced)))
        self._open = [tests for tests in self._tests if len(tests) != 1]
        self._locations = locations = world.find_all("LOCATION")
        concerned = _entities_concerned(world, subgoal, self._choices, grounded)
        self._things, demanded = concerned & ~locations, _entities_of(self._choices) & locations
        things = tuple(entities(self._things))
        self._containers: Any = itemgetter(*things, things[0]) if things else lambda place: ()
        self._simple_containers = frozenset((*entities(self._things | locations), NOWHERE))
        required, everywhere = self._things | demanded, self._things | locations
        self._masks = tuple((name, everywhere if name in _LOCATION_STATES else required) for name in states)
        # (case, errands) -> the shortest trip, or a number of steps below which there is none.
        self._shortest_by_errands: dict[Hashable, Trip | int] = {}
        # (position of the random numbers, case) -> the trip, and the position after it was chosen.
        self._replayed: dict[Hashable, tuple[Trip | None, int]] = {}

    def settled(self, walk: Walk) -> BitSet | None:
        """Return the things that lie where the subgoal wants them; None if the subgoal does not hold."""
        if not self._fixed.is_met(walk):
            return None
        settled = self._fixed.placed
        for tests in self._open:
            for test in tests:
                if test.is_met(walk):
                    settled |= test.placed
                    break
            else:
                return None
        return settled

    def trip(self, walk: Walk, fixed: BitSet, random: Random | None) -> Trip | None:
        """Return the shortest of the promising trips from `walk` to the subgoal; None if there is no trip."""
        case = self.case(walk, fixed)
        if not isinstance(random, ReplayableRandom):
            return self._shortest_trip(walk, case, fixed, random)
        key = random.drawn, case
        replayed = self._replayed.get(key)
        if replayed is None:
            trip = self._shortest_trip(walk, case, fixed, random)
            self._replayed[key] = trip, random.drawn
            return trip
        trip, random.drawn = replayed
        return trip

    def case(self, walk: Walk, fixed: BitSet) -> Hashable:
        """Return the facts of `walk` that influence the trip, as a key (see the module docstring)."""
        place, states, things = walk.place, walk.states, self._things
        containers = self._containers(place)
        if self._simple_containers.issuperset(containers):
            bits = [states[name] & mask for name, mask in self._masks]
            return walk.at, walk.holding, containers, fixed & things, *bits
        # Some thing is in a movable container that the subgoal does not concern.
        carriers = 0
        for container in containers:
            while container != NOWHERE and not (self._locations | things | carriers) >> container & 1:
                carriers |= 1 << container
                container = place[container]
        below = tuple([(entity, place[entity]) for entity in entities(carriers)])
        bits = [states[name] & (mask | carriers) for name, mask in self._masks]
        return walk.at, walk.holding, containers, fixed & (things | carriers), below, *bits

    def _shortest_trip(self, walk: Walk, case: Hashable, fixed: BitSet, random: Random | None) -> Trip | None:
        best, limit = None, NO_LIMIT
        for demands in self._selections(walk, fixed, random):
            errands = errands_for(walk, shuffled(demands, random))
            # Each thing must at least be taken and put down.
            if errands is None or 2 * len(errands.loads) - (walk.holding in errands.loads) >= limit:
                continue
            key = case, errands.key()
            trip = self._shortest_by_errands.get(key, 0)
            if isinstance(trip, int) and trip < limit:
                trip = self._shortest_by_errands[key] = self._shortest(walk, errands, fixed, limit) or limit
            if not isinstance(trip, int) and trip.steps < limit:
                best, limit = trip, trip.steps
        return best

    def _shortest(self, walk: Walk, errands: Errands, fixed: BitSet, limit: int) -> Trip | None:
        """Return the shortest trip for `errands` of fewer than `limit` steps."""
        best: Trip | None = None
        for style in styles(walk, errands, fixed):
            end = walk.fork(limit - 1)
            try:
                run(end, errands, style, fixed)
            except DeadEndError:
                continue
            if end.steps < limit and (settled := self.settled(end)) is not None:
                limit, changes = end.steps, self._changes(walk, end)
                best = Trip(limit, end.at, end.holding, *changes, settled, errands, style, fixed)
        return best

    def _changes(self, start: Walk, end: Walk) -> Changes:
        """Return the changes between the `start` and the `end` of a trip."""
        place, before, after = end.place, start.states, end.states
        moved = {entity: place[entity] for entity in end.put_down}
        if end.holding not in (start.holding, NOTHING):
            moved[end.holding] = NOWHERE
        changed = [
            (name, before[name] ^ after[name]) for name, _ in self._masks if before[name] != after[name]
        ]
        return tuple(moved.items()), tuple(changed)

    def _selections(self, walk: Walk, fixed: BitSet, random: Random | None) -> Iterator[list[Demand]]:
        """Yield promising selections: the demands of one option of each choice."""
        if self._only_demands is not None:
            yield self._only_demands
            return
        settled: list[Demand] = []
        open_choices: list[Choice] = []
        for choice, tests in zip(self._choices, self._tests, strict=True):
            if len(choice) == 1:
                settled += choice[0]
            elif met := next((test for test in tests if test.is_met(walk)), None):
                settled += met.option
            else:
                loose = tuple(option for option in choice if not _moves(walk, option, fixed))
                open_choices.append(loose or choice)
        if not open_choices:
            yield settled
        elif len(open_choices) == 1:
            for option in _one_of_each_cost(walk, shuffled(open_choices[0], random)):
                yield [*settled, *option]
        else:
            # Several things with alternative places: all into one place, or each into the nearest.
            for i in shuffled(range(min(map(len, open_choices))), random):
                yield settled + [demand for choice in open_choices for demand in choice[i]]
                yield settled + [
                    demand for choice in open_choices for demand in _option_in_place(walk, choice, choice[i])
                ]


def aims_for(world: World, subgoals: tuple[Subgoal, ...], grounded: BitSet) -> tuple[Aim, ...]:
    """Return an aim for each subgoal, cached in the household."""
    key = "aims", subgoals, grounded
    if key not in world.memo:
        states = states_that_matter(subgoals)
        world.memo[key] = tuple(Aim(world, subgoal, grounded, states) for subgoal in subgoals)
    aims: tuple[Aim, ...] = world.memo[key]
    return aims


@cache
def states_that_matter(subgoals: tuple[Subgoal, ...]) -> tuple[str, ...]:
    """Return the `STATES` that can influence a plan for the subgoals."""
    demanded = {name for subgoal in subgoals for name, _ in (*subgoal.of_x, *subgoal.of_y)}
    matter = {"open", *demanded}
    if demanded & _BY_APPLIANCE:
        matter.add("toggled")
    if demanded & _BY_CLEANING:
        matter.add("soaked")
    return tuple(name for name in STATES if name in matter)


def shuffled(items: Sequence[T], random: Random | None) -> list[T]:
    """Return the items in a random order, or unchanged without `random`."""
    if random is None:
        return list(items)
    if len(items) == 1:
        # Consume a number, as sorting does: later draws must not depend on this.
        random.random()
        return list(items)
    return sorted(items, key=lambda _: random.random())


def _entities_of(choices: Sequence[Choice]) -> BitSet:
    demands = [demand for choice in choices for option in choice for demand in option]
    return bit_set(
        [demand.entity for demand in demands]
        + [demand.place for demand in demands if demand.place != NOTHING]
    )


def _entities_concerned(
    world: World, subgoal: Subgoal, choices: Sequence[Choice], grounded: BitSet
) -> BitSet:
    concerned = _entities_of(choices)
    states = {name for name, _ in (*subgoal.of_x, *subgoal.of_y)}
    if states & _BY_CLEANING:
        types = {name for entity in entities(concerned) for name in world.kinds[entity].cleaners}
        for name in types:
            concerned |= world.find_all(name) & grounded
    if "sliced" in states:
        concerned |= world.find_all("knife") & grounded
    return concerned


def _moves(walk: Walk, option: Option, fixed: BitSet) -> bool:
    """Return True if `option` moves a thing that should be left where it is."""
    return any(
        fixed >> demand.entity & 1 and demand.place not in (NOTHING, walk.place[demand.entity])
        for demand in option
    )


def _one_of_each_cost(walk: Walk, options: Iterable[Option]) -> list[Option]:
    """Return the first option of each group with equal costs."""
    first: dict[tuple[object, ...], Option] = {}
    for option in options:
        first.setdefault(tuple([_signature(walk, demand) for demand in option]), option)
    return list(first.values())


def _signature(walk: Walk, demand: Demand) -> tuple[object, ...]:
    entity, place, states, _, _ = demand
    destination: tuple[object, ...] = (place,)
    if place != NOTHING and not walk.is_location[place]:
        # Two containers in the same place are interchangeable if both are shut or neither is.
        destination = (walk.place[place], walk.is_shut(place), walk.place[entity] == place)
    held = walk.holding == entity
    return (walk.place[entity], held, *destination, *(walk.states[name] >> entity & 1 for name, _ in states))


def _option_in_place(walk: Walk, choice: Choice, default: Option) -> Option:
    """Return the first option whose things are at the required locations, else `default`."""
    for option in choice:
        if all(
            demand.place == NOTHING or walk.location(demand.place) == walk.location(demand.entity)
            for demand in option
        ):
            return option
    return default
