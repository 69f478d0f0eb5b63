"""What is cleaned off the sentences that a model writes, and which pairs are dropped (spec 2.2.4)."""

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
    """Words and phrases of `tables/pool.yaml`, all in small letters.

    `stems` make, before a hypothesis, a premise that only repeats it; `swaps` are groups of words that
    stand for each other; `reference_…` is what the reference wants in no pair; `elisions` begin with an
    apostrophe.
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
    """Return the lists that come with Askback."""
    return Lists.model_validate(table("pool"))


_APOSTROPHES: Final = ("'", "’")


def clean(text: str) -> str:
    """Strip a sentence of blanks, enclosing quotes or brackets, and of a single one at an end.

    What encloses a part only (``"Yes" and "no"``) stays, and so do apostrophes. Cleaned text is clean.
    """
    while (shorter := _drop_one_thing(text.strip())) != text:
        text = shorter
    return text


def _drop_one_thing(text: str) -> str:
    """Return a text with one thing less, if there is one."""
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
    """Return True if a quote or bracket is in a text; apostrophes within words are none."""
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
class Drawn:
    """A pair that a model wrote; `examples` and `shown` are ids and sentences of the pairs in its prompt."""

    premise: str
    hypothesis: str
    examples: tuple[str, ...] = ()
    shown: tuple[tuple[str, str], ...] = ()

    @property
    def pair(self) -> tuple[str, str]:
        """Premise and hypothesis."""
        return self.premise, self.hypothesis


Filter = Callable[[Drawn], bool]
"""Whether a pair is dropped."""


@dataclass(frozen=True, slots=True)
class Filtered:
    """The pairs that are left, clean and different; each filter counts what those before it have left."""

    pairs: tuple[Drawn, ...]
    dropped: Mapping[str, int]


def too_short(drawn: Drawn) -> bool:
    """Return True if a sentence has fewer than 5 characters."""
    return min(map(len, drawn.pair)) < SHORTEST


def stem_and_hypothesis(drawn: Drawn) -> bool:
    """Return True if the premise is a listed stem and then the hypothesis."""
    premise, hypothesis = plain(drawn.premise), plain(drawn.hypothesis)
    return any(premise == f"{plain(stem)} {hypothesis}" for stem in load_lists().stems)


def swaps_words(drawn: Drawn) -> bool:
    """Return True if both sentences are equally long, and all words in which they differ are listed swaps."""
    premise, hypothesis = plain(drawn.premise).split(), plain(drawn.hypothesis).split()
    return len(premise) == len(hypothesis) and all(
        word == other or any({word, other} <= group for group in load_lists().swaps)
        for word, other in zip(premise, hypothesis, strict=True)
    )


FILTERS: Final[Mapping[str, Filter]] = {
    "shorter than 5 characters": too_short,
    # But for case and punctuation.
    "premise equals hypothesis": lambda drawn: plain(drawn.premise) == plain(drawn.hypothesis),
    "copies an example of its prompt": lambda drawn: drawn.pair in drawn.shown,
    "listed phrase": lambda drawn: _has_any(drawn, load_lists().phrases),
    "listed stem before the hypothesis": stem_and_hypothesis,
    "only listed words swapped": swaps_words,
}
"""By name, in order; exact duplicates go before them."""
REFERENCE_FILTERS: Final[Mapping[str, Filter]] = {
    "question mark": lambda drawn: any(mark in "".join(drawn.pair) for mark in load_lists().reference_marks),
    'the word "said"': lambda drawn: _has_any(drawn, load_lists().reference_words),
}


def filters_of(which: FilterSet) -> Mapping[str, Filter]:
    """Return the filters after that of duplicates."""
    return FILTERS if which == "default" else {**FILTERS, **REFERENCE_FILTERS}


def filtered(pairs: Iterable[Drawn], which: FilterSet = "default") -> Filtered:
    """Return the pairs that no filter drops, cleaned.

    Cleaning can make two pairs the same, a pair one of its prompt, or a sentence too short. Such pairs are
    dropped as well, and counted apart.
    """
    drawn = list(pairs)
    left = _distinct(drawn)
    dropped = {DUPLICATES: len(drawn) - len(left)}
    for name, drops in filters_of(which).items():
        kept = [pair for pair in left if not drops(pair)]
        dropped[name], left = len(left) - len(kept), kept
    cleaned = _distinct(
        replace(pair, premise=clean(pair.premise), hypothesis=clean(pair.hypothesis)) for pair in left
    )
    kept = [pair for pair in cleaned if not (too_short(pair) or pair.pair in pair.shown)]
    dropped[CLEANED] = len(left) - len(kept)
    return Filtered(tuple(kept), dropped)


def _distinct(pairs: Iterable[Drawn]) -> list[Drawn]:
    """Return the first of all pairs with the same sentences."""
    first: dict[tuple[str, str], Drawn] = {}
    for drawn in pairs:
        first.setdefault(drawn.pair, drawn)
    return list(first.values())


def plain(text: str) -> str:
    """Return a text in small letters, without punctuation, with single blanks."""
    kept = (letter for letter in text.lower() if not unicodedata.category(letter).startswith(("P", "S")))
    return " ".join("".join(kept).split())


def _has_any(drawn: Drawn, phrases: Sequence[str]) -> bool:
    return any(_any_of(phrases).search(text) for text in drawn.pair)


@lru_cache
def _any_of(phrases: Sequence[str]) -> re.Pattern[str]:
    """Return the pattern of any of some phrases as whole words; nothing if there are none."""
    if not phrases:
        return re.compile(r"(?!)")
    each = (f"{_edge(phrase[0])}{re.escape(phrase)}{_edge(phrase[-1])}" for phrase in phrases)
    return re.compile("|".join(each), re.IGNORECASE)


def _edge(character: str) -> str:
    return r"\b" if character.isalnum() else ""
