"""Words of instructions: split with their places, and brought to one form, so that plurals are no matter."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from simulator.ambik.terms import table

_WORD: Final = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*|[,;.:()]")
_ARTICLE: Final = re.compile(r"\b([Aa])n? $")
_SIBILANT: Final = ("sses", "shes", "ches", "xes", "zes")


class Word(NamedTuple):
    """A word or a punctuation mark of a text.

    Attributes:
        stem: lower case, singular, without a possessive.
        start: where it begins in the text.
        end: where the next sign is.
    """

    stem: str
    start: int
    end: int


@lru_cache(maxsize=4096)
def words(text: str) -> tuple[Word, ...]:
    """Return the words of `text`, in order, with the marks between them."""
    return tuple(Word(stem(match.group()), *match.span()) for match in _WORD.finditer(text))


@lru_cache(maxsize=4096)
def stems(text: str) -> tuple[str, ...]:
    """Return the words of `text` in their one form, marks left out."""
    return tuple(word.stem for word in words(text) if word.stem[:1].isalnum())


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Return a word in lower case and singular; good enough for what stands in kitchens."""
    lowered = word.lower().replace("’", "'")
    if lowered in (irregular := table("categories")["irregular"]):
        return str(irregular[lowered])
    if lowered.endswith("'s"):
        # Chef's knives are no chefs; the name keeps its sign so that both spellings meet.
        return lowered
    if len(lowered) > 4 and lowered.endswith("ies"):
        return f"{lowered[:-3]}y"
    if lowered.endswith(_SIBILANT):
        return lowered[:-2]
    if len(lowered) > 3 and lowered.endswith("s") and not lowered.endswith(("ss", "us", "is")):
        return lowered[:-1]
    return lowered


def plural(name: str) -> str:
    """Return a name in the plural, by its last word."""
    lowered = name.lower()
    if lowered.endswith(("knife", "loaf", "half")):
        return f"{name[:-2] if lowered.endswith('fe') else name[:-1]}ves"
    if lowered.endswith(("s", "sh", "ch", "x", "potato", "tomato")):
        return f"{name}es"
    if lowered.endswith("y") and lowered[-2:-1] not in "aeiou":
        return f"{name[:-1]}ies"
    return f"{name}s"


def with_article(before: str, name: str) -> str:
    """Return the text before a name, with `a` or `an` as the name needs it."""
    return _ARTICLE.sub(lambda hit: hit.group(1) + ("n " if name[:1].lower() in "aeiou" else " "), before)
