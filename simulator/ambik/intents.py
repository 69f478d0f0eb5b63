"""The grammar of ``user_intent`` and ``variants``, and how an action is matched against it (spec 3).

::

    intent      = concept { "," concept }
    concept     = [ "-" ] alternative { "|" alternative }
    variants    = intent { line-break intent }

A concept is found if any of its alternatives occurs in the action as a substring; a concept with a leading
minus, if none does. Letter case and runs of white space are ignored. There are no word boundaries: a stem
matches its inflected forms, and hits inside longer words are accepted by design.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple

LONGEST: Final = 200
"""Most letters of an intent; a longer cell is text in the wrong column."""
_SPACE: Final = re.compile(r"\s+")
Odd = Literal["several_hyphens", "empty_alternative", "inner_hyphen"]
_ENGLISH: Final[Mapping[Odd, str]] = {
    "several_hyphens": "several leading hyphens are read as one",
    "empty_alternative": "an empty alternative is left out",
    "inner_hyphen": "a hyphen inside a concept negates only one alternative",
}


class OddForm(NamedTuple):
    """An unusual way to write a concept; its string form is an English message."""

    code: Odd
    concept: str

    def __str__(self) -> str:
        return f"{self.concept!r}: {_ENGLISH[self.code]}"


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to realise a concept.

    `text`: the text to look for, as written; `absent`: True if the alternative is realised when the text does
    NOT occur.
    """

    text: str
    absent: bool = False


@dataclass(frozen=True, slots=True)
class Concept:
    """A requirement that an action can fulfil in any of several ways.

    `negative`: True if none of the alternatives may occur.
    """

    alternatives: tuple[Alternative, ...]
    negative: bool = False


@dataclass(frozen=True, slots=True)
class Intent:
    """A parsed intent.

    Attributes:
        concepts: empty if the intent is malformed.
        malformed: True for text in the wrong column (a line break, or more than `LONGEST` letters) or if
            there is no concept. Metrics skip such intents.
    """

    text: str
    concepts: tuple[Concept, ...]
    malformed: bool = False
    warnings: tuple[OddForm, ...] = ()


def parse_intent(text: str) -> Intent:
    """Parse a cell of ``user_intent``, or a line of ``variants`` (spec 3, rules 1 to 4)."""
    if "\n" in text.strip() or len(text.strip()) > LONGEST:
        return Intent(text, (), malformed=True)
    warnings: list[OddForm] = []
    parts = (_concept(part, warnings) for part in text.split(","))
    concepts = tuple(concept for concept in parts if concept is not None)
    return Intent(text, concepts, malformed=not concepts, warnings=tuple(dict.fromkeys(warnings)))


def parse_variants(text: str) -> tuple[Intent, ...]:
    """Parse a cell of ``variants``: one intent per line; empty lines are skipped."""
    return tuple(parse_intent(line) for line in text.splitlines() if line.strip())


@lru_cache(maxsize=8192)
def fold(text: str) -> str:
    """Return a text normalized for comparison: case-folded, with single blanks."""
    return _SPACE.sub(" ", text).strip().casefold()


def is_found(concept: Concept, action: str) -> bool:
    """Return True if an action realises a concept."""
    text = fold(action)
    hits = (fold(alternative.text) in text for alternative in concept.alternatives)
    if concept.negative:
        return not any(hits)
    return any(hit != way.absent for hit, way in zip(hits, concept.alternatives, strict=True))


def realises(intent: Intent, action: str) -> bool:
    """Return True if an action realises all concepts of an intent; always False for a malformed one."""
    return not intent.malformed and all(is_found(concept, action) for concept in intent.concepts)


def acceptable(variants: Sequence[Intent], action: str) -> bool:
    """Return True if an action realises at least one of several intents (spec 7.1)."""
    return any(realises(intent, action) for intent in variants)


def _concept(part: str, warnings: list[OddForm]) -> Concept | None:
    stripped = part.strip()
    if not stripped:
        return None
    body = stripped.lstrip("-")
    negative = body != stripped
    if len(stripped) - len(body) > 1:
        warnings.append(OddForm("several_hyphens", stripped))
    pieces = [piece.strip() for piece in body.split("|")]
    if not all(pieces):
        warnings.append(OddForm("empty_alternative", stripped))
    alternatives: list[Alternative] = []
    for place, piece in enumerate(pieces):
        absent = place > 0 and piece.startswith("-")
        if absent:
            warnings.append(OddForm("inner_hyphen", stripped))
            piece = piece.lstrip("-").strip()
        if piece:
            alternatives.append(Alternative(piece, absent))
    return Concept(tuple(alternatives), negative) if alternatives else None
