"""What can be said for the meanings of a pool, what it costs, and what it is true of (spec 7.1 to 7.3).

An utterance leaves out specifiers of a meaning, or names a coarser kind. So the utterances that are true
of a meaning word by word are those made from it. They are collected as codes, one bit per specifier, and
put into words only where somebody wants to read them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, reduce
from itertools import chain
from operator import and_
from typing import overload

import numpy as np
from numpy.typing import NDArray

from simulator.handmethat.hierarchy import hierarchy
from simulator.handmethat.meanings.model import (
    KEYS,
    KIND_KEYS,
    Meaning,
    Quest,
    Specifier,
    Utterance,
    extension,
)
from simulator.handmethat.meanings.prior import Floats, Pool, bit_rows
from simulator.handmethat.profiles import Profile
from simulator.handmethat.world import entities

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Utterances(Sequence[Utterance]):
    """The utterances of a pool.

    What is true of what is a sparse matrix, compressed by rows: utterance ``columns[i]`` is true of
    meaning m for every i from ``starts[m]`` up to ``starts[m + 1]``.

    Attributes:
        costs: c(u); shape (utterances,).
        starts: shape (meanings + 1,).
        columns: shape (pairs,).
    """

    costs: Floats
    starts: Indices
    columns: Indices
    _codes: tuple[int, ...]
    _words: tuple[Specifier, ...]
    _heads: tuple[tuple[Quest, str | None], ...]

    def __len__(self) -> int:
        return len(self._codes)

    @overload
    def __getitem__(self, index: int) -> Utterance: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Utterance, ...]: ...
    def __getitem__(self, index: int | slice) -> Utterance | tuple[Utterance, ...]:
        if isinstance(index, slice):
            return tuple(self._decode(code) for code in self._codes[index])
        return self._decode(self._codes[index])

    def __iter__(self) -> Iterator[Utterance]:
        return map(self._decode, self._codes)

    def _decode(self, code: int) -> Utterance:
        low = (1 << len(self._words)) - 1
        quest, argument = self._heads[(code >> len(self._words)).bit_length() - 1]
        return Meaning(quest, tuple(self._words[bit] for bit in entities(code & low)), argument)


def enumerate_utterances(pool: Pool, profile: Profile) -> Utterances:
    """Return everything that can be said for one of the pool's meanings; shared ones once.

    Args:
        pool: the meanings.
        profile: `plain_cost` matters here.
    """
    words, heads = _vocabulary(pool)
    bit = {pair: 1 << i for i, pair in enumerate(words)}
    head = {pair: 1 << (len(words) + i) for i, pair in enumerate(heads)}
    rows = [_codes(meaning, bit, head) for meaning in pool.meanings]
    index = {code: i for i, code in enumerate(dict.fromkeys(chain.from_iterable(rows)))}
    codes = tuple(index)
    starts = np.zeros(len(rows) + 1, dtype=np.intp)
    np.cumsum([len(row) for row in rows], out=starts[1:])
    columns = np.fromiter(map(index.__getitem__, chain.from_iterable(rows)), np.intp, int(starts[-1]))
    return Utterances(_costs(codes, words, heads, profile), starts, columns, codes, words, heads)


def _vocabulary(pool: Pool) -> tuple[tuple[Specifier, ...], tuple[tuple[Quest, str | None], ...]]:
    """Specifiers in canonical order (kinds first), and what utterances ask for."""
    kinds: dict[Specifier, None] = {}
    others: dict[str, dict[Specifier, None]] = {}
    heads: dict[tuple[Quest, str | None], None] = {}
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
    # Only one kind, and one value of a key, is ever in a description: their order among each other is free.
    ranked = sorted(others.items(), key=lambda item: KEYS.index(item[0]))
    return (*kinds, *(pair for _, pairs in ranked for pair in pairs)), tuple(heads)


@cache
def _coarser(kind: Specifier) -> tuple[Specifier, ...]:
    """Return a kind and those that it implies, coarsest first."""
    key, value = kind[0], str(kind[1])
    table = hierarchy()
    if key == "class":
        return (kind,)
    if key == "subclass":
        return (("class", table.subclasses[value].cls), kind)
    of_type = table.kinds[value]
    return (("class", of_type.cls), ("subclass", of_type.subclass), kind)


def _codes(
    meaning: Meaning, bit: dict[Specifier, int], head: dict[tuple[Quest, str | None], int]
) -> list[int]:
    """Return the codes of what can be said for `meaning`, each once."""
    codes = [head[meaning.quest, meaning.argument]]
    if meaning.quest == "move_to":
        codes.append(head[meaning.quest, None])
    for pair in meaning.description:
        if pair[0] in KIND_KEYS:
            codes += [code | bit[kind] for kind in _coarser(pair) for code in codes]
        else:
            one = bit[pair]
            codes += [code | one for code in codes]
    return codes


def _costs(
    codes: Sequence[int],
    words: Sequence[Specifier],
    heads: Sequence[tuple[Quest, str | None]],
    profile: Profile,
) -> Floats:
    """Return c(u) as published, or the number of specifiers with `Profile.plain_cost` (spec 7.2)."""
    low = (1 << len(words)) - 1
    if profile.plain_cost:
        return np.array([(code & low).bit_count() for code in codes], dtype=np.float64)
    subclasses = sum(1 << i for i, (key, _) in enumerate(words) if key == "subclass")
    types = sum(1 << i for i, (key, _) in enumerate(words) if key == "type")
    arguments = sum(1 << (len(words) + i) for i, (_, argument) in enumerate(heads) if argument is not None)
    # Each specifier and the argument cost 1, a subclass 1 more, a type 2 more.
    once = low | arguments
    dear = subclasses | types
    return np.array(
        [
            (code & once).bit_count() + (code & dear).bit_count() + (code & types).bit_count() - 1
            for code in codes
        ],
        dtype=np.float64,
    )


def true_by_sets(pool: Pool, spoken: Utterances) -> Utterances:
    """Return the same utterances, true of every meaning with A(m) within A(u).

    For move_to an utterance without a destination leaves every destination of the pool open.
    """
    said = list(spoken)
    meant, meant_rows = _extents(pool, pool.meanings)
    fits, said_rows = _extents(pool, said)
    within = (meant @ (1 - fits).T == 0)[np.ix_(meant_rows, said_rows)]
    heads = {pair: i for i, pair in enumerate(dict.fromkeys(map(_head, (*pool.meanings, *said))))}
    answers = np.array([[_answers(head, other) for other in heads] for head in heads])
    asked = answers[
        np.ix_([heads[_head(meaning)] for meaning in pool.meanings], [heads[_head(one)] for one in said])
    ]
    rows, columns = np.nonzero(within & asked)
    starts = np.searchsorted(rows, np.arange(len(pool) + 1)).astype(np.intp)
    return replace(spoken, starts=starts, columns=columns.astype(np.intp))


def _extents(pool: Pool, meanings: Sequence[Meaning]) -> tuple[Floats, list[int]]:
    """Return the sets of movable things that fit, once each, (sets, entities), and each meaning's row."""
    pairs = dict.fromkeys(pair for meaning in meanings for pair in meaning.description)
    fits = {pair: extension(pool.world, pool.state, *pair) for pair in pairs}
    movable = pool.world.of("movable")
    sets = [reduce(and_, (fits[pair] for pair in meaning.description), movable) for meaning in meanings]
    number = {extent: i for i, extent in enumerate(dict.fromkeys(sets))}
    return bit_rows(tuple(number), len(pool.world)), [number[extent] for extent in sets]


def _head(meaning: Meaning) -> tuple[Quest, str | None]:
    return meaning.quest, meaning.argument


def _answers(asked: tuple[Quest, str | None], said: tuple[Quest, str | None]) -> bool:
    return asked == said or (said == ("move_to", None) and asked[0] == "move_to")
