"""Which descriptions a household allows (spec 6.2).

A description of a thing is a subset of what is true of it. Most things share what is true of them with
others, and most of their descriptions too: each is kept once, as a number, together with what fits it, and
put into words only where somebody wants to read it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.handmethat.goals.model import Targets
from simulator.handmethat.hierarchy import STATES
from simulator.handmethat.meanings.model import (
    KIND_KEYS,
    PLACE_KEYS,
    STATE_KEYS,
    VERBS,
    Quest,
    Specifier,
    extension,
)
from simulator.handmethat.planner.rewards import Rewards
from simulator.handmethat.world import NOTHING, BitSet, State, World, entities

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
Words = NDArray[np.uint64]


class Descriptions(NamedTuple):
    """Some descriptions of some things.

    Attributes:
        extents: the things that fit each, as rows of words; shape (descriptions, words).
        lengths: of each how many specifiers it has; shape (descriptions,).
        origins: of each the first place where it stands if those of all sorts of like things are written down
            sort by sort; shape (descriptions,).
        own: which description stands at each of these places.
        starts: where the places of each sort begin; shape (sorts + 1,).
        sorts: of each sort the numbers of its specifiers, of the kind first.
        sort_of: of each thing its sort.
    """

    extents: Words
    lengths: Integers
    origins: Integers
    own: Integers
    starts: Integers
    pairs: Sequence[Specifier]
    sorts: Sequence[Sequence[int]]
    sort_of: Mapping[int, int]

    def decode(self, number: int) -> tuple[Specifier, ...]:
        """Return the specifiers of a description in canonical order."""
        sort = int(np.searchsorted(self.starts, self.origins[number], side="right")) - 1
        pairs = [self.pairs[number] for number in self.sorts[sort]]
        kinds = sum(key in KIND_KEYS for key, _ in pairs)
        others, kind = divmod(int(self.origins[number] - self.starts[sort]), kinds + 1)
        return (*pairs[kind - 1 : kind], *(pair for i, pair in enumerate(pairs[kinds:]) if others >> i & 1))

    def pick(self, numbers: Integers) -> Descriptions:
        """Return some of the descriptions."""
        return self._replace(
            extents=self.extents[numbers], lengths=self.lengths[numbers], origins=self.origins[numbers]
        )

    def about(self, things: BitSet) -> Descriptions:
        """Return those of some of the things, in the order that they alone would have."""
        sorts = dict.fromkeys(self.sort_of[entity] for entity in entities(things))
        if len(sorts) == len(self.sorts):
            return self
        parts = [self.own[self.starts[sort] : self.starts[sort + 1]] for sort in sorts]
        numbers = np.concatenate([np.empty(0, dtype=np.intp), *parts])
        first = np.empty(len(self.extents), dtype=np.intp)
        # Of several places that a description has the first is written last.
        first[numbers[::-1]] = np.arange(len(numbers))[::-1]
        return self.pick(numbers[first[numbers] == np.arange(len(numbers))])


def arguments_of(world: World, quest: Quest, targets: Targets) -> tuple[str | None, ...]:
    """Return what a meaning of `quest` may have as its argument."""
    if quest == "bring_me":
        return (None,)
    return tuple(VERBS) if quest == "change_state" else tuple(world.names[i] for i in targets.position)


def descriptions(
    world: World, state: State, described: BitSet, *, subclasses: bool = True, among: BitSet | None = None
) -> Descriptions:
    """Return every description of some entities, each once."""
    pairs, sorts, sort_of = _sorts(world, state, described, subclasses)
    # A code tells descriptions apart and counts their specifiers.
    weights = _weights(pairs)
    everybody = world.of("movable") if among is None else among
    fits = words([everybody, *(everybody & extension(world, state, *pair) for pair in pairs)], len(world))
    kinds = 3 if subclasses else 2
    starts = np.cumsum([0, *((kinds + 1) << len(sort) - kinds for sort in sorts)])
    codes = np.empty(starts[-1], dtype=np.int64)
    extents = np.empty((starts[-1], fits.shape[1]), dtype=np.uint64)
    for length in set(map(len, sorts)):
        alike = [i for i, sort in enumerate(sorts) if len(sort) == length]
        numbers = np.array([sorts[i] for i in alike]).T
        code = np.stack([np.zeros(len(alike), dtype=np.int64), *weights[numbers[:kinds]]], axis=1)
        everything = np.broadcast_to(fits[0], (len(alike), fits.shape[1]))
        extent = np.stack([everything, *fits[1 + numbers[:kinds]]], axis=1)
        for column in numbers[kinds:]:
            code = np.concatenate([code, code + weights[column][:, None]], axis=1)
            extent = np.concatenate([extent, extent & fits[1 + column][:, None]], axis=1)
        places = starts[alike][:, None] + np.arange(code.shape[1])
        codes[places], extents[places] = code, extent
    origins, own = _first_places(codes)
    return Descriptions(
        extents[origins], codes[origins] >> _COUNT, origins, own, starts, pairs, sorts, sort_of
    )


def _first_places(codes: Integers) -> tuple[Integers, Integers]:
    """Return where each different code stands first, in that order, and which of them is at each place."""
    order = np.argsort(codes)
    ordered = codes[order]
    begins = np.flatnonzero(np.diff(ordered, prepend=-1))
    first = np.minimum.reduceat(order, begins)
    rank = np.empty_like(first)
    rank[np.argsort(first)] = np.arange(len(first))
    own = np.empty_like(order)
    own[order] = np.repeat(rank, np.diff(begins, append=len(order)))
    return np.sort(first), own


# Where the value of a key stands among the bits of a code, and the number of specifiers above all.
_SHIFTS: Final[Mapping[str, int]] = {
    **dict.fromkeys(KIND_KEYS, 0),
    **dict.fromkeys(PLACE_KEYS, 10),
    "color": 20,
    "size": 28,
    **{key: 36 + 2 * i for i, key in enumerate(key for key in STATE_KEYS if key in STATES)},
}
_COUNT: Final = 56


def columns(extents: Words, chosen: Sequence[int]) -> Floats:
    """Return 1 for each of the chosen entities that is in a set, else 0; shape (sets, chosen)."""
    bits = np.unpackbits(extents.view(np.uint8), axis=1, bitorder="little")
    return bits[:, chosen].astype(np.float64)


def _weights(pairs: Iterable[Specifier]) -> Integers:
    """Return what each specifier adds to a code."""
    values: Counter[int] = Counter()
    weights = []
    for key, _ in pairs:
        shift = _SHIFTS[key]
        values[shift] += 1
        weights.append(1 << _COUNT | values[shift] << shift)
    return np.array(weights, dtype=np.int64)


def words(sets: Sequence[BitSet], size: int) -> Words:
    """Return bit sets of `size` entities as rows of words; shape (sets, words)."""
    width = (size + 63) // 64
    raw = b"".join(bits.to_bytes(8 * width, "little") for bits in sets)
    return np.frombuffer(raw, np.uint64).reshape(len(sets), width)


def useful_by_argument(rewards: Rewards) -> dict[str | None, BitSet]:
    """Return a(G) as a bit set of entities for each argument."""
    sets: dict[str | None, BitSet] = {}
    for entity, argument in rewards.useful:
        sets[argument] = sets.get(argument, 0) | 1 << entity
    return sets


def _sorts(
    world: World, state: State, described: BitSet, subclasses: bool
) -> tuple[list[Specifier], list[list[int]], dict[int, int]]:
    """Return all specifiers, for each sort of like things the numbers of its own, and each thing's sort."""
    numbers: defaultdict[Specifier, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    by_signature: dict[tuple[object, ...], int] = {}
    sorts: list[list[int]] = []
    sort_of: dict[int, int] = {}
    bits = dict(zip(STATES, state[3:11], strict=True))
    kinds, places, colors, sizes = world.kinds, state.place, world.colors, world.sizes
    for entity in entities(described):
        kind, color, size = kinds[entity], colors[entity], sizes[entity]
        values = [bits[name] >> entity & 1 for name in kind.states]
        signature = kind.name, places[entity], color, size, *values
        sort = by_signature.get(signature)
        if sort is None:
            sort = by_signature[signature] = len(sorts)
            container = state.container(entity)
            pairs: list[Specifier] = [("class", kind.cls)]
            if subclasses:
                pairs.append(("subclass", kind.subclass))
            pairs.append(("type", kind.name))
            if container != NOTHING:
                pairs.append((world.relation(container), world.names[container]))
            pairs += zip(kind.states, map(bool, values), strict=True)
            if color:
                pairs.append(("color", color))
            if size:
                pairs.append(("size", size))
            sorts.append([numbers[pair] for pair in pairs])
        sort_of[entity] = sort
    return list(numbers), sorts, sort_of
