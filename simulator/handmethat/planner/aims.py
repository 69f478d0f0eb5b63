"""A subgoal made ready for planning, with the trips that are known to lead to it.

How a subgoal is best come by depends on few things: where the person stands, what is in the hand, which
locations are open or switched on, and how the things that it is about stand, with what they lie in. What
differs in nothing of that is solved alike, so each such case is walked once and repeated from then on.
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
# What locations are, apart from what is demanded of them, that makes a difference to a way.
_OF_LOCATIONS: Final = ("open", "toggled")
# States that are brought about by switching an appliance on, maybe only to soak a tool.
_BY_APPLIANCE: Final = frozenset({"toggled", "cooked", "frozen", "soaked", "dusty", "stained"})
_BY_CLEANING: Final = frozenset({"dusty", "stained"})


class Rewound(Random):
    """The same random numbers, to be drawn from the first on as often as one likes.

    What depends on nothing but a case and these numbers is planned once.

    Attributes:
        drawn: how many were drawn since the beginning; set it to 0 to begin again.
    """

    def __init__(self) -> None:
        super().__init__(0)
        self.drawn = 0
        self._numbers: list[float] = []

    def random(self) -> float:
        """Draw the next number."""
        self.drawn += 1
        while len(self._numbers) < self.drawn:
            self._numbers.append(super().random())
        return self._numbers[self.drawn - 1]


# What lies elsewhere, and where; by state, the entities of which it is otherwise.
Changes = tuple[tuple[tuple[int, int], ...], tuple[tuple[str, BitSet], ...]]


class Trip(NamedTuple):
    """The way to one subgoal, without what it has nothing to do with.

    Attributes:
        steps: how many actions it takes.
        at: where it ends.
        holding: what is in the hand then.
        moved: what lies elsewhere then, and where.
        changed: by state, the entities of which it has changed.
        settled: the things that lie where the subgoal wants them.
        errands: what is done, and
        style: in which manner, and
        fixed: what is left where it is.
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


class _Test:
    """The facts that options need to be met; `places` and `states` may be empty.

    Attributes:
        places: entities and what each must lie in.
        states: names, bits that must be set, bits that must not.
        placed: bit set of the entities that it wants somewhere.
    """

    __slots__ = ("option", "placed", "places", "states")

    def __init__(self, option: Option) -> None:
        self.option = option
        self.places = tuple((test.entity, test.place) for test in option if test.place != NOTHING)
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
                _Test(option)
                for option in choice
                if all(demand.possible or demand.place == NOTHING for demand in option)
            ]
            for choice in self._choices
        ]
        self._plain: list[Demand] | None = None
        if all(len(choice) == 1 for choice in self._choices):
            self._plain = [demand for choice in self._choices for demand in choice[0]]
        # What leaves no choice is tested at once.
        forced = [tests[0].option for tests in self._tests if len(tests) == 1]
        self._fixed = _Test(tuple(chain.from_iterable(forced)))
        self._open = [tests for tests in self._tests if len(tests) != 1]
        self._locations = locations = world.of("LOCATION")
        about = _entities_concerned(world, subgoal, self._choices, grounded)
        self._about, demanded = about & ~locations, _entities_of(self._choices) & locations
        things = tuple(entities(self._about))
        self._places: Any = itemgetter(*things, things[0]) if things else lambda place: ()
        self._at_rest = frozenset((*entities(self._about | locations), NOWHERE))
        own, shared = self._about | demanded, self._about | locations
        self._masks = tuple((name, shared if name in _OF_LOCATIONS else own) for name in states)
        # By case and errands: the shortest trip, or a number of steps below which there is none.
        self._known: dict[Hashable, Trip | int] = {}
        # By case and numbers drawn before: the trip taken, and the numbers drawn then.
        self._solved: dict[Hashable, tuple[Trip | None, int]] = {}

    def settled(self, walk: Walk) -> BitSet | None:
        """Return the things that lie where the subgoal wants them; None if it is not met."""
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
        """Return the shortest of the promising trips on from `walk`; None if none leads there."""
        case = self.case(walk, fixed)
        if not isinstance(random, Rewound):
            return self._shortest_trip(walk, case, fixed, random)
        key = random.drawn, case
        solved = self._solved.get(key)
        if solved is None:
            trip = self._shortest_trip(walk, case, fixed, random)
            self._solved[key] = trip, random.drawn
            return trip
        trip, random.drawn = solved
        return trip

    def case(self, walk: Walk, fixed: BitSet) -> Hashable:
        """Return all that matters of where `walk` is by now."""
        place, states, about = walk.place, walk.states, self._about
        where = self._places(place)
        if self._at_rest.issuperset(where):
            bits = [states[name] & mask for name, mask in self._masks]
            return walk.at, walk.holding, where, fixed & about, *bits
        carriers = 0
        for container in where:
            while container != NOWHERE and not (self._locations | about | carriers) >> container & 1:
                carriers |= 1 << container
                container = place[container]
        below = tuple([(entity, place[entity]) for entity in entities(carriers)])
        bits = [states[name] & (mask | carriers) for name, mask in self._masks]
        return walk.at, walk.holding, where, fixed & (about | carriers), below, *bits

    def _shortest_trip(self, walk: Walk, case: Hashable, fixed: BitSet, random: Random | None) -> Trip | None:
        best, limit = None, NO_LIMIT
        for demands in self._selections(walk, fixed, random):
            errands = errands_for(walk, shuffled(demands, random))
            # Each thing is at least taken and laid.
            if errands is None or 2 * len(errands.loads) - (walk.holding in errands.loads) >= limit:
                continue
            key = case, errands.key()
            known = self._known.get(key, 0)
            if isinstance(known, int) and known < limit:
                known = self._known[key] = self._shortest(walk, errands, fixed, limit) or limit
            if not isinstance(known, int) and known.steps < limit:
                best, limit = known, known.steps
        return best

    def _shortest(self, walk: Walk, errands: Errands, fixed: BitSet, limit: int) -> Trip | None:
        """Return the shortest of the trips on `errands` that take less than `limit` steps."""
        best: Trip | None = None
        for style in styles(walk, errands, fixed):
            there = walk.fork(limit - 1)
            try:
                run(there, errands, style, fixed)
            except DeadEndError:
                continue
            if there.steps < limit and (settled := self.settled(there)) is not None:
                limit, changes = there.steps, self._changes(walk, there)
                best = Trip(limit, there.at, there.holding, *changes, settled, errands, style, fixed)
        return best

    def _changes(self, start: Walk, end: Walk) -> Changes:
        """Return what is otherwise at the `end` of a trip than at its `start`."""
        place, before, after = end.place, start.states, end.states
        moved = {entity: place[entity] for entity in end.laid}
        if end.holding not in (start.holding, NOTHING):
            moved[end.holding] = NOWHERE
        changed = [
            (name, before[name] ^ after[name]) for name, _ in self._masks if before[name] != after[name]
        ]
        return tuple(moved.items()), tuple(changed)

    def _selections(self, walk: Walk, fixed: BitSet, random: Random | None) -> Iterator[list[Demand]]:
        """Yield the options that may be worth taking, one of each choice."""
        if self._plain is not None:
            yield self._plain
            return
        plain: list[Demand] = []
        open_choices: list[Choice] = []
        for choice, tests in zip(self._choices, self._tests, strict=True):
            if len(choice) == 1:
                plain += choice[0]
            elif met := next((test for test in tests if test.is_met(walk)), None):
                plain += met.option
            else:
                loose = tuple(option for option in choice if not _moves(walk, option, fixed))
                open_choices.append(loose or choice)
        if not open_choices:
            yield plain
        elif len(open_choices) == 1:
            for option in _one_of_each_cost(walk, shuffled(open_choices[0], random)):
                yield [*plain, *option]
        else:
            # Many things, and places of a kind for them: all into one place, or each into the nearest.
            for i in shuffled(range(min(map(len, open_choices))), random):
                yield plain + [demand for choice in open_choices for demand in choice[i]]
                yield plain + [
                    demand for choice in open_choices for demand in _option_in_place(walk, choice, choice[i])
                ]


def aims_for(world: World, subgoals: tuple[Subgoal, ...], grounded: BitSet) -> tuple[Aim, ...]:
    """Return an aim for each subgoal; the same ones again for the same household."""
    key = "aims", subgoals, grounded
    if key not in world.worked_out:
        states = states_that_matter(subgoals)
        world.worked_out[key] = tuple(Aim(world, subgoal, grounded, states) for subgoal in subgoals)
    aims: tuple[Aim, ...] = world.worked_out[key]
    return aims


@cache
def states_that_matter(subgoals: tuple[Subgoal, ...]) -> tuple[str, ...]:
    """Return those of `STATES` on which a way to the subgoals may depend; no other matters to a plan."""
    demanded = {name for subgoal in subgoals for name, _ in (*subgoal.of_x, *subgoal.of_y)}
    matter = {"open", *demanded}
    if demanded & _BY_APPLIANCE:
        matter.add("toggled")
    if demanded & _BY_CLEANING:
        matter.add("soaked")
    return tuple(name for name in STATES if name in matter)


def shuffled(items: Sequence[T], random: Random | None) -> list[T]:
    """Return the items in a random order; as they are if nothing is random."""
    if random is None:
        return list(items)
    if len(items) == 1:
        # Whoever comes next draws the same, however many there are to sort.
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
    about = _entities_of(choices)
    states = {name for name, _ in (*subgoal.of_x, *subgoal.of_y)}
    if states & _BY_CLEANING:
        types = {name for entity in entities(about) for name in world.kinds[entity].cleaners}
        for name in types:
            about |= world.of(name) & grounded
    if "sliced" in states:
        about |= world.of("knife") & grounded
    return about


def _moves(walk: Walk, option: Option, fixed: BitSet) -> bool:
    """Return True if `option` takes something away that is best left where it is."""
    return any(
        fixed >> demand.entity & 1 and demand.place not in (NOTHING, walk.place[demand.entity])
        for demand in option
    )


def _one_of_each_cost(walk: Walk, options: Iterable[Option]) -> list[Option]:
    """Return the first of the options that cost the same."""
    first: dict[tuple[object, ...], Option] = {}
    for option in options:
        first.setdefault(tuple([_signature(walk, demand) for demand in option]), option)
    return list(first.values())


def _signature(walk: Walk, demand: Demand) -> tuple[object, ...]:
    entity, place, states, _, _ = demand
    there: tuple[object, ...] = (place,)
    if place != NOTHING and not walk.is_location[place]:
        # Of two containers that stand side by side the one is as good as the other, if both are shut.
        there = (walk.place[place], walk.is_shut(place), walk.place[entity] == place)
    held = walk.holding == entity
    return (walk.place[entity], held, *there, *(walk.states[name] >> entity & 1 for name, _ in states))


def _option_in_place(walk: Walk, choice: Choice, otherwise: Option) -> Option:
    """Return the option that wants things where they are, if there is one."""
    for option in choice:
        if all(
            demand.place == NOTHING or walk.location(demand.place) == walk.location(demand.entity)
            for demand in option
        ):
            return option
    return otherwise
