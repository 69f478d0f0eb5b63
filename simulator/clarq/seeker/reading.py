"""How the offline seeker reads a provider's line: what it is told to do, to get, and left to guess."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import yaml

from trees import Language

Vagueness = Literal["thing", "some", "place", "person", "time", "value", "way"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A part of a line that tells one thing.

    Attributes:
        text: its words.
        step: what is to be done, as the seeker would say it of itself; empty if nothing is.
        explained: whether the step says well enough how it is done.
        achieves: whether the step is of those that say what to bring about rather than what to do.
        wanted: things to be got hold of.
        used: things that are only put to use.
        offered: things that somebody wants to be brought, or that something is made of.
        vague: nouns that leave open which one is meant, and the sort of question they call for.
        names: people and places called by a name.
        keepers: those of the names who hold something that is needed.
        rows: things named in one breath, of which each may be done in its own way.
    """

    text: str
    step: str = ""
    explained: bool = True
    achieves: bool = False
    wanted: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()
    vague: tuple[tuple[Vagueness, str], ...] = ()
    names: tuple[str, ...] = ()
    keepers: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@cache
def words(language: Language) -> Mapping[str, Any]:
    """The word lists of `language` as they stand in ``tables/words.yaml``."""
    text = files("simulator.clarq").joinpath("tables", "words.yaml").read_text(encoding="utf-8")
    lists: Mapping[str, Any] = yaml.safe_load(text)[language]
    return lists


def word_set(language: Language, name: str) -> frozenset[str]:
    """One of the word lists."""
    return frozenset(words(language)[name].split())


def vague_words(language: Language) -> dict[str, Vagueness]:
    """Vague nouns and the sort of question they call for."""
    lists: Mapping[Vagueness, str] = words(language)["vague"]
    return {word: sort for sort, text in lists.items() for word in text.split()}
