"""What a person does with many things: carry them, clean them, slice, heat, cool and soak them.

Between places every way is one move, so the length of a plan is what must be done with each thing, one per
lid, and the moves; and moves are saved by beginning where one stands, by finishing one place before the
next, and by carrying what holds several things, or what several things are wanted in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

from simulator.handmethat.planner.walk import DeadEndError, Walk
from simulator.handmethat.world import NOTHING, BitSet

# Carrying a container costs as much as carrying two things out of it one by one.
_WORTH_CARRYING: Final = 3
# Bringing the wanted container to two things costs less than bringing them to it one by one.
_WORTH_BRINGING: Final = 2


def carry(walk: Walk, loads: Mapping[int, int], *, bring: bool = False, fixed: BitSet = 0) -> None:
    """Lay each entity into its container.

    Args:
        walk: who carries.
        loads: entity -> container; the first first, as far as it makes no difference.
        bring: whether wanted containers may be brought to the things.
        fixed: containers that must stay where they are.
    """
    left = {entity: place for entity, place in loads.items() if walk.place[entity] != place}
    if walk.holding in left:
        walk.lay(walk.holding, left.pop(walk.holding))
    where = {entity: walk.location(entity) for entity in left}
    while left:
        entity = _next(walk, left, where, bring)
        place, there = left[entity], where[entity]
        home, container = walk.location(place), walk.place[entity]
        if home != there != walk.at and bring and _may_be_carried(walk, place, left, fixed):
            many = sum(left[one] == place and where[one] == there for one in left)
            if many >= _WORTH_BRINGING and (walk.at == home or many > _WORTH_BRINGING):
                walk.lay(place, there)
                continue
        if home != there and _may_be_carried(walk, container, left, fixed):
            inside = [
                one for one in left if walk.place[one] == container and walk.location(left[one]) == home
            ]
            if len(inside) >= _WORTH_CARRYING:
                walk.lay(container, home)
                where.update({one: home for one in left if walk.place[one] == container})
                continue
        walk.lay(entity, place)
        del left[entity]


def _may_be_carried(walk: Walk, container: int, left: Mapping[int, int], fixed: BitSet) -> bool:
    return not (walk.locations | fixed) >> container & 1 and container not in left


def _next(walk: Walk, left: Mapping[int, int], where: Mapping[int, int], bring: bool) -> int:
    """Return what to carry next: what is here, else what is not yet where it is wanted."""
    here = [one for one in left if where[one] == walk.at]
    if here:
        return next((one for one in here if walk.location(left[one]) == walk.at), here[0])
    far = [one for one in left if walk.location(left[one]) != where[one]]
    if not bring or not far:
        return (far or list(left))[0]
    # Where few things are, one of them is best fetched on the way to the container.
    counts = [sum(where[other] == where[one] for other in far) for one in far]
    fewest = min(counts)
    if walk.location(left[far[0]]) != walk.at and fewest <= _WORTH_BRINGING:
        return far[counts.index(fewest)]
    return far[0]


def visit(walk: Walk, some: Iterable[int], do: Callable[[int], None], last: int = NOTHING) -> None:
    """Do something with each entity at its place, the nearest place first, `last` last."""
    left = {entity: walk.location(entity) for entity in some}
    while left:
        places = dict.fromkeys(left.values())
        ahead = next((one for one in places if one != last), last)
        place = walk.at if walk.at in places else ahead
        for entity in [entity for entity in left if left[entity] == place]:
            do(entity)
            del left[entity]


def unpack(walk: Walk, some: Iterable[int]) -> None:
    """Lay each entity that is in the hand or in a movable container down at its location."""
    visit(walk, [one for one in some if not lies_at_location(walk, one)], walk.lay_down_at_location)


def lies_at_location(walk: Walk, entity: int) -> bool:
    """Return True if `entity` is a location, or lies directly at one."""
    if walk.locations >> entity & 1:
        return True
    return walk.holding != entity and bool(walk.locations >> walk.place[entity] & 1)


def take_ready(walk: Walk, tool: int) -> None:
    """Have a cleaning tool in the hand, wet if it has to be."""
    if is_dry(walk, tool):
        soak(walk, (tool,))
    walk.take(tool)


def is_dry(walk: Walk, tool: int) -> bool:
    """Return True if `tool` has to be soaked before it cleans."""
    return "soaked" in walk.world.kinds[tool].states and not walk.states["soaked"] >> tool & 1


def clean(walk: Walk, targets: Iterable[int], tools: Iterable[int], last: int = NOTHING) -> None:
    """Clean everything, each thing with the first of the tools that cleans it."""
    left = list(targets)
    unpack(walk, left)
    for tool in tools:
        kind = walk.world.kinds[tool].name
        mine = [one for one in left if kind in walk.world.kinds[one].cleaners]
        if mine:
            take_ready(walk, tool)
            visit(walk, mine, partial(walk.clean, tool=tool), last)
            left = [one for one in left if one not in mine]
    if left:
        raise DeadEndError


def slice_up(walk: Walk, some: Iterable[int], knife: int, surface: int, last: int = NOTHING) -> None:
    """Slice everything: on the surface where it lies, else on `surface`."""
    left = list(some)
    if walk.holding == knife:
        ready = [one for one in left if _lies_on_surface(walk, one)]
        visit(walk, ready, partial(walk.slice, knife=knife), last)
        left = [one for one in left if one not in ready]
    if left:
        carry(walk, {one: surface for one in left if not _lies_on_surface(walk, one)})
        walk.take(knife)
        visit(walk, left, partial(walk.slice, knife=knife), last)


def _lies_on_surface(walk: Walk, entity: int) -> bool:
    if not lies_at_location(walk, entity):
        return False
    return walk.world.kinds[walk.place[entity]].relation == "ontop"


def heat(walk: Walk, some: Iterable[int], appliance: int, loads: Mapping[int, int]) -> None:
    """Bring everything to `appliance` and heat it; what is among `loads` one by one, and on from there."""
    left = list(some)
    carry(walk, {one: appliance for one in left if one not in loads})
    for one in left:
        if one not in loads:
            walk.heat(one, appliance)

    def heat_and_carry(one: int) -> None:
        carry(walk, {one: appliance})
        walk.heat(one, appliance)
        walk.lay(one, loads[one])

    visit(walk, [one for one in left if one in loads], heat_and_carry)


def cool(walk: Walk, some: Iterable[int]) -> None:
    """Bring everything to the refrigerator and cool it."""
    left, appliance = list(some), appliances(walk, "cools")[0]
    carry(walk, dict.fromkeys(left, appliance))
    for one in left:
        walk.cool(one, appliance)


def soak(walk: Walk, some: Iterable[int]) -> None:
    """Bring everything to the sink and soak it."""
    left, appliance = list(some), appliances(walk, "soaks")[0]
    carry(walk, dict.fromkeys(left, appliance))
    for one in left:
        walk.soak(one, appliance)


def appliances(walk: Walk, role: str) -> list[int]:
    """Return the appliances that heat, cool or soak.

    Raises:
        DeadEndError: if there is none that may be used.
    """
    world = walk.world
    locations = [
        location
        for location in world.locations
        if world.kinds[location].role == role and walk.grounded >> location & 1
    ]
    if not locations:
        raise DeadEndError
    return locations
