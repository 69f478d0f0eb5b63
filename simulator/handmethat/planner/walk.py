"""A person's walk through a household: the changing state and the steps.

Each verb first does what it requires: it goes there, opens lids, frees the hand. Any two places are one move
apart, so the length of a plan is the actions on each thing, one per lid, and the moves. Moves are
saved by beginning at the current place, by finishing one place before the next, and by carrying a container
of several things, or for several things.

Many walks are simulated for their number of steps only; actions are recorded for the one that is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final, Literal

from simulator.handmethat.actions import Action
from simulator.handmethat.hierarchy import STATES
from simulator.handmethat.world import NOTHING, BitSet, State, World

NOWHERE: Final = 255
NO_LIMIT: Final = 1 << 30


class DeadEndError(Exception):
    """A demand that cannot be met from the current state with the entities that may be used."""


class Walk:
    """A walk through a household.

    Attributes:
        grounded: bit set of the entities that may be used.
        holding: the entity in the hand, or `NOTHING`.
        place: as in `State`.
        states: the dynamic states by name, as bit sets.
        shut: bit set of containers that can be opened and are not open.
        actions: the steps; None if they are not recorded.
        put_down: entities that were put down, in that order.
        limit: more steps than this are a dead end (detected at the latest when the next thing is taken).
    """

    __slots__ = (
        *("world", "grounded", "locations", "is_location", "at", "holding", "place", "states", "shut"),
        *("steps", "limit", "put_down", "actions"),
    )

    def __init__(self, world: World, state: State, grounded: BitSet) -> None:
        self.world, self.grounded = world, grounded
        self.locations, self.is_location = world.find_all("LOCATION"), world.location_flags
        self.shut: BitSet = world.find_all("openable") & ~state.open
        self.at, self.holding = state.at, state.holding
        self.place = bytearray(state.place)
        self.states: dict[str, BitSet] = dict(zip(STATES, state[3:11], strict=True))
        self.steps, self.limit = 0, NO_LIMIT
        self.put_down: list[int] = []
        self.actions: list[Action] | None = None

    def fork(self, limit: int = NO_LIMIT) -> Walk:
        """Return a new walk from the current state, with `limit` steps and no recorded actions."""
        other = object.__new__(Walk)
        other.world, other.grounded = self.world, self.grounded
        other.locations, other.is_location = self.locations, self.is_location
        other.shut, other.at, other.holding = self.shut, self.at, self.holding
        other.place, other.states = self.place[:], self.states.copy()
        other.steps, other.limit, other.put_down, other.actions = 0, limit, [], None
        return other

    def location(self, entity: int) -> int:
        """Return the location of `entity`: itself for a location, the person's for a thing that is held."""
        place, is_location = self.place, self.is_location
        while not is_location[entity]:
            entity = place[entity]
            if entity == NOWHERE:
                return self.at
        return entity

    def is_shut(self, container: int) -> bool:
        """Return True if the lid of `container` is shut."""
        return bool(self.shut >> container & 1)

    def go(self, location: int) -> None:
        """Go to `location`."""
        if self.at != location:
            if not self.grounded >> location & 1:
                raise DeadEndError
            self._step("human-move", self.at, location)
            self.at = location

    def open(self, container: int) -> None:
        """Go to `container` and open it, and before that the container it is in, if they are shut."""
        if self.is_location[container]:
            if self.at != container:
                self.go(container)
            if self.shut >> container & 1:
                self._step("human-open-location", container)
                self._open(container)
            return
        below = self.place[container]
        if below == NOWHERE:
            raise DeadEndError
        self.open(below)
        if self.shut >> container & 1:
            self._step("human-open-receptacle-at-location", container, below)
            self._open(container)

    def close(self, container: int) -> None:
        """Go to `container` and close it."""
        if self.is_location[container]:
            self.go(container)
            self._step("human-close-location", container)
        else:
            self.put_down_at_location(container)
            below = self.place[container]
            self.open(below)
            self._step("human-close-receptacle-at-location", container, below)
        self.shut |= 1 << container
        self.states["open"] &= ~(1 << container)

    def take(self, entity: int) -> None:
        """Take `entity` into the hand."""
        if self.holding == entity:
            return
        container = self.place[entity]
        if container == NOWHERE or self.steps > self.limit:
            raise DeadEndError
        if self.holding != NOTHING:
            self.free_hand(self.location(container))
        self.open(container)
        if self.is_location[container]:
            self._step("human-pick-up-at-location", entity, container)
        else:
            self._step("human-pick-up-from-receptacle-at-location", entity, container, self.at)
        self.place[entity] = NOWHERE
        self.holding = entity

    def put(self, entity: int, container: int) -> None:
        """Take `entity` and put it into or onto `container`."""
        if self.holding != entity:
            self.take(entity)
        self.open(container)
        self.steps += 1
        if self.actions is not None:
            name = f"human-put-{self.world.kinds[container].relation}"
            if self.is_location[container]:
                self.actions.append(Action(f"{name}-location", (entity, container)))
            else:
                self.actions.append(Action(f"{name}-receptacle-at-location", (entity, container, self.at)))
        self.place[entity] = container
        self.put_down.append(entity)
        self.holding = NOTHING

    def free_hand(self, ahead: int = NOTHING) -> None:
        """Put down the thing in the hand: here, or at `ahead` if the place here is shut."""
        if self.holding == NOTHING:
            return
        if ahead == NOTHING or not self.shut >> self.at & 1:
            ahead = self.at
        self.put(self.holding, ahead)

    def put_down_at_location(self, entity: int) -> None:
        """Put `entity` down directly at its location, unless it already lies there."""
        if self.holding == entity:
            self.free_hand()
        elif not self.is_location[self.place[entity]]:
            self.put(entity, self.location(entity))

    def switch(self, entity: int, on: bool = True) -> None:
        """Go to `entity` and switch it on or off, if needed."""
        if bool(self.states["toggled"] >> entity & 1) == on:
            return
        word = "on" if on else "off"
        if self.is_location[entity]:
            self.go(entity)
            self._step(f"human-toggle-{word}-location", entity)
        else:
            self.put_down_at_location(entity)
            self.open(self.place[entity])
            self._step(f"human-toggle-{word}-movable-at-location", entity, self.at)
        self._set("toggled", entity, on)

    def heat(self, entity: int, appliance: int) -> None:
        """Heat `entity`, which is in or on `appliance`."""
        self.go(appliance)
        self.switch(appliance)
        self.free_hand()
        self._step("human-heat-obj", entity, appliance)
        self._set("cooked", entity)
        self._set("frozen", entity, False)
        self._set("toggled", appliance, False)

    def cool(self, entity: int, appliance: int) -> None:
        """Cool `entity`, which is in `appliance`."""
        self.go(appliance)
        self.switch(appliance)
        self.free_hand()
        self._step("human-cool-obj", entity, appliance)
        self._set("frozen", entity)
        self._set("cooked", entity, False)

    def soak(self, entity: int, appliance: int) -> None:
        """Soak `entity`, which is in `appliance`."""
        self.go(appliance)
        self.switch(appliance)
        self._step("human-soak-obj", entity, appliance)
        self._set("soaked", entity)
        self._set("toggled", appliance, False)

    def slice(self, entity: int, knife: int) -> None:
        """Slice `entity`, which lies on a location, with `knife`, which is in the hand."""
        self.go(self.place[entity])
        self._step("human-slice-obj", entity, knife, self.at)
        self._set("sliced", entity)

    def clean(self, entity: int, tool: int) -> None:
        """Clean `entity`, a location or at one, with `tool`, which is in the hand."""
        if self.is_location[entity]:
            self.go(entity)
            self._step("human-clean-location", tool, entity)
        else:
            self.open(self.place[entity])
            self._step("human-clean-obj-at-location", entity, tool, self.at)
        self._set("dusty", entity, False)
        self._set("stained", entity, False)

    def _step(self, name: str, *args: int) -> None:
        self.steps += 1
        if self.actions is not None:
            self.actions.append(Action(name, args))

    def _open(self, container: int) -> None:
        self.shut &= ~(1 << container)
        self.states["open"] |= 1 << container

    def _set(self, name: str, entity: int, value: bool = True) -> None:
        if value:
            self.states[name] |= 1 << entity
        else:
            self.states[name] &= ~(1 << entity)


# ---- jobs with several things


# Fewest things for which carrying their container pays: for two, it costs as much as carrying each.
_WORTH_CARRYING: Final = 3
# Fewest things for which bringing the destination container to them pays.
_WORTH_BRINGING: Final = 2


def carry(walk: Walk, loads: Mapping[int, int], *, bring: bool = False, fixed: BitSet = 0) -> None:
    """Put each entity into its container.

    `bring`: whether destination containers may be brought to the things.

    Raises:
        DeadEndError: if that is impossible, or takes more steps than the limit.
    """
    left = {entity: place for entity, place in loads.items() if walk.place[entity] != place}
    if walk.holding in left:
        walk.put(walk.holding, left.pop(walk.holding))
    where = {entity: walk.location(entity) for entity in left} if len(left) > 1 else {}
    while len(left) > 1:
        # Each thing must at least be taken and put down.
        if walk.steps + 2 * len(left) > walk.limit:
            raise DeadEndError
        entity = _choose_next(walk, left, where, bring)
        place, there = left[entity], where[entity]
        home, container = walk.location(place), walk.place[entity]
        if home != there:
            if bring and there != walk.at and _may_be_carried(walk, place, left, fixed):
                count = sum(left[other] == place and where[other] == there for other in left)
                if count >= _WORTH_BRINGING and (walk.at == home or count > _WORTH_BRINGING):
                    walk.put(place, there)
                    continue
            if len(left) >= _WORTH_CARRYING and _may_be_carried(walk, container, left, fixed):
                inside = [
                    other
                    for other in left
                    if walk.place[other] == container and walk.location(left[other]) == home
                ]
                if len(inside) >= _WORTH_CARRYING:
                    walk.put(container, home)
                    where.update({other: home for other in left if walk.place[other] == container})
                    continue
        walk.put(entity, place)
        del left[entity]
    for entity, place in left.items():
        walk.put(entity, place)


def _may_be_carried(walk: Walk, container: int, left: Mapping[int, int], fixed: BitSet) -> bool:
    return not (walk.is_location[container] or fixed >> container & 1 or container in left)


def _choose_next(walk: Walk, left: Mapping[int, int], where: Mapping[int, int], bring: bool) -> int:
    """Return the thing to carry next: one that is here, else one that is not at its destination."""
    at, location = walk.at, walk.location
    here = [entity for entity in left if where[entity] == at]
    if here:
        return next((entity for entity in here if location(left[entity]) == at), here[0])
    far = [entity for entity in left if location(left[entity]) != where[entity]]
    if not bring or not far:
        return (far or list(left))[0]
    # At a place with few things, one is best fetched on the way to the container.
    counts = [sum(where[other] == where[entity] for other in far) for entity in far]
    fewest = min(counts)
    if location(left[far[0]]) != at and fewest <= _WORTH_BRINGING:
        return far[counts.index(fewest)]
    return far[0]


def visit(walk: Walk, entities: Iterable[int], do: Callable[[int], None]) -> None:
    """Call `do` for each entity at its location, beginning at the current location."""
    left = {entity: walk.location(entity) for entity in entities}
    while left:
        places = left.values()
        place = walk.at if walk.at in places else next(iter(places))
        for entity in [entity for entity in left if left[entity] == place]:
            do(entity)
            del left[entity]


def lies_at_location(walk: Walk, entity: int) -> bool:
    """Return True if `entity` is a location or lies directly in or on one."""
    if walk.is_location[entity]:
        return True
    return walk.holding != entity and bool(walk.is_location[walk.place[entity]])


def take_ready(walk: Walk, tool: int) -> None:
    """Take a cleaning tool into the hand, after soaking it if needed."""
    if "soaked" in walk.world.kinds[tool].states and not walk.states["soaked"] >> tool & 1:
        treat(walk, (tool,), "soaks")
    walk.take(tool)


def clean(walk: Walk, targets: Iterable[int], tools: Iterable[int]) -> None:
    """Clean all targets, each with the first tool that can clean it.

    A thing that is in the hand or in a movable container is first put down at its location.

    Raises:
        DeadEndError: if a target cannot be cleaned with the tools.
    """
    left, kinds = list(targets), walk.world.kinds
    visit(walk, [entity for entity in left if not lies_at_location(walk, entity)], walk.put_down_at_location)
    for tool in tools:
        kind = kinds[tool].name
        cleanable = [entity for entity in left if kind in kinds[entity].cleaners]
        if cleanable:
            take_ready(walk, tool)
            visit(walk, cleanable, partial(walk.clean, tool=tool))
            left = [entity for entity in left if entity not in cleanable]
    if left:
        raise DeadEndError


def slice_up(walk: Walk, entities: Iterable[int], knife: int, surface: int) -> None:
    """Slice each entity on the surface it lies on, else on `surface`."""
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
    """Bring all entities to `appliance` and heat them; carry those in `loads` on as soon as they are hot."""
    singly = [entity for entity in entities if entity in loads]
    together = [entity for entity in entities if entity not in loads]
    carry(walk, dict.fromkeys(together, appliance))
    for entity in together:
        walk.heat(entity, appliance)

    def heat_and_carry(entity: int) -> None:
        carry(walk, {entity: appliance})
        walk.heat(entity, appliance)
        walk.put(entity, loads[entity])

    visit(walk, singly, heat_and_carry)


def treat(walk: Walk, entities: Iterable[int], role: Literal["cools", "soaks"]) -> None:
    """Bring the entities to the refrigerator and cool them, or to the sink and soak them."""
    appliance, do = appliances(walk, role)[0], walk.cool if role == "cools" else walk.soak
    carry(walk, dict.fromkeys(entities, appliance))
    for entity in entities:
        do(entity, appliance)


def appliances(walk: Walk, role: str) -> list[int]:
    """Return the usable appliances with a role (``heats``, ``cools`` or ``soaks``).

    Raises:
        DeadEndError: if there is no such appliance.
    """
    kinds, grounded = walk.world.kinds, walk.grounded
    usable = [place for place in walk.world.locations if kinds[place].role == role and grounded >> place & 1]
    if not usable:
        raise DeadEndError
    return usable
