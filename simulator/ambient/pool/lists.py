"""The lists of `tables/pool.yaml`: what pairs are dropped for, and what is cleaned off them (spec 2.2.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

TABLE: Final = Path(__file__).parents[1] / "tables" / "pool.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lists:
    """Words and phrases, all in small letters.

    Attributes:
        phrases: which no sentence may have.
        stems: before a hypothesis they make a premise that only repeats it.
        swaps: groups of words that stand for each other.
        reference_marks: characters that the reference wants in no pair.
        reference_words: words that it wants in none.
        enclosing: opening and closing quotes and brackets.
        elisions: words that begin with an apostrophe.
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
    """The lists that come with Askback."""
    given: Mapping[str, Any] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return Lists(
        phrases=tuple(given["phrases"]),
        stems=tuple(given["stems"]),
        swaps=tuple(frozenset(group) for group in given["swaps"]),
        reference_marks=tuple(given["reference_marks"]),
        reference_words=tuple(given["reference_words"]),
        enclosing=tuple((opening, closing) for opening, closing in given["enclosing"]),
        elisions=tuple(given["elisions"]),
    )
