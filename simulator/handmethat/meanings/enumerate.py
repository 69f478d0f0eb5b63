"""Enumeration of the descriptions that a household allows (spec 6.2).

A description of a thing is a subset of its specifiers. Things with the same specifiers form a group. Each
description is stored once, as a number with the set of things that match it, and is decoded into
specifiers only when needed.
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
    """Descriptions of things, without duplicates.

    The raw list has the descriptions of every group one after the other, with duplicates.

    Attributes:
        extents: the things that match each description, as rows of words; shape (descriptions, words).
        lengths: number of specifiers of each description; shape (descriptions,).
        origins: index of each description's first occurrence in the raw list; shape (descriptions,).
        numbers: description at each index of the raw list.
        starts: start of each group in the raw list; shape (groups + 1,).
        pairs: all specifiers.
        groups: indices into `pairs` for each group, those of the kind first.
        group_of: thing -> group.
    """

    extents: Words
    lengths: Integers
    origins: Integers
    numbers: Integers
    starts: Integers
    pairs: Sequence[Specifier]
    groups: Sequence[Sequence[int]]
    group_of: Mapping[int, int]

    def decode(self, number: int) -> tuple[Specifier, ...]:
        """Return the specifiers of a description in canonical order."""
        group = int(np.searchsorted(self.starts, self.origins[number], side="right")) - 1
        pairs = [self.pairs[i] for i in self.groups[group]]
        kinds = sum(key in KIND_KEYS for key, _ in pairs)
        others, kind = divmod(int(self.origins[number] - self.starts[group]), kinds + 1)
        return (*pairs[kind - 1 : kind], *(pair for i, pair in enumerate(pairs[kinds:]) if others >> i & 1))

    def pick(self, numbers: Integers) -> Descriptions:
        """Return the descriptions with the given numbers."""
        return self._replace(
            extents=self.extents[numbers], lengths=self.lengths[numbers], origins=self.origins[numbers]
        )

    def about(self, things: BitSet) -> Descriptions:
        """Return the descriptions of `things`, in the order of an enumeration of these alone."""
        groups = dict.fromkeys(self.group_of[entity] for entity in entities(things))
        if len(groups) == len(self.groups):
            return self
        parts = [self.numbers[self.starts[group] : self.starts[group + 1]] for group in groups]
        numbers = np.concatenate([np.empty(0, dtype=np.intp), *parts])
        first = np.empty(len(self.extents), dtype=np.intp)
        # Reversed, so that the first occurrence of a description is written last.
        first[numbers[::-1]] = np.arange(len(numbers))[::-1]
        return self.pick(numbers[first[numbers] == np.arange(len(numbers))])


def arguments_of(world: World, quest: Quest, targets: Targets) -> tuple[str | None, ...]:
    """Return the possible arguments of a meaning of `quest`."""
    if quest == "bring_me":
        return (None,)
    return tuple(VERBS) if quest == "change_state" else tuple(world.names[i] for i in targets.position)


def descriptions(
    world: World, state: State, described: BitSet, *, subclasses: bool = True, among: BitSet | None = None
) -> Descriptions:
    """Return every description of some entities, each once; `among`: what can match, by default movables."""
    pairs, groups, group_of = _groups(world, state, described, subclasses)
    # A code identifies a description and counts its specifiers.
    weights = _weights(pairs)
    universe = world.find_all("movable") if among is None else among
    matches = words([universe, *(universe & extension(world, state, *pair) for pair in pairs)], len(world))
    kinds = 3 if subclasses else 2
    starts = np.cumsum([0, *((kinds + 1) << len(group) - kinds for group in groups)])
    codes = np.empty(starts[-1], dtype=np.int64)
    extents = np.empty((starts[-1], matches.shape[1]), dtype=np.uint64)
    for length in set(map(len, groups)):
        same_length = [i for i, group in enumerate(groups) if len(group) == length]
        specifiers = np.array([groups[i] for i in same_length]).T
        code = np.stack([np.zeros(len(same_length), dtype=np.int64), *weights[specifiers[:kinds]]], axis=1)
        everything = np.broadcast_to(matches[0], (len(same_length), matches.shape[1]))
        extent = np.stack([everything, *matches[1 + specifiers[:kinds]]], axis=1)
        for column in specifiers[kinds:]:
            code = np.concatenate([code, code + weights[column][:, None]], axis=1)
            extent = np.concatenate([extent, extent & matches[1 + column][:, None]], axis=1)
        rows = starts[same_length][:, None] + np.arange(code.shape[1])
        codes[rows], extents[rows] = code, extent
    origins, numbers = _unique(codes)
    return Descriptions(
        extents[origins], codes[origins] >> _COUNT, origins, numbers, starts, pairs, groups, group_of
    )


def _unique(codes: Integers) -> tuple[Integers, Integers]:
    """Return the indices of the first occurrences, ascending, and the number of the code at each index."""
    order = np.argsort(codes)
    ordered = codes[order]
    begins = np.flatnonzero(np.diff(ordered, prepend=-1))
    first = np.minimum.reduceat(order, begins)
    rank = np.empty_like(first)
    rank[np.argsort(first)] = np.arange(len(first))
    numbers = np.empty_like(order)
    numbers[order] = np.repeat(rank, np.diff(begins, append=len(order)))
    return np.sort(first), numbers


# Bit offset of the value of each key in a code; the number of specifiers is in the highest bits.
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
    """Return the amount that each specifier adds to a code."""
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


def _groups(
    world: World, state: State, described: BitSet, subclasses: bool
) -> tuple[list[Specifier], list[list[int]], dict[int, int]]:
    """Return all specifiers, the indices of the specifiers of each group, and the group of each thing."""
    numbers: defaultdict[Specifier, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    by_signature: dict[tuple[object, ...], int] = {}
    groups: list[list[int]] = []
    group_of: dict[int, int] = {}
    bits = dict(zip(STATES, state[3:11], strict=True))
    kinds, places, colors, sizes = world.kinds, state.place, world.colors, world.sizes
    for entity in entities(described):
        kind, color, size = kinds[entity], colors[entity], sizes[entity]
        values = [bits[name] >> entity & 1 for name in kind.states]
        signature = kind.name, places[entity], color, size, *values
        group = by_signature.get(signature)
        if group is None:
            group = by_signature[signature] = len(groups)
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
            groups.append([numbers[pair] for pair in pairs])
        group_of[entity] = group
    return list(numbers), groups, group_of
