"""A person on the way: the state as it changes step by step, and the steps.

Each verb does first what it needs: goes there, opens lids, frees the hand.
"""

from __future__ import annotations

from typing import Final

from simulator.handmethat.actions import Action
from simulator.handmethat.hierarchy import STATES
from simulator.handmethat.world import NOTHING, BitSet, State, World

_NOWHERE: Final = 255
NO_LIMIT: Final = 1 << 30


class DeadEndError(Exception):
    """What is asked for cannot be done from here, or not with what may be used."""


class Walk:
    """A walk through a household.

    Args:
        world: the household.
        state: where it begins.
        grounded: what may be used.

    Attributes:
        at: where the person stands.
        holding: what is in the hand, or `NOTHING`.
        place: as in `State`.
        states: the dynamic states by name, as bit sets.
        actions: the steps so far.
        limit: so many steps are too many.
    """

    __slots__ = (
        "actions",
        "at",
        "grounded",
        "holding",
        "limit",
        "locations",
        "place",
        "shut",
        "states",
        "world",
    )

    def __init__(self, world: World, state: State, grounded: BitSet) -> None:
        self.world = world
        self.grounded = grounded
        self.locations: BitSet = world.of("LOCATION")
        self.shut: BitSet = world.of("openable") & ~state.open
        self.at = state.at
        self.holding = state.holding
        self.place = bytearray(state.place)
        self.states: dict[str, BitSet] = {name: getattr(state, name) for name in STATES}
        self.actions: list[Action] = []
        self.limit = NO_LIMIT

    def fork(self, limit: int = NO_LIMIT) -> Walk:
        """Return a walk that begins where this one is, and is a dead end once it has `limit` steps."""
        other = object.__new__(Walk)
        other.world, other.grounded = self.world, self.grounded
        other.locations, other.shut = self.locations, self.shut
        other.at, other.holding = self.at, self.holding
        other.place, other.states = self.place[:], self.states.copy()
        other.actions, other.limit = [], limit
        return other

    def state(self) -> State:
        """Return the state by now."""
        return State._make((self.at, self.holding, bytes(self.place), *self.states.values(), 0, False))

    def location(self, entity: int) -> int:
        """The location where `entity` is; for a location itself, and for what is held where the person is."""
        while not self.locations >> entity & 1:
            entity = self.place[entity]
            if entity == _NOWHERE:
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
            self._act("human-move", self.at, location)
            self.at = location

    def open(self, container: int) -> None:
        """Go to `container` and have it open, and what it lies in."""
        if self.locations >> container & 1:
            self.go(container)
            if self.shut >> container & 1:
                self._act("human-open-location", container)
                self._open(container)
            return
        below = self.place[container]
        if below == _NOWHERE:
            raise DeadEndError
        self.open(below)
        if self.shut >> container & 1:
            self._act("human-open-receptacle-at-location", container, below)
            self._open(container)

    def close(self, container: int) -> None:
        """Go to `container` and shut it."""
        if self.locations >> container & 1:
            self.go(container)
            self._act("human-close-location", container)
        else:
            self.lay_down_at_location(container)
            below = self.place[container]
            self.open(below)
            self._act("human-close-receptacle-at-location", container, below)
        self.shut |= 1 << container
        self.states["open"] &= ~(1 << container)

    def take(self, entity: int) -> None:
        """Have `entity` in the hand."""
        if self.holding == entity:
            return
        container = self.place[entity]
        if container == _NOWHERE:
            raise DeadEndError
        self.free_hand(self.location(container))
        self.open(container)
        if self.locations >> container & 1:
            self._act("human-pick-up-at-location", entity, container)
        else:
            self._act("human-pick-up-from-receptacle-at-location", entity, container, self.at)
        self.place[entity] = _NOWHERE
        self.holding = entity

    def lay(self, entity: int, container: int) -> None:
        """Take `entity` and lay it into or onto `container`."""
        self.take(entity)
        self.open(container)
        name = f"human-put-{self.world.kinds[container].relation}"
        if self.locations >> container & 1:
            self._act(f"{name}-location", entity, container)
        else:
            self._act(f"{name}-receptacle-at-location", entity, container, self.at)
        self.place[entity] = container
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
        elif not self.locations >> self.place[entity] & 1:
            self.lay(entity, self.location(entity))

    def switch(self, entity: int, on: bool = True) -> None:
        """Go to `entity` and have it switched on, or off."""
        if bool(self.states["toggled"] >> entity & 1) == on:
            return
        word = "on" if on else "off"
        if self.locations >> entity & 1:
            self.go(entity)
            self._act(f"human-toggle-{word}-location", entity)
        else:
            self.lay_down_at_location(entity)
            self.open(self.place[entity])
            self._act(f"human-toggle-{word}-movable-at-location", entity, self.at)
        self._set("toggled", entity, on)

    def heat(self, entity: int, appliance: int) -> None:
        """Heat `entity`, which is in or on `appliance`."""
        self.go(appliance)
        self.switch(appliance)
        self.free_hand()
        self._act("human-heat-obj", entity, appliance)
        self._set("cooked", entity)
        self._set("frozen", entity, False)
        self._set("toggled", appliance, False)

    def cool(self, entity: int, appliance: int) -> None:
        """Cool `entity`, which is in `appliance`."""
        self.go(appliance)
        self.switch(appliance)
        self.free_hand()
        self._act("human-cool-obj", entity, appliance)
        self._set("frozen", entity)
        self._set("cooked", entity, False)

    def soak(self, entity: int, appliance: int) -> None:
        """Soak `entity`, which is in `appliance`."""
        self.go(appliance)
        self.switch(appliance)
        self._act("human-soak-obj", entity, appliance)
        self._set("soaked", entity)
        self._set("toggled", appliance, False)

    def slice(self, entity: int, knife: int) -> None:
        """Slice `entity`, which lies on a location, with `knife`, which is in the hand."""
        self.go(self.place[entity])
        self._act("human-slice-obj", entity, knife, self.at)
        self._set("sliced", entity)

    def clean(self, entity: int, tool: int) -> None:
        """Clean `entity`, a location or at one, with `tool`, which is in the hand."""
        if self.locations >> entity & 1:
            self.go(entity)
            self._act("human-clean-location", tool, entity)
        else:
            self.open(self.place[entity])
            self._act("human-clean-obj-at-location", entity, tool, self.at)
        self._set("dusty", entity, False)
        self._set("stained", entity, False)

    def _act(self, name: str, *args: int) -> None:
        if len(self.actions) >= self.limit:
            raise DeadEndError
        self.actions.append(Action(name, args))

    def _open(self, container: int) -> None:
        self.shut &= ~(1 << container)
        self.states["open"] |= 1 << container

    def _set(self, name: str, entity: int, value: bool = True) -> None:
        if value:
            self.states[name] |= 1 << entity
        else:
            self.states[name] &= ~(1 << entity)
