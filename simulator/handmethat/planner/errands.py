"""What is left to do for some demands, and the manners in which that can be gone about.

Which of them is shortest depends on where things are; each is walked in thought and the shortest taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Final, NamedTuple

from simulator.handmethat.goals.model import Demand, Requirement
from simulator.handmethat.planner.walk import (
    DeadEndError,
    Walk,
    appliances,
    carry,
    clean,
    heat,
    slice_up,
    take_ready,
    treat,
    visit,
)
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


_PLAINLY: Final = ErrandStyle()
_BRINGING: Final = ErrandStyle(bring=True)


@dataclass(slots=True)
class Errands:
    """The errands that are left.

    Attributes:
        loads: entity -> the container it is wanted in.
        jobs: state and value -> the entities of which it should be true.
        lids: containers that are shut and should be so again at the end.
        dirty: what is to be cleaned.
        hot: what is to be heated.
        cold: what is to be cooled.
    """

    loads: dict[int, int]
    jobs: dict[Requirement, list[int]]
    lids: list[int]
    dirty: list[int] = field(init=False, default_factory=list)
    hot: list[int] = field(init=False, default_factory=list)
    cold: list[int] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        if self.jobs:
            self.dirty = list(dict.fromkeys(self.of("dusty", False) + self.of("stained", False)))
            self.hot = list(dict.fromkeys(self.of("cooked") + self.of("frozen", False)))
            self.cold = list(dict.fromkeys(self.of("frozen") + self.of("cooked", False)))

    def of(self, name: str, value: bool = True) -> list[int]:
        """Return the entities of which a state is wanted."""
        return self.jobs.get((name, value), [])

    def key(self) -> Hashable:
        """Return the same for equal errands."""
        loads = tuple(self.loads.items())
        if not (self.jobs or self.lids):
            return loads
        return loads, tuple([(job, *counts) for job, counts in self.jobs.items()]), tuple(self.lids)


def errands_for(walk: Walk, demands: Iterable[Demand]) -> Errands | None:
    """Return what is left to do for `demands`; None if something is wanted that no action brings about."""
    loads: dict[int, int] = {}
    jobs: dict[Requirement, list[int]] = {}
    lids: list[int] = []
    for entity, place, states, possible, _ in demands:
        if not possible:
            return None
        if place not in (NOTHING, walk.place[entity]) and loads.setdefault(entity, place) != place:
            return None
        for required in states:
            name, value = required
            if name == "open" and not value and walk.is_shut(entity):
                lids.append(entity)
            if (walk.states[name] >> entity & 1) != value:
                if name not in walk.world.kinds[entity].states or required in _FOR_EVER:
                    return None
                jobs.setdefault(required, []).append(entity)
    errands = Errands(loads, jobs, lids)
    return None if errands.hot and not set(errands.hot).isdisjoint(errands.cold) else errands


def run(walk: Walk, errands: Errands, style: ErrandStyle, fixed: BitSet) -> None:
    """Do everything in one manner.

    `fixed`: containers that must stay where they are.

    Raises:
        DeadEndError: if that does not work.
    """
    loads, dirty, owners = errands.loads, errands.dirty, errands.of
    if not errands.jobs:
        if len(loads) == 1:
            for entity, place in loads.items():
                walk.lay(entity, place)
        else:
            carry(walk, loads, bring=style.bring, fixed=fixed)
        _close(walk, errands.lids)
        return
    first = (*owners("sliced"), *errands.hot, *errands.cold, *owners("soaked"))
    if walk.holding in loads and walk.holding not in first and not style.clean_first:
        walk.lay(walk.holding, loads[walk.holding])
    _change_first(walk, errands, style, fixed)
    if dirty and style.clean_first:
        clean(walk, dirty, style.tools)
    if toggled := owners("toggled") + owners("toggled", False):
        # In a movable container nothing can be switched.
        _switch(walk, errands, [entity for entity, place in loads.items() if not walk.is_location[place]])
    if style.stage:
        walk.go(walk.location(next(iter(loads.values()))))
    carry(walk, loads, bring=style.bring, fixed=fixed)
    if dirty and not style.clean_first:
        clean(walk, dirty, style.tools)
    if toggled:
        _switch(walk, errands, toggled)
    if opened := owners("open"):
        visit(walk, [entity for entity in opened if walk.is_shut(entity)], walk.open)
    _close(walk, owners("open", False) + errands.lids)


def _close(walk: Walk, lids: Sequence[int]) -> None:
    if lids:
        visit(walk, [lid for lid in lids if not walk.is_shut(lid)], walk.close)


def _change_first(walk: Walk, errands: Errands, style: ErrandStyle, fixed: BitSet) -> None:
    """Slice, heat, cool and soak, which comes before carrying."""
    loads = errands.loads
    if sliced := errands.of("sliced"):
        if style.bring and walk.holding == NOTHING:
            _bring_along(walk, {entity: loads[entity] for entity in sliced if entity in loads}, fixed)
        if style.gather:
            carry(walk, dict.fromkeys(sliced, style.surface))
        slice_up(walk, sliced, style.knife, style.surface)
    if errands.hot:
        heat(walk, errands.hot, style.heater, loads if style.singly else {})
    if errands.cold:
        treat(walk, errands.cold, "cools")
    if soaked := errands.of("soaked"):
        treat(walk, soaked, "soaks")


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


def _switch(walk: Walk, errands: Errands, among: Sequence[int]) -> None:
    for on in (True, False):
        switched = [entity for entity in errands.of("toggled", on) if entity in among]
        visit(walk, switched, partial(walk.switch, on=on))


def styles(walk: Walk, errands: Errands, fixed: BitSet) -> Iterator[ErrandStyle]:
    """Yield the manners that may be shortest."""
    loads = errands.loads
    brings = len(loads) > 1 and any(not (walk.locations | fixed) >> place & 1 for place in loads.values())
    if not errands.jobs:
        yield _PLAINLY
        if brings:
            yield _BRINGING
        return
    cuts = list(_cuts(walk, errands, fixed)) if errands.of("sliced") or errands.hot else [_PLAINLY]
    washes = list(_washes(walk, errands, fixed)) if errands.dirty else [_PLAINLY]
    singles = (False, True) if errands.hot and loads else (False,)
    for cut, wash, bring, singly in product(cuts, washes, (False, True) if brings else (False,), singles):
        yield cut._replace(
            bring=bring, clean_first=wash.clean_first, stage=wash.stage, tools=wash.tools, singly=singly
        )


def _washes(walk: Walk, errands: Errands, fixed: BitSet) -> Iterator[ErrandStyle]:
    for tools in _tool_sets(walk, errands.dirty, fixed):
        yield ErrandStyle(tools=tools)
        if errands.loads:
            yield ErrandStyle(tools=tools, clean_first=True)
            if walk.holding in tools:
                yield ErrandStyle(tools=tools, stage=True)


def _tool_sets(walk: Walk, dirty: Sequence[int], fixed: BitSet) -> list[tuple[int, ...]]:
    """Return tools that together clean everything: one for all, or else one for each sort of thing."""
    kinds = walk.world.kinds
    sorts = list(dict.fromkeys(kinds[entity].cleaners for entity in dirty))
    places = {walk.location(entity) for entity in dirty}
    ranked = {sort: _ranked_tools(walk, sort, places, fixed) for sort in sorts}
    if len(sorts) == 1:
        return [(tool,) for tool in ranked[sorts[0]][:_TOOLS]]
    common = _ranked_tools(walk, frozenset.intersection(*sorts), places, fixed)
    best = tuple(ranked[sort][0] for sort in sorts if ranked[sort])
    return [*((tool,) for tool in common[:_TOOLS]), best, best[::-1]]


def _ranked_tools(walk: Walk, types: frozenset[str], places: Set[int], fixed: BitSet) -> list[int]:
    """Return one tool of each type, place and wetness, the one that is ready soonest first."""
    tools = 0
    for name in types:
        tools |= walk.world.of(name)
    costs = {}
    for tool in _one_of_each_sort(walk, tools, fixed):
        there = walk.fork()
        try:
            take_ready(there, tool)
        except DeadEndError:
            continue
        costs[tool] = there.steps + (there.at not in places)
    return sorted(costs, key=costs.__getitem__)


def _one_of_each_sort(walk: Walk, tools: BitSet, fixed: BitSet) -> list[int]:
    """Return one of each sort of some tools; of the fixed ones only if there are no others."""
    tools &= walk.grounded
    tools = tools & ~fixed or tools
    soaked = walk.states["soaked"]
    sorts: dict[tuple[str, int, int], int] = {}
    for tool in entities(tools):
        sorts.setdefault((walk.world.kinds[tool].name, walk.place[tool], soaked >> tool & 1), tool)
    return list(sorts.values())


def _cuts(walk: Walk, errands: Errands, fixed: BitSet) -> Iterator[ErrandStyle]:
    heaters = appliances(walk, "heats") if errands.hot else [NOTHING]
    if not (sliced := errands.of("sliced")):
        yield from (ErrandStyle(heater=heater) for heater in heaters)
        return
    knives = _one_of_each_sort(walk, walk.world.of("knife"), fixed)
    knives.sort(key=lambda knife: (walk.holding != knife, walk.location(knife) != walk.at))
    relation = {location: walk.world.kinds[location].relation for location in walk.world.locations}
    strays = [entity for entity in sliced if relation.get(walk.place[entity]) != "ontop"]
    places = [*map(walk.location, sliced), *map(walk.location, errands.loads.values()), walk.at]
    for knife, heater in product(knives[:_KNIVES], heaters):
        near = dict.fromkeys((*places, walk.location(knife), heater))
        surfaces = [place for place in near if relation.get(place) == "ontop"]
        for surface in surfaces or [walk.world.entity("floor")] if strays else [NOTHING]:
            yield ErrandStyle(knife=knife, surface=surface, heater=heater)
        if relation.get(heater) == "ontop":
            yield ErrandStyle(knife=knife, surface=heater, gather=True, heater=heater)
