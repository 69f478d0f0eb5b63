"""What is left to do for some demands, and the manners in which that can be gone about.

Which of them is shortest depends on where things are; each is walked in thought and the shortest taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Final, NamedTuple

from simulator.handmethat.planner import jobs
from simulator.handmethat.planner.demands import Demand
from simulator.handmethat.planner.walk import DeadEndError, Walk
from simulator.handmethat.world import NOTHING, BitSet, entities

_FOR_EVER: Final = frozenset({("sliced", False), ("soaked", False), ("dusty", True), ("stained", True)})
# How many tools, and knives, are tried.
_TOOLS: Final = 3
_KNIVES: Final = 2


class ErrandStyle(NamedTuple):
    """A way to go about errands.

    Attributes:
        bring: wanted containers are brought to where the things are.
        clean_first: clean before carrying, not after.
        stage: lay a tool that is in the hand, and is needed at the end, down there first.
        tools: what is cleaned with.
        knife: what is sliced with.
        surface: where what lies on no surface is sliced.
        gather: also slice there what lies on another surface.
        heater: where things are heated.
        singly: carry each thing where it is wanted as soon as it is hot.
    """

    bring: bool = False
    clean_first: bool = False
    stage: bool = False
    tools: tuple[int, ...] = ()
    knife: int = NOTHING
    surface: int = NOTHING
    gather: bool = False
    heater: int = NOTHING
    singly: bool = False


@dataclass(slots=True)
class Errands:
    """What is left to do.

    Attributes:
        loads: entity -> the container it is wanted in.
        jobs: state and value -> the entities of which it should be true.
        lids: containers that are shut and should be so again at the end.
    """

    loads: dict[int, int] = field(default_factory=dict)
    jobs: dict[tuple[str, bool], list[int]] = field(default_factory=dict)
    lids: list[int] = field(default_factory=list)

    def of(self, name: str, value: bool = True) -> list[int]:
        """Return the entities of which a state is wanted."""
        return self.jobs.get((name, value), [])

    @property
    def first(self) -> list[int]:
        """What is to be sliced, heated, cooled or soaked before it is carried."""
        return [*self.of("sliced"), *self.hot, *self.cold, *self.of("soaked")]

    @property
    def shut(self) -> list[int]:
        """What is to be shut at the end."""
        return self.of("open", False) + self.lids

    @property
    def dirty(self) -> list[int]:
        """What is to be cleaned."""
        return list(dict.fromkeys((*self.of("dusty", False), *self.of("stained", False))))

    @property
    def hot(self) -> list[int]:
        """What is to be heated."""
        return list(dict.fromkeys((*self.of("cooked"), *self.of("frozen", False))))

    @property
    def cold(self) -> list[int]:
        """What is to be cooled."""
        return list(dict.fromkeys((*self.of("frozen"), *self.of("cooked", False))))


def errands_for(walk: Walk, demands: Iterable[Demand]) -> Errands | None:
    """Return what is left to do for `demands`; None if something is wanted that no action brings about."""
    errands = Errands()
    for entity, place, states, possible in demands:
        if not possible:
            return None
        if place != NOTHING and walk.place[entity] != place:
            if errands.loads.get(entity, place) != place:
                return None
            errands.loads[entity] = place
        kind = walk.world.kinds[entity]
        for name, value in states:
            if name == "open" and not value and walk.is_shut(entity):
                errands.lids.append(entity)
            if bool(walk.states[name] >> entity & 1) != value:
                if name not in kind.states or (name, value) in _FOR_EVER:
                    return None
                errands.jobs.setdefault((name, value), []).append(entity)
    if errands.hot and errands.cold and set(errands.hot) & set(errands.cold):
        return None
    return errands


def run(walk: Walk, errands: Errands, manner: ErrandStyle, fixed: BitSet) -> None:
    """Do everything in one manner.

    Args:
        walk: who does it.
        errands: what is to be done.
        manner: how.
        fixed: containers that must stay where they are.

    Raises:
        DeadEndError: if that does not work.
    """
    loads, wanted = errands.loads, errands.jobs
    dirty = errands.dirty if wanted else []
    if walk.holding in loads and walk.holding not in errands.first and not manner.clean_first:
        walk.lay(walk.holding, loads[walk.holding])
    if wanted:
        _change_first(walk, errands, manner, fixed)
        if dirty and manner.clean_first:
            jobs.clean(walk, dirty, manner.tools)
        # In a movable container nothing can be switched.
        _switch(walk, errands, [one for one, place in loads.items() if not walk.locations >> place & 1])
    if manner.stage:
        walk.go(walk.location(next(iter(loads.values()))))
    if loads:
        jobs.carry(walk, loads, bring=manner.bring, fixed=fixed)
    if dirty and not manner.clean_first:
        jobs.clean(walk, dirty, manner.tools)
    if wanted:
        _switch(walk, errands, [*errands.of("toggled"), *errands.of("toggled", False)])
        jobs.visit(walk, [one for one in errands.of("open") if walk.is_shut(one)], walk.open)
    if wanted or errands.lids:
        jobs.visit(walk, [one for one in errands.shut if not walk.is_shut(one)], walk.close)


def _change_first(walk: Walk, errands: Errands, manner: ErrandStyle, fixed: BitSet) -> None:
    """Slice, heat, cool and soak, which comes before carrying."""
    loads = errands.loads
    if sliced := errands.of("sliced"):
        if manner.bring and walk.holding == NOTHING:
            _bring_along(walk, {one: loads[one] for one in sliced if one in loads}, fixed)
        if manner.gather:
            jobs.carry(walk, dict.fromkeys(sliced, manner.surface))
        jobs.slice_up(walk, sliced, manner.knife, manner.surface)
    if errands.hot:
        jobs.heat(walk, errands.hot, manner.heater, loads if manner.singly else {})
    if errands.cold:
        jobs.cool(walk, errands.cold)
    if errands.of("soaked"):
        jobs.soak(walk, errands.of("soaked"))


def _bring_along(walk: Walk, loads: Mapping[int, int], fixed: BitSet) -> None:
    """Bring a container that stands here to where several things that are wanted in it are sliced first."""
    for place in dict.fromkeys(loads.values()):
        there = Counter(walk.location(load) for load in loads if loads[load] == place)
        if (walk.locations | fixed) >> place & 1 or walk.location(place) != walk.at or walk.at in there:
            continue
        most, many = there.most_common(1)[0]
        if many > 1:
            walk.lay(place, most)
            return


def _switch(walk: Walk, errands: Errands, some: Sequence[int]) -> None:
    if not some:
        return
    for on in (True, False):
        mine = [one for one in errands.of("toggled", on) if one in some]
        jobs.visit(walk, mine, partial(walk.switch, on=on))


def manners(walk: Walk, errands: Errands, fixed: BitSet) -> Iterator[ErrandStyle]:
    """Yield the manners that may be shortest.

    Args:
        walk: where it begins.
        errands: what is to be done.
        fixed: things that are best left alone.
    """
    loads = errands.loads
    if len(loads) == 1 and not errands.jobs:
        yield ErrandStyle()
        return
    dirty = errands.dirty
    movable = {place for place in loads.values() if not (walk.locations | fixed) >> place & 1}
    brings = (False, True) if movable and len(loads) > 1 else (False,)
    cuts = list(_cuts(walk, errands, fixed)) if errands.of("sliced") or errands.hot else [ErrandStyle()]
    washes = list(_washes(walk, errands, fixed)) if dirty else [ErrandStyle()]
    singles = (False, True) if errands.hot and loads else (False,)
    for cut, wash, bring, singly in product(cuts, washes, brings, singles):
        yield wash._replace(
            bring=bring,
            knife=cut.knife,
            surface=cut.surface,
            gather=cut.gather,
            heater=cut.heater,
            singly=singly,
        )


def _washes(walk: Walk, errands: Errands, fixed: BitSet) -> Iterator[ErrandStyle]:
    for tools in _tool_sets(walk, errands.dirty, fixed):
        yield ErrandStyle(tools=tools)
        if errands.loads:
            yield ErrandStyle(tools=tools, clean_first=True)
            if walk.holding in tools:
                yield ErrandStyle(tools=tools, stage=True)


def _tool_sets(walk: Walk, dirty: Sequence[int], fixed: BitSet) -> list[tuple[int, ...]]:
    """Tools that together clean everything: one for all, or else one for each sort of thing."""
    kinds = walk.world.kinds
    sorts = list(dict.fromkeys(kinds[one].cleaners for one in dirty))
    places = {walk.location(one) for one in dirty}
    ranked = {sort: _ranked_tools(walk, sort, places, fixed) for sort in sorts}
    if len(sorts) == 1:
        return [(tool,) for tool in ranked[sorts[0]][:_TOOLS]]
    common = frozenset.intersection(*sorts)
    found = [(tool,) for tool in _ranked_tools(walk, common, places, fixed)[:_TOOLS]]
    best = tuple(ranked[sort][0] for sort in sorts if ranked[sort])
    return [*found, best, best[::-1]]


def _ranked_tools(walk: Walk, types: frozenset[str], places: Set[int], fixed: BitSet) -> list[int]:
    """Return one tool of each type, place and wetness, the one that is ready soonest first."""
    found = 0
    for name in types:
        found |= walk.world.of(name)
    costs = {}
    for tool in _distinct(walk, found, fixed):
        there = walk.fork()
        try:
            jobs.take_ready(there, tool)
        except DeadEndError:
            continue
        costs[tool] = len(there.actions) + (there.at not in places)
    return sorted(costs, key=costs.__getitem__)


def _distinct(walk: Walk, some: BitSet, fixed: BitSet) -> list[int]:
    """Return one of each sort of some tools; of the fixed ones only if there are no others."""
    some &= walk.grounded
    some = some & ~fixed or some
    soaked = walk.states["soaked"]
    sorts: dict[tuple[str, int, int], int] = {}
    for entity in entities(some):
        sorts.setdefault((walk.world.kinds[entity].name, walk.place[entity], soaked >> entity & 1), entity)
    return list(sorts.values())


def _cuts(walk: Walk, errands: Errands, fixed: BitSet) -> Iterator[ErrandStyle]:
    """Yield the manners of slicing and heating."""
    heaters = jobs.appliances(walk, "heats") if errands.hot else [NOTHING]
    if not (sliced := errands.of("sliced")):
        yield from (ErrandStyle(heater=heater) for heater in heaters)
        return
    knives = _distinct(walk, walk.world.of("knife"), fixed)
    knives.sort(key=lambda one: (walk.holding != one, walk.location(one) != walk.at))
    relation = {location: walk.world.kinds[location].relation for location in walk.world.locations}
    strays = [one for one in sliced if relation.get(walk.place[one]) != "ontop"]
    for knife, heater in product(knives[:_KNIVES], heaters):
        homes = (walk.location(place) for place in errands.loads.values())
        near = [*map(walk.location, sliced), *homes, walk.at, walk.location(knife), heater]
        surfaces = list(dict.fromkeys(one for one in near if relation.get(one) == "ontop"))
        for surface in surfaces or [walk.world.entity("floor")] if strays else [NOTHING]:
            yield ErrandStyle(knife=knife, surface=surface, heater=heater)
        if relation.get(heater) == "ontop":
            yield ErrandStyle(knife=knife, surface=heater, gather=True, heater=heater)
