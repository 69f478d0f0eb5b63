"""Cleaning and filtering of pairs that a model writes (spec 2.2.4)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import accumulate
from typing import Final, Literal

from pydantic import BaseModel

from simulator.ambient.distractors import table


class Lists(BaseModel, frozen=True):
    """Lower-case words and phrases of `tables/pool.yaml`.

    `stems` turn a hypothesis into a premise that only repeats it; `swaps` are groups of interchangeable
    words; the reference's filters drop pairs with `reference_…`; `elisions` begin with an apostrophe.
    """

    phrases: tuple[str, ...] = ()
    stems: tuple[str, ...] = ()
    swaps: tuple[frozenset[str], ...] = ()
    reference_marks: tuple[str, ...] = ()
    reference_words: tuple[str, ...] = ()
    enclosing: tuple[tuple[str, str], ...] = ()
    elisions: tuple[str, ...] = ()


@cache
def load_lists() -> Lists:
    """Return the built-in lists."""
    return Lists.model_validate(table("pool"))


_APOSTROPHES: Final = ("'", "’")


def clean(text: str) -> str:
    """Strip blanks, quotes or brackets around a sentence, and unmatched ones at its ends.

    Quotes or brackets around a part (``"Yes" and "no"``) and apostrophes are kept. Cleaning is idempotent.
    """
    while (shorter := _strip_once(text.strip())) != text:
        text = shorter
    return text


def _strip_once(text: str) -> str:
    """Return a text without one enclosing pair or one unmatched quote or bracket, if it has any."""
    for opening, closing in load_lists().enclosing:
        if _encloses(text, opening, closing):
            return text[1:-1].strip()
    for opening, closing in load_lists().enclosing:
        if _dangles_first(text, opening, closing):
            return text[1:].strip()
        if _dangles_last(text, opening, closing):
            return text[:-1].strip()
    return text


def _encloses(text: str, opening: str, closing: str) -> bool:
    if len(text) < 2 or text[0] != opening or text[-1] != closing:
        return False
    inner = text[1:-1]
    if opening == closing:
        return not _marks(inner, opening)
    depths = list(accumulate((mark == opening) - (mark == closing) for mark in inner))
    return not depths or (min(depths) >= 0 and depths[-1] == 0)


def _dangles_first(text: str, opening: str, closing: str) -> bool:
    if not text.startswith(opening) or text.lower().startswith(load_lists().elisions):
        return False
    return not _marks(text[1:], closing)


def _dangles_last(text: str, opening: str, closing: str) -> bool:
    if not text.endswith(closing) or (closing in _APOSTROPHES and text[-2:-1].lower() == "s"):
        return False
    return not _marks(text[:-1], opening)


def _marks(text: str, mark: str) -> bool:
    """Return True if a text contains a quote or bracket other than an apostrophe within a word."""
    return any(
        character == mark and not (mark in _APOSTROPHES and _within_word(text, place))
        for place, character in enumerate(text)
    )


def _within_word(text: str, place: int) -> bool:
    return text[place - 1 : place].isalpha() and text[place + 1 : place + 2].isalpha()


SHORTEST: Final = 5
FilterSet = Literal["default", "reference"]
DUPLICATES: Final = "duplicate"
CLEANED: Final = "the same or too short once cleaned"


@dataclass(frozen=True, slots=True)
class SampledPair:
    """A pair that a model wrote; `examples` and `shown` are ids and sentences of its prompt's pairs."""

    premise: str
    hypothesis: str
    examples: tuple[str, ...] = ()
    shown: tuple[tuple[str, str], ...] = ()

    @property
    def pair(self) -> tuple[str, str]:
        """Premise and hypothesis."""
        return self.premise, self.hypothesis


Filter = Callable[[SampledPair], bool]
"""Returns True if a pair is to be dropped."""


@dataclass(frozen=True, slots=True)
class Filtered:
    """The remaining pairs, cleaned and distinct, and the number of pairs that each filter dropped."""

    pairs: tuple[SampledPair, ...]
    dropped: Mapping[str, int]


def too_short(drawn: SampledPair) -> bool:
    """Return True if a sentence has fewer than 5 characters."""
    return min(map(len, drawn.pair)) < SHORTEST


def stem_and_hypothesis(drawn: SampledPair) -> bool:
    """Return True if the premise is a listed stem followed by the hypothesis."""
    premise, hypothesis = plain(drawn.premise), plain(drawn.hypothesis)
    return any(premise == f"{plain(stem)} {hypothesis}" for stem in load_lists().stems)


def swaps_words(drawn: SampledPair) -> bool:
    """Return True if the sentences have equally many words and differ only by listed swaps."""
    premise, hypothesis = plain(drawn.premise).split(), plain(drawn.hypothesis).split()
    return len(premise) == len(hypothesis) and all(
        word == other or any({word, other} <= group for group in load_lists().swaps)
        for word, other in zip(premise, hypothesis, strict=True)
    )


FILTERS: Final[Mapping[str, Filter]] = {
    "shorter than 5 characters": too_short,
    # Ignoring case and punctuation.
    "premise equals hypothesis": lambda drawn: plain(drawn.premise) == plain(drawn.hypothesis),
    "copies an example of its prompt": lambda drawn: drawn.pair in drawn.shown,
    "listed phrase": lambda drawn: _has_any(drawn, load_lists().phrases),
    "listed stem before the hypothesis": stem_and_hypothesis,
    "only listed words swapped": swaps_words,
}
"""Filters by name, in order; exact duplicates are dropped before."""
REFERENCE_FILTERS: Final[Mapping[str, Filter]] = {
    "question mark": lambda drawn: any(mark in "".join(drawn.pair) for mark in load_lists().reference_marks),
    'the word "said"': lambda drawn: _has_any(drawn, load_lists().reference_words),
}


def filters_of(which: FilterSet) -> Mapping[str, Filter]:
    """Return the filters of a set, which apply after duplicates are dropped."""
    return FILTERS if which == "default" else {**FILTERS, **REFERENCE_FILTERS}


def filter_pairs(pairs: Iterable[SampledPair], which: FilterSet = "default") -> Filtered:
    """Return the pairs that no filter drops, cleaned.

    Cleaning can make pairs equal to each other or to one in their prompt, or a sentence too short. Such pairs
    are also dropped, and counted as `CLEANED`.
    """
    drawn = list(pairs)
    remaining = _distinct(drawn)
    dropped = {DUPLICATES: len(drawn) - len(remaining)}
    for name, drops in filters_of(which).items():
        passed = [pair for pair in remaining if not drops(pair)]
        dropped[name], remaining = len(remaining) - len(passed), passed
    cleaned = _distinct(
        replace(pair, premise=clean(pair.premise), hypothesis=clean(pair.hypothesis)) for pair in remaining
    )
    passed = [pair for pair in cleaned if not (too_short(pair) or pair.pair in pair.shown)]
    dropped[CLEANED] = len(remaining) - len(passed)
    return Filtered(tuple(passed), dropped)


def _distinct(pairs: Iterable[SampledPair]) -> list[SampledPair]:
    """Return pairs with distinct sentences, keeping the first of equal ones."""
    first: dict[tuple[str, str], SampledPair] = {}
    for drawn in pairs:
        first.setdefault(drawn.pair, drawn)
    return list(first.values())


def plain(text: str) -> str:
    """Return a text in lower case, without punctuation, with single blanks."""
    letters = (sign for sign in text.lower() if not unicodedata.category(sign).startswith(("P", "S")))
    return " ".join("".join(letters).split())


def _has_any(drawn: SampledPair, phrases: Sequence[str]) -> bool:
    return any(_phrase_pattern(phrases).search(text) for text in drawn.pair)


@lru_cache
def _phrase_pattern(phrases: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern that matches any of the phrases as whole words; nothing without phrases."""
    if not phrases:
        return re.compile(r"(?!)")
    patterns = (f"{_boundary(phrase[0])}{re.escape(phrase)}{_boundary(phrase[-1])}" for phrase in phrases)
    return re.compile("|".join(patterns), re.IGNORECASE)


def _boundary(character: str) -> str:
    return r"\b" if character.isalnum() else ""
