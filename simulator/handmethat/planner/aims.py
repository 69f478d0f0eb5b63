"""A subgoal made ready for planning, with the walks that are known to lead to it.

How a subgoal is best come by depends on few things: where the person stands, what is in the hand, which
locations are open or switched on, and how the things that it is about stand, with what they lie in. What
differs in nothing of that is solved alike, so each such case is walked once and repeated from then on.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cache
from operator import itemgetter
from typing import Final, NamedTuple

from simulator.handmethat.actions import Action
from simulator.handmethat.goals.model import Subgoal
from simulator.handmethat.hierarchy import STATES
from simulator.handmethat.planner.demands import Choice, Demand, Option, choices_of
from simulator.handmethat.planner.walk import Walk
from simulator.handmethat.world import NOTHING, BitSet, World, bit_set, entities

_NOWHERE: Final = 255
# What locations are, apart from what is demanded of them, that makes a difference to a way.
_OF_LOCATIONS: Final = ("open", "toggled")
# RunRequest states that are brought about by switching an appliance on, maybe only to soak a tool.
_BY_APPLIANCE: Final = frozenset({"toggled", "cooked", "frozen", "soaked", "dusty", "stained"})
_BY_CLEANING: Final = frozenset({"dusty", "stained"})


class _Test(NamedTuple):
    """What must be true for an option to be met; `places` and `states` may be empty.

    Attributes:
        option: the option.
        places: entities and what each must lie in.
        states: names, bits that must be set, bits that must not.
        placed: bit set of the entities that it wants somewhere.
    """

    option: Option
    places: tuple[tuple[int, int], ...]
    states: tuple[tuple[str, BitSet, BitSet], ...]
    placed: BitSet

    def met(self, walk: Walk) -> bool:
        place, bits = walk.place, walk.states
        for entity, container in self.places:
            if place[entity] != container:
                return False
        for name, wanted, unwanted in self.states:
            found = bits[name]
            if found & wanted != wanted or found & unwanted:
                return False
        return True


class Trip(NamedTuple):
    """A walk without what it has nothing to do with."""

    at: int
    holding: int
    places: tuple[tuple[int, int], ...]
    states: tuple[BitSet, ...]
    actions: list[Action]


class Aim:
    """One subgoal in one household.

    Args:
        world: the household.
        subgoal: what is wanted.
        grounded: what plans may use.
        states: those that matter.

    Attributes:
        choices: what it demands.
        solved: by case and drawn numbers: the trip taken, None if there is none, and the numbers drawn then.
    """

    def __init__(self, world: World, subgoal: Subgoal, grounded: BitSet, states: Sequence[str]) -> None:
        self.choices: Sequence[Choice] = choices_of(world, subgoal)
        self._tests = [[_test(option) for option in choice if _possible(option)] for choice in self.choices]
        self._openable = world.of("openable")
        self._locations = world.of("LOCATION")
        self._about = _about(world, subgoal, self.choices, grounded) & ~self._locations
        self._demanded = _entities_of(self.choices) & self._locations
        things = tuple(entities(self._about))
        self._places = itemgetter(*things) if things else _nowhere
        self._states = tuple((name, name in _OF_LOCATIONS) for name in states)
        self._known: dict[Hashable, Trip | int] = {}
        self.solved: dict[Hashable, tuple[Trip | None, int]] = {}

    def met(self, walk: Walk) -> list[Option | None]:
        """Of each choice the first option that is met by now; None where there is none."""
        return [next((test.option for test in tests if test.met(walk)), None) for tests in self._tests]

    def is_met(self, walk: Walk) -> bool:
        """Return True if every choice has an option that is met."""
        for tests in self._tests:
            for test in tests:
                if test.met(walk):
                    break
            else:
                return False
        return True

    def settled(self, walk: Walk) -> BitSet:
        """Return the things that lie where the subgoal wants them."""
        found = 0
        for tests in self._tests:
            for test in tests:
                if test.met(walk):
                    found |= test.placed
                    break
        return found

    def case(self, walk: Walk, fixed: BitSet) -> Case:
        """Return what matters of where `walk` is by now."""
        place, locations = walk.place, self._locations
        about, carriers = self._about, 0
        where = self._places(place)
        for container in where if isinstance(where, tuple) else (where,):
            while container != _NOWHERE and not (locations | about) >> container & 1:
                carriers |= 1 << container
                about |= 1 << container
                container = place[container]
        own, shared = about | self._demanded, about | locations
        masks = {name: shared if both else own for name, both in self._states}
        bits = [walk.states[name] & mask for name, mask in masks.items()]
        below = [(entity, place[entity]) for entity in entities(carriers)]
        return Case(masks, (walk.at, walk.holding, where, *below, *bits, fixed & about), about)

    def known(self, case: Case, demands: Sequence[Demand], limit: int) -> Trip | None:
        """Return the trip that meets `demands` in `case`; None if none shorter than `limit` is known to.

        Raises:
            KeyError: if neither is known.
        """
        known = self._known[case.key, tuple(demands)]
        if not isinstance(known, int):
            return known
        if known < limit:
            raise KeyError
        return None

    def note(
        self, case: Case, demands: Sequence[Demand], walk: Walk | None, held: int, limit: int
    ) -> Trip | None:
        """Make `walk`, which begins with `held` in the hand, known as the one that meets `demands`.

        Without a walk it is known that none shorter than `limit` does.
        """
        if walk is None:
            self._known[case.key, tuple(demands)] = limit
            return None
        touched = case.about | (1 << held if held != NOTHING else 0)
        places = tuple((entity, walk.place[entity]) for entity in entities(touched))
        bits = tuple([walk.states[name] & mask for name, mask in case.masks.items()])
        trip = self._known[case.key, tuple(demands)] = Trip(walk.at, walk.holding, places, bits, walk.actions)
        return trip

    def taken(self, walk: Walk, case: Case, trip: Trip) -> Walk:
        """Return the walk on from `walk` by a trip."""
        there = walk.fork()
        there.at, there.holding, there.actions = trip.at, trip.holding, trip.actions
        for entity, container in trip.places:
            there.place[entity] = container
        for (name, mask), bits in zip(case.masks.items(), trip.states, strict=True):
            there.states[name] = there.states[name] & ~mask | bits
        there.shut = self._openable & ~there.states["open"]
        return there


class Case(NamedTuple):
    """What matters of where a person is.

    Attributes:
        masks: of which entities each state matters; states that do not matter are not among them.
        key: all that matters.
        about: the things whose places matter, and what they lie in.
    """

    masks: dict[str, BitSet]
    key: Hashable
    about: BitSet


def aims_for(world: World, subgoals: Sequence[Subgoal], grounded: BitSet) -> tuple[Aim, ...]:
    """Return an aim for each subgoal; the same ones again for the same household."""
    key = "aims", tuple(subgoals), grounded
    known = world.worked_out.get(key)
    if known is None:
        states = states_that_matter(tuple(subgoals))
        known = world.worked_out[key] = tuple(Aim(world, subgoal, grounded, states) for subgoal in subgoals)
    aims: tuple[Aim, ...] = known
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


def _test(option: Option) -> _Test:
    places = tuple((one.entity, one.place) for one in option if one.place != NOTHING)
    states: dict[str, list[BitSet]] = {}
    for one in option:
        for name, value in one.states:
            states.setdefault(name, [0, 0])[0 if value else 1] |= 1 << one.entity
    wanted = tuple((name, on, off) for name, (on, off) in states.items())
    return _Test(option, places, wanted, bit_set(entity for entity, _ in places))


def _possible(option: Option) -> bool:
    """Return True if it can be met at all."""
    return all(one.possible or one.place == NOTHING for one in option)


def _entities_of(choices: Sequence[Choice]) -> BitSet:
    demands = [one for choice in choices for option in choice for one in option]
    return bit_set(
        [demand.entity for demand in demands]
        + [demand.place for demand in demands if demand.place != NOTHING]
    )


def _about(world: World, subgoal: Subgoal, choices: Sequence[Choice], grounded: BitSet) -> BitSet:
    """Return what the subgoal is about, and the tools for that."""
    about = _entities_of(choices)
    states = {name for name, _ in (*subgoal.of_x, *subgoal.of_y)}
    if states & _BY_CLEANING:
        types = {name for entity in entities(about) for name in world.kinds[entity].cleaners}
        for name in types:
            about |= world.of(name) & grounded
    if "sliced" in states:
        about |= world.of("knife") & grounded
    return about


def _nowhere(_: bytearray) -> tuple[int, ...]:
    return ()
