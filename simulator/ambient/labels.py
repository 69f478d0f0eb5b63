"""The three labels of natural language inference, label sets, and kinds of ambiguity (spec 1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from typing import Annotated, Any, Final, Literal, TypeVar, get_args

from pydantic import BeforeValidator, PlainSerializer, PlainValidator

from simulator.errors import InputError
from simulator.fields import as_validator, must

T = TypeVar("T")

Label = Literal["contradiction", "entailment", "neutral"]
LABELS: Final[tuple[Label, ...]] = get_args(Label)
"""The labels in canonical order, which is alphabetical."""

SHOWN: Final[tuple[Label, Label, Label]] = ("entailment", "neutral", "contradiction")
"""The labels in display order, which is that of the paper's Table 11 and of linguists' files."""

LabelSet = frozenset[Label]
LABEL_SETS: Final[tuple[LabelSet, ...]] = tuple(
    frozenset(labels) for size in (1, 2, 3) for labels in combinations(LABELS, size)
)
"""The seven non-empty label sets: C, E, N, CE, CN, EN, CEN."""

Side = Literal["premise", "hypothesis"]
SIDES: Final[tuple[Side, ...]] = get_args(Side)

Category = Literal["lexical", "syntactic", "figurative", "pragmatic", "scopal", "coreferential", "other"]
CATEGORIES: Final[tuple[Category, ...]] = get_args(Category)
"""Kinds of ambiguity in order of priority: if several fit an ambiguity, the first applies (spec 1.3)."""

_BLANK_COMMA: Final = ", "


def parse_labels(text: str, separator: str = _BLANK_COMMA) -> LabelSet:
    """Return the label set of a text such as ``neutral, entailment``; the empty set of an empty text."""
    parts = [part.strip() for part in text.split(separator.strip())] if text.strip() else []
    return frozenset(parse_label(part) for part in parts)


def parse_label(text: str) -> Label:
    """Return the label with a name.

    Raises:
        InputError: if there is no such label.
    """
    for label in LABELS:
        if text == label:
            return label
    raise InputError(f"{text!r} is not a label; labels are {_BLANK_COMMA.join(LABELS)}")


def in_order(labels: Iterable[Label]) -> list[Label]:
    """Return the distinct labels in canonical order."""
    chosen = set(labels)
    return [label for label in LABELS if label in chosen]


def format_labels(labels: Iterable[Label]) -> str:
    """Return the labels in canonical order, joined as in the published files."""
    return _BLANK_COMMA.join(in_order(labels))


def read_words(value: Any, read: Callable[[str], T]) -> tuple[T, ...]:
    """Read words from a comma-separated text or a list of texts.

    Raises:
        ValueError: if the value is neither or a word cannot be read.
    """
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
        raise ValueError("is neither a text nor a list of texts")
    read_field = as_validator(read)
    return tuple(read_field(word.strip() if isinstance(value, str) else word) for word in words)


def _read_labels(value: Any) -> LabelSet:
    blank = isinstance(value, str) and not value.strip()
    return frozenset() if blank else frozenset(read_words(value, parse_label))


def _read_category(word: str) -> Category:
    for known in CATEGORIES:
        if word.strip() == known:
            return known
    raise InputError(f"{word!r} is not a kind of ambiguity; kinds are {', '.join(CATEGORIES)}")


def _read_categories(value: Any) -> tuple[Category, ...]:
    return () if value is None else tuple(dict.fromkeys(read_words(value, _read_category)))


AnyLabels = Annotated[LabelSet, PlainValidator(_read_labels), PlainSerializer(format_labels)]
"""A set of labels, stored as a text or a list of texts; written as a text in canonical order."""
SomeLabels = Annotated[AnyLabels, must(bool, "is empty")]
"""A set of at least one label."""
Categories = Annotated[tuple[Category, ...], BeforeValidator(_read_categories)]
"""Distinct kinds of ambiguity, stored as a text or a list of texts."""


def letters(labels: Iterable[Label]) -> str:
    """Abbreviate a label set: ``C``, ``EN``, ``CEN``."""
    return "".join(label[0].upper() for label in sorted(set(labels)))


VERBALIZERS: Final[Mapping[Label, str]] = {
    "entailment": "Then the claim is true.",
    "contradiction": "Then the claim is false.",
    "neutral": "Then the claim is inconclusive.",
}
"""The sentence after a reading in prompts and their continuations (spec 6.2)."""
