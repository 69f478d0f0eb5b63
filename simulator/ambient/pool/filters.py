"""The heuristic filters of new pairs, one function each, and what each of them drops (spec 2.2.4)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal

from simulator.ambient.pool.cleaning import clean
from simulator.ambient.pool.lists import Lists, load_lists

SHORTEST: Final = 5
FilterSet = Literal["default", "reference"]
DUPLICATES: Final = "duplicate"
CLEANED: Final = "the same or too short once cleaned"


@dataclass(frozen=True, slots=True)
class Drawn:
    """A pair that a model wrote.

    Attributes:
        examples: ids of the pairs in its prompt, in their order.
        shown: their sentences.
    """

    premise: str
    hypothesis: str
    examples: tuple[str, ...] = ()
    shown: tuple[tuple[str, str], ...] = ()

    @property
    def pair(self) -> tuple[str, str]:
        """Premise and hypothesis."""
        return self.premise, self.hypothesis


Filter = Callable[[Drawn, Lists], bool]
"""Whether a pair is dropped."""


@dataclass(frozen=True, slots=True)
class Filtered:
    """What is left, clean.

    Attributes:
        pairs: in their order, all different.
        dropped: by filter, in the order of the filters: each counts what those before it have left.
    """

    pairs: tuple[Drawn, ...]
    dropped: Mapping[str, int]


def too_short(drawn: Drawn, lists: Lists) -> bool:
    """A sentence has fewer than 5 characters."""
    return min(map(len, drawn.pair)) < SHORTEST


def repeats_itself(drawn: Drawn, lists: Lists) -> bool:
    """Premise and hypothesis are equal, but for case and punctuation."""
    return plain(drawn.premise) == plain(drawn.hypothesis)


def copies_example(drawn: Drawn, lists: Lists) -> bool:
    """The pair stands in its prompt."""
    return drawn.pair in drawn.shown


def has_phrase(drawn: Drawn, lists: Lists) -> bool:
    """A sentence has a listed phrase."""
    pattern = _any_of(lists.phrases)
    return any(pattern.search(text) for text in drawn.pair)


def stem_and_hypothesis(drawn: Drawn, lists: Lists) -> bool:
    """The premise is a listed stem and then the hypothesis."""
    premise, hypothesis = plain(drawn.premise), plain(drawn.hypothesis)
    return any(premise == f"{plain(stem)} {hypothesis}" for stem in lists.stems)


def swaps_words(drawn: Drawn, lists: Lists) -> bool:
    """Both sentences are equally long, and all words in which they differ are listed swaps."""
    premise, hypothesis = plain(drawn.premise).split(), plain(drawn.hypothesis).split()
    return len(premise) == len(hypothesis) and all(
        one == other or any({one, other} <= group for group in lists.swaps)
        for one, other in zip(premise, hypothesis, strict=True)
    )


def has_reference_mark(drawn: Drawn, lists: Lists) -> bool:
    """The reference drops every pair with a question mark."""
    return any(mark in text for mark in lists.reference_marks for text in drawn.pair)


def has_reference_word(drawn: Drawn, lists: Lists) -> bool:
    """The reference drops every pair with the word "said"."""
    pattern = _any_of(lists.reference_words)
    return any(pattern.search(text) for text in drawn.pair)


FILTERS: Final[Mapping[str, Filter]] = {
    "shorter than 5 characters": too_short,
    "premise equals hypothesis": repeats_itself,
    "copies an example of its prompt": copies_example,
    "listed phrase": has_phrase,
    "listed stem before the hypothesis": stem_and_hypothesis,
    "only listed words swapped": swaps_words,
}
"""By name, in order; exact duplicates go before them."""
REFERENCE_FILTERS: Final[Mapping[str, Filter]] = {
    "question mark": has_reference_mark,
    'the word "said"': has_reference_word,
}


def filters_of(which: FilterSet) -> Mapping[str, Filter]:
    """The filters after that of duplicates."""
    return FILTERS if which == "default" else {**FILTERS, **REFERENCE_FILTERS}


def filtered(pairs: Iterable[Drawn], which: FilterSet = "default", lists: Lists | None = None) -> Filtered:
    """The pairs that no filter drops, cleaned.

    Cleaning can make two pairs the same, a pair one of its prompt, or a sentence too short. Such pairs are
    dropped as well, and counted apart.
    """
    known = lists or load_lists()
    given = list(pairs)
    left = distinct(given)
    dropped = {DUPLICATES: len(given) - len(left)}
    for name, drops in filters_of(which).items():
        before = len(left)
        left = [one for one in left if not drops(one, known)]
        dropped[name] = before - len(left)
    before = len(left)
    left = distinct(cleaned(one, known) for one in left)
    left = [one for one in left if not any(drops(one, known) for drops in (too_short, copies_example))]
    dropped[CLEANED] = before - len(left)
    return Filtered(tuple(left), dropped)


def distinct(pairs: Iterable[Drawn]) -> list[Drawn]:
    """The first of all pairs with the same sentences."""
    found: dict[tuple[str, str], Drawn] = {}
    for one in pairs:
        found.setdefault(one.pair, one)
    return list(found.values())


def cleaned(drawn: Drawn, lists: Lists) -> Drawn:
    """A pair with clean sentences."""
    return replace(drawn, premise=clean(drawn.premise, lists), hypothesis=clean(drawn.hypothesis, lists))


def plain(text: str) -> str:
    """A text in small letters, without punctuation, with single blanks."""
    kept = (one for one in text.lower() if not unicodedata.category(one).startswith(("P", "S")))
    return " ".join("".join(kept).split())


@lru_cache
def _any_of(phrases: Sequence[str]) -> re.Pattern[str]:
    """Any of some phrases as whole words; nothing if there are none."""
    if not phrases:
        return re.compile(r"(?!)")
    each = (f"{_edge(phrase[0])}{re.escape(phrase)}{_edge(phrase[-1])}" for phrase in phrases)
    return re.compile("|".join(each), re.IGNORECASE)


def _edge(character: str) -> str:
    return r"\b" if character.isalnum() else ""
