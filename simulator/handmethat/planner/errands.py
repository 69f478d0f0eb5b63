"""Errands: the work that remains for some demands, and the styles in which it can be done.

Which style is shortest depends on where things are; the caller simulates each and takes the shortest.
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

# Requirements that no action can bring about.
_IMPOSSIBLE: Final = frozenset({("sliced", False), ("soaked", False), ("dusty", True), ("stained", True)})
# Largest numbers of tools and of knives that are tried.
_TOOLS: Final = 3
_KNIVES: Final = 2


class ErrandStyle(NamedTuple):
    """A style of doing errands.

    Attributes:
        bring: bring the destination containers to the things.
        clean_first: clean before carrying, not after.
        stage: first put the cleaning tool in the hand down at the destination, where it will be needed.
        tools: cleaning tools.
        knife: knife for slicing.
        surface: surface for slicing things that do not lie on one.
        gather: slice the other things on `surface` as well.
        heater: appliance for heating.
        singly: carry each thing to its destination as soon as it is hot.
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


_DEFAULT: Final = ErrandStyle()
_BRING: Final = ErrandStyle(bring=True)


@dataclass(slots=True)
class Errands:
    """The errands that remain: entity -> container, things by required state, lids to shut at the end."""

    loads: dict[int, int]
    jobs: dict[Requirement, list[int]]
    lids: list[int]
    dirty: list[int] = field(init=False, default_factory=list)
    hot: list[int] = field(init=False, default_factory=list)
    cold: list[int] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        if self.jobs:
            self.dirty = list(dict.fromkeys(self.with_job("dusty", False) + self.with_job("stained", False)))
            self.hot = list(dict.fromkeys(self.with_job("cooked") + self.with_job("frozen", False)))
            self.cold = list(dict.fromkeys(self.with_job("frozen") + self.with_job("cooked", False)))

    def with_job(self, name: str, value: bool = True) -> list[int]:
        """Return the entities whose state `name` must become `value`."""
        return self.jobs.get((name, value), [])

    def key(self) -> Hashable:
        """Return a hashable key, equal for equal errands."""
        loads = tuple(self.loads.items())
        if not (self.jobs or self.lids):
            return loads
        return loads, tuple([(job, *things) for job, things in self.jobs.items()]), tuple(self.lids)


def errands_for(walk: Walk, demands: Iterable[Demand]) -> Errands | None:
    """Return the errands for `demands`; None if no actions can meet them."""
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
                if name not in walk.world.kinds[entity].states or required in _IMPOSSIBLE:
                    return None
                jobs.setdefault(required, []).append(entity)
    errands = Errands(loads, jobs, lids)
    return None if errands.hot and not set(errands.hot).isdisjoint(errands.cold) else errands


def run(walk: Walk, errands: Errands, style: ErrandStyle, fixed: BitSet) -> None:
    """Do all errands in one style.

    `fixed`: containers that must stay where they are.

    Raises:
        DeadEndError: if the style does not work.
    """
    loads, dirty, with_job = errands.loads, errands.dirty, errands.with_job
    if not errands.jobs:
        if len(loads) == 1:
            for entity, place in loads.items():
                walk.put(entity, place)
        else:
            carry(walk, loads, bring=style.bring, fixed=fixed)
        _close(walk, errands.lids)
        return
    first = (*with_job("sliced"), *errands.hot, *errands.cold, *with_job("soaked"))
    if walk.holding in loads and walk.holding not in first and not style.clean_first:
        walk.put(walk.holding, loads[walk.holding])
    _change_first(walk, errands, style, fixed)
    if dirty and style.clean_first:
        clean(walk, dirty, style.tools)
    if toggled := with_job("toggled") + with_job("toggled", False):
        # Things cannot be switched inside a movable container.
        _switch(walk, errands, [entity for entity, place in loads.items() if not walk.is_location[place]])
    if style.stage:
        walk.go(walk.location(next(iter(loads.values()))))
    carry(walk, loads, bring=style.bring, fixed=fixed)
    if dirty and not style.clean_first:
        clean(walk, dirty, style.tools)
    if toggled:
        _switch(walk, errands, toggled)
    if opened := with_job("open"):
        visit(walk, [entity for entity in opened if walk.is_shut(entity)], walk.open)
    _close(walk, with_job("open", False) + errands.lids)


def _close(walk: Walk, lids: Sequence[int]) -> None:
    if lids:
        visit(walk, [lid for lid in lids if not walk.is_shut(lid)], walk.close)


def _change_first(walk: Walk, errands: Errands, style: ErrandStyle, fixed: BitSet) -> None:
    """Slice, heat, cool and soak, before carrying."""
    loads = errands.loads
    if sliced := errands.with_job("sliced"):
        if style.bring and walk.holding == NOTHING:
            _bring_along(walk, {entity: loads[entity] for entity in sliced if entity in loads}, fixed)
        if style.gather:
            carry(walk, dict.fromkeys(sliced, style.surface))
        slice_up(walk, sliced, style.knife, style.surface)
    if errands.hot:
        heat(walk, errands.hot, style.heater, loads if style.singly else {})
    if errands.cold:
        treat(walk, errands.cold, "cools")
    if soaked := errands.with_job("soaked"):
        treat(walk, soaked, "soaks")


def _bring_along(walk: Walk, loads: Mapping[int, int], fixed: BitSet) -> None:
    """Bring a destination container from here to the location with most of the things to slice for it."""
    for place in dict.fromkeys(loads.values()):
        counts = Counter(walk.location(load) for load in loads if loads[load] == place)
        if (walk.locations | fixed) >> place & 1 or walk.location(place) != walk.at or walk.at in counts:
            continue
        location, count = counts.most_common(1)[0]
        if count > 1:
            walk.put(place, location)
            return


def _switch(walk: Walk, errands: Errands, among: Sequence[int]) -> None:
    for on in (True, False):
        things = [entity for entity in errands.with_job("toggled", on) if entity in among]
        visit(walk, things, partial(walk.switch, on=on))


def styles(walk: Walk, errands: Errands, fixed: BitSet) -> Iterator[ErrandStyle]:
    """Yield the styles that may be shortest."""
    loads = errands.loads
    brings = len(loads) > 1 and any(not (walk.locations | fixed) >> place & 1 for place in loads.values())
    if not errands.jobs:
        yield _DEFAULT
        if brings:
            yield _BRING
        return
    treats = errands.with_job("sliced") or errands.hot
    treating = list(_treating_styles(walk, errands, fixed)) if treats else [_DEFAULT]
    cleaning = list(_cleaning_styles(walk, errands, fixed)) if errands.dirty else [_DEFAULT]
    bring_flags = (False, True) if brings else (False,)
    single_flags = (False, True) if errands.hot and loads else (False,)
    for prepare, wash, bring, singly in product(treating, cleaning, bring_flags, single_flags):
        yield prepare._replace(
            bring=bring, clean_first=wash.clean_first, stage=wash.stage, tools=wash.tools, singly=singly
        )


def _cleaning_styles(walk: Walk, errands: Errands, fixed: BitSet) -> Iterator[ErrandStyle]:
    for tools in _tool_sets(walk, errands.dirty, fixed):
        yield ErrandStyle(tools=tools)
        if errands.loads:
            yield ErrandStyle(tools=tools, clean_first=True)
            if walk.holding in tools:
                yield ErrandStyle(tools=tools, stage=True)


def _tool_sets(walk: Walk, dirty: Sequence[int], fixed: BitSet) -> list[tuple[int, ...]]:
    """Return sets of tools that clean everything: single tools, and one tool for each set of cleaners."""
    kinds = walk.world.kinds
    groups = list(dict.fromkeys(kinds[entity].cleaners for entity in dirty))
    places = {walk.location(entity) for entity in dirty}
    ranked = {group: _ranked_tools(walk, group, places, fixed) for group in groups}
    if len(groups) == 1:
        return [(tool,) for tool in ranked[groups[0]][:_TOOLS]]
    common = _ranked_tools(walk, frozenset.intersection(*groups), places, fixed)
    best = tuple(ranked[group][0] for group in groups if ranked[group])
    return [*((tool,) for tool in common[:_TOOLS]), best, best[::-1]]


def _ranked_tools(walk: Walk, types: frozenset[str], places: Set[int], fixed: BitSet) -> list[int]:
    """Return one tool of each type, place and wetness, ordered by the steps until it can be used."""
    tools = 0
    for name in types:
        tools |= walk.world.find_all(name)
    costs = {}
    for tool in _distinct_tools(walk, tools, fixed):
        attempt = walk.fork()
        try:
            take_ready(attempt, tool)
        except DeadEndError:
            continue
        costs[tool] = attempt.steps + (attempt.at not in places)
    return sorted(costs, key=costs.__getitem__)


def _distinct_tools(walk: Walk, tools: BitSet, fixed: BitSet) -> list[int]:
    """Return one tool of each type, place and wetness; fixed tools only if all are fixed."""
    tools &= walk.grounded
    tools = tools & ~fixed or tools
    soaked = walk.states["soaked"]
    groups: dict[tuple[str, int, int], int] = {}
    for tool in entities(tools):
        groups.setdefault((walk.world.kinds[tool].name, walk.place[tool], soaked >> tool & 1), tool)
    return list(groups.values())


def _treating_styles(walk: Walk, errands: Errands, fixed: BitSet) -> Iterator[ErrandStyle]:
    heaters = appliances(walk, "heats") if errands.hot else [NOTHING]
    if not (sliced := errands.with_job("sliced")):
        yield from (ErrandStyle(heater=heater) for heater in heaters)
        return
    knives = _distinct_tools(walk, walk.world.find_all("knife"), fixed)
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
