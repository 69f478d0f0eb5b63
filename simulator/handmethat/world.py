"""A household and its state: the part that never changes (`World`) and the part that does (`State`).

A `World` numbers its entities in the order of creation: locations, receptacles, food, tools, things. A
state is a tuple of small values: one byte per entity for its container and one bit set (an int whose bit
i stands for entity i) per dynamic attribute. It is hashable and cheap to compare and copy, and
everything shown to people is derived from it.

The place of a thing determines its relation (inside or on top): each container has only one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from simulator.errors import InputError
from simulator.handmethat.hierarchy import CLASSES, STATE_OF_ABILITY, STATES, Kind, Relation

# No entity: the container of a thing that is held, the content of an empty hand.
NOTHING: Final = -1
HUMAN: Final = -2
HUMAN_NAME: Final = "h"
_NOWHERE: Final = 255

BitSet = int


class State(NamedTuple):
    """The changeable part of a household.

    Attributes:
        at: the location where the agent is (`HUMAN`: the robot is next to the human).
        holding: the entity in the agent's hand, or `NOTHING`.
        place: byte i is the container of entity i; 255 for locations and for a thing that is held.
        open: bit set of the entities that are open; likewise for each of `STATES`.
        given: bit set of the things the human holds (the robot's domain).
        waiting: whether the human waits for the robot (the human's domain).
    """

    at: int
    holding: int
    place: bytes
    open: BitSet = 0
    cooked: BitSet = 0
    frozen: BitSet = 0
    sliced: BitSet = 0
    soaked: BitSet = 0
    toggled: BitSet = 0
    dusty: BitSet = 0
    stained: BitSet = 0
    given: BitSet = 0
    waiting: bool = False

    def container(self, entity: int) -> int:
        """Return the direct container of `entity`; `NOTHING` for a location and for a thing that is held."""
        place = self.place[entity]
        return NOTHING if place == _NOWHERE else place

    def contents(self, container: int) -> list[int]:
        """Return the entities directly in or on `container`, in the order of creation."""
        contents, place = [], self.place
        entity = place.find(container)
        while entity >= 0:
            contents.append(entity)
            entity = place.find(container, entity + 1)
        return contents

    def with_place(self, entity: int, container: int) -> State:
        """Return the state with `entity` moved to `container` (`NOTHING`: taken from its place)."""
        byte = _NOWHERE if container == NOTHING else container
        return self._replace(place=self.place[:entity] + bytes((byte,)) + self.place[entity + 1 :])


@dataclass(frozen=True)
class World:
    """The entities of one household in the order of creation, with their unchanging properties."""

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    colors: tuple[str | None, ...]
    sizes: tuple[str | None, ...]

    def __len__(self) -> int:
        return len(self.names)

    def __deepcopy__(self, memo: object) -> World:
        return self

    def __reduce__(self) -> tuple[type[World], tuple[object, ...]]:
        # Cached properties are not sent to other processes.
        return World, (self.names, self.kinds, self.colors, self.sizes)

    @cached_property
    def index(self) -> MappingProxyType[str, int]:
        """Name -> entity."""
        return MappingProxyType({name: i for i, name in enumerate(self.names)})

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Names in commands: ``type#k``, or the bare type for the only entity of its type (spec 9.4)."""
        count: dict[str, int] = {}
        for kind in self.kinds:
            count[kind.name] = count.get(kind.name, 0) + 1
        return tuple(
            name if count[kind.name] > 1 else kind.name
            for name, kind in zip(self.names, self.kinds, strict=True)
        )

    @cached_property
    def masks(self) -> MappingProxyType[str, BitSet]:
        """Bit sets of the entities with an ability, class, subclass, type, colour or size.

        Keys are the bare words (``openable``, ``FOOD``, ``fruit``, ``apple``, ``red``, ``large``, and
        ``movable`` and ``receptacle``); the type that is named like its subclass (``tray``) is the same
        set. The locations' subclasses ``ontop`` and ``inside`` are left out.
        """
        sets: dict[str, BitSet] = dict.fromkeys((*CLASSES, *STATE_OF_ABILITY, "has-inside", "has-ontop"), 0)
        sets |= {"movable": 0, "receptacle": 0}
        # Speed: things of a kind are mostly adjacent, and the kinds of a subclass differ in their names only.
        by_words: dict[tuple[str, ...], BitSet] = {}
        identities = [id(kind) for kind in self.kinds]
        for _, run in groupby(range(len(self)), key=identities.__getitem__):
            bits = bit_set(run)
            kind = self.kinds[bits.bit_length() - 1]
            sets[kind.name] = sets.get(kind.name, 0) | bits
            words = _words(kind.cls, kind.subclass, kind.abilities)
            by_words[words] = by_words.get(words, 0) | bits
        for words, bits in by_words.items():
            for word in words:
                sets[word] = sets.get(word, 0) | bits
        for i, values in enumerate(zip(self.colors, self.sizes, strict=True)):
            for value in values:
                if value:
                    sets[value] = sets.get(value, 0) | 1 << i
        return MappingProxyType(sets)

    @cached_property
    def memo(self) -> dict[Hashable, Any]:
        """A cache for values that depend only on the household."""
        return {}

    @cached_property
    def location_flags(self) -> bytes:
        """1 for each location, else 0; a faster lookup than a bit set."""
        return bytes(kind.cls == "LOCATION" for kind in self.kinds)

    @cached_property
    def locations(self) -> tuple[int, ...]:
        """The entities that are locations."""
        return tuple(i for i, kind in enumerate(self.kinds) if kind.cls == "LOCATION")

    @cached_property
    def movables(self) -> tuple[int, ...]:
        """The entities that can be carried."""
        return tuple(i for i, kind in enumerate(self.kinds) if kind.movable)

    def entity(self, name: str) -> int:
        """Return the entity called `name`.

        Raises:
            InputError: if the household has no such entity.
        """
        if name == HUMAN_NAME:
            return HUMAN
        if name not in self.index:
            raise InputError(
                f"There is no {name!r} in this household; its things are called like {self.names[-1]!r}."
            )
        return self.index[name]

    def name(self, entity: int) -> str:
        """Return the name of `entity`; ``h`` for the human."""
        return HUMAN_NAME if entity == HUMAN else self.names[entity]

    def find_all(self, word: str) -> BitSet:
        """Return the entities with an ability, class, subclass, type, colour or size (see `masks`)."""
        return self.masks.get(word, 0)

    def relation(self, container: int) -> Relation:
        """Return how `container` holds things."""
        relation = self.kinds[container].relation
        assert relation is not None, self.names[container]
        return relation

    def only_of_type(self, entity: int) -> bool:
        """Return True if the household has no other entity of this type."""
        return self.find_all(self.kinds[entity].name).bit_count() == 1


@lru_cache(maxsize=1024)
def _words(cls: str, subclass: str, abilities: tuple[str, ...]) -> tuple[str, ...]:
    """Return the keys of `World.masks` that apply to a kind, except its name."""
    words = [cls, *abilities]
    words += ["movable", subclass] if cls != "LOCATION" else []
    words += ["receptacle"] if cls in ("LOCATION", "RECEPTACLE") else []
    return tuple(dict.fromkeys(words))


def entities(bits: BitSet) -> Iterator[int]:
    """Yield the entities of a bit set, in the order of creation."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


def bit_set(entities: Iterable[int]) -> BitSet:
    """Return the bit set of `entities`."""
    bits = 0
    for entity in entities:
        bits |= 1 << entity
    return bits


def location_of(world: World, state: State, entity: int) -> int:
    """Return the location of `entity`, looking through its containers; `NOTHING` if it is held."""
    container = entity
    while container >= 0 and world.kinds[container].movable:
        container = state.container(container)
    return container


def is_reachable(world: World, state: State, entity: int, container: int) -> bool:
    """Return acc(entity, container): `entity` is directly in or on it, and it is not shut (spec 3)."""
    return state.place[entity] == container and shows(world, state, container)


def shows(world: World, state: State, container: int) -> bool:
    """Return True if the contents of `container` can be seen: it is open, or things lie on top of it."""
    return world.relation(container) == "ontop" or is_unlocked(world, state, container)


def is_unlocked(world: World, state: State, container: int) -> bool:
    """Return True if `container` is open or cannot be opened or closed."""
    bit = 1 << container
    return not world.find_all("openable") & bit or bool(state.open & bit)


def start_state(world: World, containers: Sequence[int], bits: Mapping[str, BitSet]) -> State:
    """Return a state with everything in its container (`NOTHING` for locations), the agent at the floor.

    Raises:
        InputError: if the number of a container does not fit in a byte.
    """
    if max(containers) >= _NOWHERE:
        raise InputError("A household's receptacles must be among its first 255 entities.")
    # -1, which is NOTHING, becomes 255.
    place = bytes([container & _NOWHERE for container in containers])
    empty = State(at=world.entity("floor"), holding=NOTHING, place=place)
    return State._make((*empty[:3], *(bits.get(name, 0) for name in STATES), *empty[11:]))


assert State._fields[3:11] == STATES
