"""A person on the way: the state as it changes step by step, and the steps.

Each verb does first what it needs: goes there, opens lids, frees the hand. Between places every way is one
move, so the length of a plan is what must be done with each thing, one per lid, and the moves; and moves are
saved by beginning where one stands, by finishing one place before the next, and by carrying what holds
several things, or what several things are wanted in.

Of the many walks that are tried only the number of steps counts; the actions are written down where one of
them is taken.
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
    """A demand that cannot be met from here, or not with what may be used."""


class Walk:
    """A walk through a household.

    Attributes:
        holding: what is in the hand, or `NOTHING`.
        place: as in `State`.
        states: the dynamic states by name, as bit sets.
        shut: bit set of what opens and is not open.
        actions: the steps; None if they are not written down.
        laid: what has been laid somewhere, in the order of laying.
        limit: more steps than that are a dead end (found at the latest when something more is taken).
    """

    __slots__ = (
        *("world", "grounded", "locations", "is_location", "at", "holding", "place", "states", "shut"),
        *("steps", "limit", "laid", "actions"),
    )

    def __init__(self, world: World, state: State, grounded: BitSet) -> None:
        self.world, self.grounded = world, grounded
        self.locations, self.is_location = world.of("LOCATION"), world.location_flags
        self.shut: BitSet = world.of("openable") & ~state.open
        self.at, self.holding = state.at, state.holding
        self.place = bytearray(state.place)
        self.states: dict[str, BitSet] = dict(zip(STATES, state[3:11], strict=True))
        self.steps, self.limit = 0, NO_LIMIT
        self.laid: list[int] = []
        self.actions: list[Action] | None = None

    def fork(self, limit: int = NO_LIMIT) -> Walk:
        """Return a walk that begins where this one is, and is a dead end after more than `limit` steps."""
        other = object.__new__(Walk)
        other.world, other.grounded = self.world, self.grounded
        other.locations, other.is_location = self.locations, self.is_location
        other.shut, other.at, other.holding = self.shut, self.at, self.holding
        other.place, other.states = self.place[:], self.states.copy()
        other.steps, other.limit, other.laid, other.actions = 0, limit, [], None
        return other

    def location(self, entity: int) -> int:
        """The location where `entity` is; for a location itself, and for what is held where the person is."""
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
        """Go to `container` and have it open, and what it lies in."""
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
        """Go to `container` and shut it."""
        if self.is_location[container]:
            self.go(container)
            self._step("human-close-location", container)
        else:
            self.lay_down_at_location(container)
            below = self.place[container]
            self.open(below)
            self._step("human-close-receptacle-at-location", container, below)
        self.shut |= 1 << container
        self.states["open"] &= ~(1 << container)

    def take(self, entity: int) -> None:
        """Have `entity` in the hand."""
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

    def lay(self, entity: int, container: int) -> None:
        """Take `entity` and lay it into or onto `container`."""
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
        self.laid.append(entity)
        self.holding = NOTHING

    def free_hand(self, ahead: int = NOTHING) -> None:
        """Lay down what is in the hand: here, or where the way leads if that is shut here."""
        if self.holding == NOTHING:
            return
        if ahead == NOTHING or not self.shut >> self.at & 1:
            ahead = self.at
        self.lay(self.holding, ahead)

    def lay_down_at_location(self, entity: int) -> None:
        """Have `entity` lie directly at a location: where it is, if need be."""
        if self.holding == entity:
            self.free_hand()
        elif not self.is_location[self.place[entity]]:
            self.lay(entity, self.location(entity))

    def switch(self, entity: int, on: bool = True) -> None:
        """Go to `entity` and have it switched on, or off."""
        if bool(self.states["toggled"] >> entity & 1) == on:
            return
        word = "on" if on else "off"
        if self.is_location[entity]:
            self.go(entity)
            self._step(f"human-toggle-{word}-location", entity)
        else:
            self.lay_down_at_location(entity)
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


# ---- jobs with many things on one walk


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
        treat(walk, (tool,), "soaks")
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


def treat(walk: Walk, entities: Iterable[int], role: Literal["cools", "soaks"]) -> None:
    """Bring everything to the refrigerator and cool it, or to the sink and soak it."""
    appliance, do = appliances(walk, role)[0], walk.cool if role == "cools" else walk.soak
    carry(walk, dict.fromkeys(entities, appliance))
    for entity in entities:
        do(entity, appliance)


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
