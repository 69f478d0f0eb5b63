"""The three labels of natural language inference, sets of them, and the kinds of ambiguity (spec 1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Final, Literal, get_args

from simulator.errors import InputError

Label = Literal["contradiction", "entailment", "neutral"]
LABELS: Final[tuple[Label, ...]] = get_args(Label)
"""In the canonical order of arrays, which is alphabetical."""

LabelSet = frozenset[Label]
LABEL_SETS: Final[tuple[LabelSet, ...]] = tuple(
    frozenset(some) for size in (1, 2, 3) for some in combinations(LABELS, size)
)
"""The seven that are not empty: C, E, N, CE, CN, EN, CEN."""

Side = Literal["premise", "hypothesis"]
SIDES: Final[tuple[Side, ...]] = get_args(Side)

Category = Literal["lexical", "syntactic", "figurative", "pragmatic", "scopal", "coreferential", "other"]
CATEGORIES: Final[tuple[Category, ...]] = get_args(Category)
"""Kinds of ambiguity in the order of their priority: where two fit one ambiguity, the first holds (1.3)."""

_BLANK_COMMA: Final = ", "


def parse_labels(text: str, separator: str = _BLANK_COMMA) -> LabelSet:
    """The set that a text such as ``neutral, entailment`` names; the empty text is the empty set.

    Args:
        text: labels in any order.
        separator: between them (linguists' files have ``|``).

    Raises:
        InputError: names what is no label.
    """
    parts = [part.strip() for part in text.split(separator.strip())] if text.strip() else []
    return frozenset(parse_label(part) for part in parts)


def parse_label(text: str) -> Label:
    """The label that a text names.

    Raises:
        InputError: if it names none.
    """
    for label in LABELS:
        if text == label:
            return label
    raise InputError(f"{text!r} is no label; labels are {_BLANK_COMMA.join(LABELS)}")


def format_labels(labels: Iterable[Label], separator: str = _BLANK_COMMA) -> str:
    """The labels in canonical order, joined as the published files do."""
    given = set(labels)
    return separator.join(label for label in LABELS if label in given)


def letters(labels: Iterable[Label]) -> str:
    """A set in short: ``C``, ``EN``, ``CEN``."""
    return "".join(label[0].upper() for label in LABELS if label in set(labels))


VERBALIZERS: Final[Mapping[Label, str]] = {
    "entailment": "Then the claim is true.",
    "contradiction": "Then the claim is false.",
    "neutral": "Then the claim is inconclusive.",
}
"""What stands behind a reading in prompts and their continuations (spec 6.2)."""
