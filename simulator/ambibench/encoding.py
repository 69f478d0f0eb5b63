"""Prompts as arrays of numbers, one row per example, for statistics over tens of thousands of sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from simulator.ambibench.features import PAIR_NAMES, PAIRS, Pair, table, value_name
from simulator.ambibench.prompt import Prompt
from simulator.ambibench.sentences import read_sentence, slot_words
from simulator.errors import InputError

Numbers = npt.NDArray[np.int64]
NONE: Final = -1
PLACE: Final[str] = table("features")["place"]


@dataclass(frozen=True, slots=True)
class Examples:
    """Examples of many prompts; all arrays have one entry per example, in order.

    Attributes:
        prompt: the number of its prompt, from 0.
        position: in that prompt, from 0.
        pair: number of its pair in `PAIR_NAMES`.
        a: coded value of feature a (0 or 1), as the sentence says.
        b: coded value of feature b.
        word_a: number of its word in the list of its value.
        word_b: likewise.
        place: number of its place; `NONE` in a template without one.
        x: whether its label is X.
        outside: sentences that fit no template of their pair; they have no row.
        miscoded: number of examples whose codes differ from what the sentence says.
    """

    prompt: Numbers
    position: Numbers
    pair: Numbers
    a: Numbers
    b: Numbers
    word_a: Numbers
    word_b: Numbers
    place: Numbers
    x: Numbers
    outside: tuple[str, ...]
    miscoded: int

    def where(self, chosen: npt.NDArray[np.bool_]) -> Examples:
        """Only the rows that are `chosen`."""
        columns = (self.prompt, self.position, self.pair, self.a, self.b)
        more = (self.word_a, self.word_b, self.place, self.x)
        return _examples([column[chosen] for column in (*columns, *more)])


def encode(prompts: Sequence[Prompt]) -> Examples:
    """Read every sentence of `prompts`; each different one is read once."""
    rows: list[tuple[int, ...]] = []
    outside: list[str] = []
    miscoded = 0
    for number, prompt in enumerate(prompts):
        for position, example in enumerate(prompt.examples):
            code = _code(prompt.pair, example.sentence)
            if code is None:
                outside.append(example.sentence)
                continue
            miscoded += code[1:3] != (example.a, example.b)
            rows.append((number, position, *code, example.label == "X"))
    columns = np.array(rows, dtype=np.int64).reshape(len(rows), 9).T
    return _examples(columns, tuple(outside), miscoded)


def _examples(columns: Iterable[Numbers], outside: tuple[str, ...] = (), miscoded: int = 0) -> Examples:
    prompt, position, pair, a, b, word_a, word_b, place, x = columns
    return Examples(prompt, position, pair, a, b, word_a, word_b, place, x, outside, miscoded)


def lists_of(pair: Pair, which: int) -> tuple[str, str]:
    """Return the word lists of feature a (0) or b (1) of a pair: of the values ``true`` and ``false``."""
    feature = PAIRS[pair][which]
    return value_name(feature, True), value_name(feature, False)


def has_place(pair: Pair) -> bool:
    """Return True if the template of `pair` has a place that matters to no label."""
    return "{place}" in table("features")["pairs"][pair]["template"]


@lru_cache(maxsize=8192)
def _code(pair: Pair, sentence: str) -> tuple[int, ...] | None:
    """Pair, values, words and place of a sentence; None if it is outside the templates."""
    try:
        read = read_sentence(sentence, pair)
    except InputError:
        return None
    word_a = _numbers(lists_of(pair, 0)[not read.a])[read.words["a"]]
    word_b = _numbers(lists_of(pair, 1)[not read.b])[read.words["b"]]
    place = _numbers(PLACE)[read.words["place"]] if "place" in read.words else NONE
    return PAIR_NAMES.index(pair), read.a, read.b, word_a, word_b, place


@cache
def _numbers(slot: str) -> Mapping[str, int]:
    return {word: number for number, word in enumerate(slot_words(slot))}
