"""A person on the way: the state as it changes step by step, and the steps.

Each verb does first what it needs: goes there, opens lids, frees the hand. Between places every way is one
move, so the length of a plan is what must be done with each thing, one per lid, and the moves; and moves are
saved by beginning where one stands, by finishing one place before the next, and by carrying what holds
several things, or what several things are wanted in.

Of the many walks that are tried only the number of steps counts; the actions are written down where one of
them is taken.
"""

from __future__ import annotations

from typing import Final

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
        "actions",
        "at",
        "grounded",
        "holding",
        "is_location",
        "laid",
        "limit",
        "locations",
        "place",
        "shut",
        "states",
        "steps",
        "world",
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
        self.steps += 1
        if self.actions is not None:
            if self.is_location[container]:
                self.actions.append(Action("human-pick-up-at-location", (entity, container)))
            else:
                name = "human-pick-up-from-receptacle-at-location"
                self.actions.append(Action(name, (entity, container, self.at)))
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
