"""Jobs with many things on one walk: carrying, cleaning, slicing, heating, cooling, soaking."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

from simulator.handmethat.planner.walk import DeadEndError, Walk
from simulator.handmethat.world import BitSet

# Carrying a container costs as much as carrying two things out of it one by one.
_WORTH_CARRYING: Final = 3
# Bringing the wanted container to two things costs less than bringing them to it one by one.
_WORTH_BRINGING: Final = 2


def carry(walk: Walk, loads: Mapping[int, int], *, bring: bool = False, fixed: BitSet = 0) -> None:
    """Lay each entity into its container.

    `bring`: whether wanted containers may be brought to the things.

    Raises:
        DeadEndError: if that cannot be done, or not within the limit.
    """
    left = {entity: place for entity, place in loads.items() if walk.place[entity] != place}
    if walk.holding in left:
        walk.lay(walk.holding, left.pop(walk.holding))
    where = {entity: walk.location(entity) for entity in left} if len(left) > 1 else {}
    while len(left) > 1:
        # Each is at least taken and laid.
        if walk.steps + 2 * len(left) > walk.limit:
            raise DeadEndError
        entity = _choose_next(walk, left, where, bring)
        place, there = left[entity], where[entity]
        home, container = walk.location(place), walk.place[entity]
        if home != there:
            if bring and there != walk.at and _may_be_carried(walk, place, left, fixed):
                many = sum(left[other] == place and where[other] == there for other in left)
                if many >= _WORTH_BRINGING and (walk.at == home or many > _WORTH_BRINGING):
                    walk.lay(place, there)
                    continue
            if len(left) >= _WORTH_CARRYING and _may_be_carried(walk, container, left, fixed):
                inside = [
                    other
                    for other in left
                    if walk.place[other] == container and walk.location(left[other]) == home
                ]
                if len(inside) >= _WORTH_CARRYING:
                    walk.lay(container, home)
                    where.update({other: home for other in left if walk.place[other] == container})
                    continue
        walk.lay(entity, place)
        del left[entity]
    for entity, place in left.items():
        walk.lay(entity, place)


def _may_be_carried(walk: Walk, container: int, left: Mapping[int, int], fixed: BitSet) -> bool:
    return not (walk.is_location[container] or fixed >> container & 1 or container in left)


def _choose_next(walk: Walk, left: Mapping[int, int], where: Mapping[int, int], bring: bool) -> int:
    """Return what to carry next: what is here, else what is not yet where it is wanted."""
    at, location = walk.at, walk.location
    here = [entity for entity in left if where[entity] == at]
    if here:
        return next((entity for entity in here if location(left[entity]) == at), here[0])
    far = [entity for entity in left if location(left[entity]) != where[entity]]
    if not bring or not far:
        return (far or list(left))[0]
    # Where few things are, one of them is best fetched on the way to the container.
    counts = [sum(where[other] == where[entity] for other in far) for entity in far]
    fewest = min(counts)
    if location(left[far[0]]) != at and fewest <= _WORTH_BRINGING:
        return far[counts.index(fewest)]
    return far[0]


def visit(walk: Walk, entities: Iterable[int], do: Callable[[int], None]) -> None:
    """Do something with each entity at its place, the nearest place first."""
    left = {entity: walk.location(entity) for entity in entities}
    while left:
        places = left.values()
        place = walk.at if walk.at in places else next(iter(places))
        for entity in [entity for entity in left if left[entity] == place]:
            do(entity)
            del left[entity]


def lies_at_location(walk: Walk, entity: int) -> bool:
    """Return True if `entity` is a location, or lies directly at one."""
    if walk.is_location[entity]:
        return True
    return walk.holding != entity and bool(walk.is_location[walk.place[entity]])


def take_ready(walk: Walk, tool: int) -> None:
    """Have a cleaning tool in the hand, wet if it has to be."""
    if "soaked" in walk.world.kinds[tool].states and not walk.states["soaked"] >> tool & 1:
        soak(walk, (tool,))
    walk.take(tool)


def clean(walk: Walk, targets: Iterable[int], tools: Iterable[int]) -> None:
    """Clean everything, each thing with the first of the tools that cleans it.

    What is in the hand or in a movable container is laid down at its location first.

    Raises:
        DeadEndError: if no tool cleans something.
    """
    left, kinds = list(targets), walk.world.kinds
    visit(walk, [entity for entity in left if not lies_at_location(walk, entity)], walk.lay_down_at_location)
    for tool in tools:
        kind = kinds[tool].name
        cleaned = [entity for entity in left if kind in kinds[entity].cleaners]
        if cleaned:
            take_ready(walk, tool)
            visit(walk, cleaned, partial(walk.clean, tool=tool))
            left = [entity for entity in left if entity not in cleaned]
    if left:
        raise DeadEndError


def slice_up(walk: Walk, entities: Iterable[int], knife: int, surface: int) -> None:
    """Slice everything: on the surface where it lies, else on `surface`."""
    left = list(entities)
    if walk.holding == knife:
        ready = [entity for entity in left if _lies_on_surface(walk, entity)]
        visit(walk, ready, partial(walk.slice, knife=knife))
        left = [entity for entity in left if entity not in ready]
    if left:
        carry(walk, {entity: surface for entity in left if not _lies_on_surface(walk, entity)})
        walk.take(knife)
        visit(walk, left, partial(walk.slice, knife=knife))


def _lies_on_surface(walk: Walk, entity: int) -> bool:
    return lies_at_location(walk, entity) and walk.world.kinds[walk.place[entity]].relation == "ontop"


def heat(walk: Walk, entities: Iterable[int], appliance: int, loads: Mapping[int, int]) -> None:
    """Bring everything to `appliance` and heat it; what is among `loads` one by one, and on from there."""
    singly = [entity for entity in entities if entity in loads]
    together = [entity for entity in entities if entity not in loads]
    carry(walk, dict.fromkeys(together, appliance))
    for entity in together:
        walk.heat(entity, appliance)

    def heat_and_carry(entity: int) -> None:
        carry(walk, {entity: appliance})
        walk.heat(entity, appliance)
        walk.lay(entity, loads[entity])

    visit(walk, singly, heat_and_carry)


def cool(walk: Walk, entities: Iterable[int]) -> None:
    """Bring everything to the refrigerator and cool it."""
    appliance = appliances(walk, "cools")[0]
    carry(walk, dict.fromkeys(entities, appliance))
    for entity in entities:
        walk.cool(entity, appliance)


def soak(walk: Walk, entities: Iterable[int]) -> None:
    """Bring everything to the sink and soak it."""
    appliance = appliances(walk, "soaks")[0]
    carry(walk, dict.fromkeys(entities, appliance))
    for entity in entities:
        walk.soak(entity, appliance)


def appliances(walk: Walk, role: str) -> list[int]:
    """Return the appliances that heat, cool or soak.

    Raises:
        DeadEndError: if there is none that may be used.
    """
    kinds, grounded = walk.world.kinds, walk.grounded
    usable = [place for place in walk.world.locations if kinds[place].role == role and grounded >> place & 1]
    if not usable:
        raise DeadEndError
    return usable
