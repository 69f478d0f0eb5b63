"""Utterances for the meanings of a pool, their costs and their truth (spec 7.1 to 7.3).

An utterance leaves out specifiers of a meaning or names a coarser kind. So the utterances that are literally
true of a meaning are those derived from it. They are stored as codes, one bit per specifier, and decoded
only when needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, reduce
from itertools import chain
from operator import and_

import numpy as np
from numpy.typing import NDArray

from simulator.handmethat.hierarchy import hierarchy
from simulator.handmethat.meanings.enumerate import Floats, words
from simulator.handmethat.meanings.model import (
    KEYS,
    KIND_KEYS,
    Meaning,
    Quest,
    Specifier,
    Utterance,
    extension,
)
from simulator.handmethat.meanings.prior import Pool
from simulator.handmethat.profiles import Profile
from simulator.handmethat.world import entities

Indices = NDArray[np.intp]
# The request of an utterance: quest type and argument.
Head = tuple[Quest, str | None]


@dataclass(frozen=True, eq=False)
class Utterances:
    """The utterances of a pool.

    Truth is a sparse matrix, compressed by rows: utterance ``columns[i]`` is true of
    meaning m for every i from ``starts[m]`` up to ``starts[m + 1]``.

    Attributes:
        costs: c(u); shape (utterances,).
        starts: shape (meanings + 1,).
        columns: shape (pairs,).
        codes: the specifiers and the head of each utterance, one bit each.
        specifiers: meaning of the low bits, in canonical order.
        heads: meaning of the bits above.
    """

    costs: Floats
    starts: Indices
    columns: Indices
    codes: tuple[int, ...]
    specifiers: tuple[Specifier, ...]
    heads: tuple[Head, ...]

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, index: int) -> Utterance:
        return self._decode(self.codes[index])

    def __iter__(self) -> Iterator[Utterance]:
        return map(self._decode, self.codes)

    def _decode(self, code: int) -> Utterance:
        low = (1 << len(self.specifiers)) - 1
        quest, argument = self.heads[(code >> len(self.specifiers)).bit_length() - 1]
        return Meaning(quest, tuple(self.specifiers[bit] for bit in entities(code & low)), argument)


def enumerate_utterances(pool: Pool, profile: Profile) -> Utterances:
    """Return every utterance for any of the pool's meanings, each once."""
    specifiers, heads = _vocabulary(pool)
    bits = {pair: 1 << i for i, pair in enumerate(specifiers)}
    head_bits = {pair: 1 << (len(specifiers) + i) for i, pair in enumerate(heads)}
    rows = [_codes(meaning, bits, head_bits) for meaning in pool.meanings]
    index = {code: i for i, code in enumerate(dict.fromkeys(chain.from_iterable(rows)))}
    codes = tuple(index)
    starts = np.zeros(len(rows) + 1, dtype=np.intp)
    np.cumsum([len(row) for row in rows], out=starts[1:])
    columns = np.fromiter(map(index.__getitem__, chain.from_iterable(rows)), np.intp, int(starts[-1]))
    return Utterances(_costs(codes, specifiers, heads, profile), starts, columns, codes, specifiers, heads)


def _vocabulary(pool: Pool) -> tuple[tuple[Specifier, ...], tuple[Head, ...]]:
    """Return the specifiers in canonical order (kinds first) and the heads of all utterances."""
    kinds: dict[Specifier, None] = {}
    others: dict[str, dict[Specifier, None]] = {}
    heads: dict[Head, None] = {}
    for meaning in pool.meanings:
        heads[meaning.quest, meaning.argument] = None
        if meaning.quest == "move_to":
            heads[meaning.quest, None] = None
        for pair in meaning.description:
            if pair[0] in KIND_KEYS:
                if pair not in kinds:
                    kinds |= dict.fromkeys(_coarser(pair))
            else:
                others.setdefault(pair[0], {})[pair] = None
    # A description has at most one kind, and one value per key, so their relative order is free.
    ranked = sorted(others.items(), key=lambda item: KEYS.index(item[0]))
    return (*kinds, *(pair for _, pairs in ranked for pair in pairs)), tuple(heads)


@cache
def _coarser(kind: Specifier) -> tuple[Specifier, ...]:
    """Return a kind and the kinds it implies, coarsest first."""
    key, value = kind[0], str(kind[1])
    table = hierarchy()
    if key == "class":
        return (kind,)
    if key == "subclass":
        return (("class", table.subclasses[value].cls), kind)
    of_type = table.kinds[value]
    return (("class", of_type.cls), ("subclass", of_type.subclass), kind)


def _codes(meaning: Meaning, bits: dict[Specifier, int], head_bits: dict[Head, int]) -> list[int]:
    codes = [head_bits[meaning.quest, meaning.argument]]
    if meaning.quest == "move_to":
        codes.append(head_bits[meaning.quest, None])
    for pair in meaning.description:
        if pair[0] in KIND_KEYS:
            codes += [code | bits[kind] for kind in _coarser(pair) for code in codes]
        else:
            codes += [code | bits[pair] for code in codes]
    return codes


def _costs(
    codes: Sequence[int],
    specifiers: Sequence[Specifier],
    heads: Sequence[Head],
    profile: Profile,
) -> Floats:
    """Return c(u) as published, or with `Profile.plain_cost` the number of specifiers (spec 7.2)."""
    low = (1 << len(specifiers)) - 1
    if profile.plain_cost:
        return np.array([(code & low).bit_count() for code in codes], dtype=np.float64)
    subclasses = sum(1 << i for i, (key, _) in enumerate(specifiers) if key == "subclass")
    types = sum(1 << i for i, (key, _) in enumerate(specifiers) if key == "type")
    arguments = sum(
        1 << (len(specifiers) + i) for i, (_, argument) in enumerate(heads) if argument is not None
    )
    # Each specifier and the argument cost 1, a subclass 1 more, a type 2 more.
    base = low | arguments
    specific = subclasses | types
    return np.array(
        [
            (code & base).bit_count() + (code & specific).bit_count() + (code & types).bit_count() - 1
            for code in codes
        ],
        dtype=np.float64,
    )


def true_by_sets(pool: Pool, spoken: Utterances) -> Utterances:
    """Return the same utterances, true of every meaning with A(m) within A(u).

    A move_to utterance without a destination covers every destination of the pool.
    """
    matches = {pair: extension(pool.world, pool.state, *pair) for pair in spoken.specifiers}
    by_bit, count = tuple(matches.values()), len(matches)
    movable, low = pool.world.find_all("movable"), (1 << count) - 1
    meant = [
        reduce(and_, (matches[pair] for pair in meaning.description), movable) for meaning in pool.meanings
    ]
    uttered = [reduce(and_, (by_bit[i] for i in entities(code & low)), movable) for code in spoken.codes]
    size = len(pool.world)
    within = ~(words(meant, size)[:, None] & ~words(uttered, size)).any(axis=2)
    heads = {head: i for i, head in enumerate(spoken.heads)}
    covers = np.array([[_covers(said, head) for said in heads] for head in heads])
    meant_heads = [heads[meaning.quest, meaning.argument] for meaning in pool.meanings]
    said_heads = [(code >> count).bit_length() - 1 for code in spoken.codes]
    rows, columns = np.nonzero(within & covers[np.ix_(meant_heads, said_heads)])
    starts = np.searchsorted(rows, np.arange(len(pool) + 1)).astype(np.intp)
    return replace(spoken, starts=starts, columns=columns.astype(np.intp))


def _covers(said: Head, meant: Head) -> bool:
    return meant == said or (said == ("move_to", None) and meant[0] == "move_to")
