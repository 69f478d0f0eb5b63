"""Meanings and utterances: a request and the description of its objects (spec 6.1, 7.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, Final, Literal

from simulator.handmethat.hierarchy import ABILITY_OF_STATE
from simulator.handmethat.world import BitSet, State, World, bit_set

Quest = Literal["bring_me", "move_to", "change_state"]
QUESTS: Final[tuple[Quest, ...]] = ("bring_me", "move_to", "change_state")
KIND_KEYS: Final = ("class", "subclass", "type")
PLACE_KEYS: Final = ("inside", "ontop")
# Canonical order of a description, and the order in which its states are worded.
STATE_KEYS: Final = ("open", "cooked", "frozen", "sliced", "soaked", "toggled", "dusty", "color", "size")
KEYS: Final = (*KIND_KEYS, *PLACE_KEYS, *STATE_KEYS)
# verb of change_state -> the abilities that allow it
VERBS: Final[Mapping[str, tuple[str, ...]]] = {
    "toggle": ("toggleable",),
    "heat": ("cookable",),
    "cool": ("freezable",),
    "slice": ("sliceable",),
    "soak": ("soakable",),
    "clean": ("dustyable", "stainable"),
}

Value = str | bool
Specifier = tuple[str, Value]
# An object of A(.): entity, and destination (entity name) or verb, None for bring_me.
Grounding = tuple[int, str | None]


@dataclass(frozen=True, slots=True)
class Meaning:
    """A triple (quest type, description, argument); an utterance has the same form.

    Attributes:
        description: specifiers in the order of `KEYS` (see `describe`).
        argument: None for bring_me; the name of the destination for move_to (None in an utterance that
            leaves it open); the verb for change_state.
    """

    quest: Quest
    description: tuple[Specifier, ...]
    argument: str | None = None

    def get(self, key: str) -> Value | None:
        """Return the value of a specifier, or None."""
        return next((value for name, value in self.description if name == key), None)

    @property
    def kind(self) -> tuple[str, str] | None:
        """The most specific kind in the description, with its key."""
        return next(((key, str(name)) for key, name in reversed(self.description) if key in KIND_KEYS), None)

    @property
    def place(self) -> tuple[str, str] | None:
        """The relation and the container in the description, if any."""
        return next(((key, str(name)) for key, name in self.description if key in PLACE_KEYS), None)

    def to_json(self) -> list[Any]:
        """Return the form used in episode files: [quest, {specifier: value}, argument]."""
        return [self.quest, dict(self.description), self.argument]


Utterance = Meaning


def describe(specifiers: Mapping[str, Value] | Iterable[Specifier]) -> tuple[Specifier, ...]:
    """Return specifiers in canonical order."""
    values = dict(specifiers)
    return tuple((key, values[key]) for key in KEYS if key in values)


def matching(world: World, state: State, description: Iterable[Specifier]) -> BitSet:
    """Return the movable entities that match every specifier; a state that an entity lacks is a mismatch."""
    things = world.find_all("movable")
    for key, value in description:
        things &= extension(world, state, key, value)
    return things


def changeable(world: World, verb: str) -> BitSet:
    """Return the entities that a change_state verb applies to, regardless of their current state."""
    return reduce(or_, map(world.find_all, VERBS.get(verb, ())), 0)


def extension(world: World, state: State, key: str, value: Value) -> BitSet:
    """Return the entities that match one specifier."""
    if key in KIND_KEYS or key in ("color", "size"):
        return world.find_all(str(value))
    if key in PLACE_KEYS:
        container = world.index.get(str(value))
        if container is None or world.kinds[container].relation != key:
            return 0
        return bit_set(state.contents(container))
    able = world.find_all(ABILITY_OF_STATE[key])
    positive: BitSet = getattr(state, key)
    return able & positive if value else able & ~positive
