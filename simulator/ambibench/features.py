"""Pairs of features, their values, and what a task can be about (tables/features.yaml; paper Table 1)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, cast, get_args

import yaml

Pair = Literal["subject_location", "religious_pronoun", "propn_negation"]
Feature = Literal["subject", "location", "religious", "pronoun", "propn", "negation"]
Label = Literal["X", "Y"]
Format = Literal["arrow", "qa"]
Kind = Literal["uninformative", "informative", "wug"]
Setting = Literal["instruction", "multiple", "wug", "ft_train", "ft_eval", "verbalise", "aws"]
Variant = Literal["ambiguous", "control"]

TABLES: Final = Path(__file__).parent / "tables"
PAIR_NAMES: Final[tuple[Pair, ...]] = get_args(Pair)
FEATURES: Final[tuple[Feature, ...]] = get_args(Feature)
LABELS: Final[tuple[Label, ...]] = get_args(Label)
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
SETTINGS: Final[tuple[Setting, ...]] = get_args(Setting)


@cache
def table(name: str) -> Mapping[str, Any]:
    """Return a table of this package, ``tables/<name>.yaml``, read once."""
    return MappingProxyType(yaml.safe_load((TABLES / f"{name}.yaml").read_text(encoding="utf-8")))


def _pairs() -> dict[Pair, tuple[Feature, Feature]]:
    return {pair: (one["a"], one["b"]) for pair, one in table("features")["pairs"].items()}


PAIRS: Final[Mapping[Pair, tuple[Feature, Feature]]] = MappingProxyType(_pairs())
"""Pair -> its feature a and its feature b. The pairings never change."""

VALUES: Final[Mapping[Feature, tuple[str, str]]] = MappingProxyType(
    {
        cast(Feature, name): (values["true"], values["false"])
        for name, values in table("features")["features"].items()
    }
)
"""Feature -> the names of its values, coded ``true`` and ``false`` in data files (spec section 1)."""


@cache
def pair_of(feature: Feature) -> Pair:
    """Return the pair that `feature` belongs to."""
    return next(pair for pair, both in PAIRS.items() if feature in both)


class Hypothesis(NamedTuple):
    """What a task can be about: the salient feature, and which of its values is labelled X (polarity).

    Attributes:
        feature: the salient one.
        x_is: the coded value (spec section 1) that is labelled X.
    """

    feature: Feature
    x_is: bool

    @property
    def pair(self) -> Pair:
        """The pair of the salient feature."""
        return pair_of(self.feature)

    @property
    def value(self) -> str:
        """The name of the value that is labelled X."""
        return value_name(self.feature, self.x_is)

    def label(self, a: bool, b: bool) -> Label:
        """Return the label of a sentence with the coded values `a` and `b`."""
        value = a if self.feature == PAIRS[self.pair][0] else b
        return "X" if value == self.x_is else "Y"


def hypotheses(pair: Pair) -> tuple[Hypothesis, ...]:
    """Return the four hypotheses about a task of `pair`: two features by two polarities."""
    return tuple(Hypothesis(feature, x_is) for feature in PAIRS[pair] for x_is in (True, False))


def value_name(feature: Feature, value: bool) -> str:
    """Return ``human``, ``indoor``, … for a coded value."""
    return VALUES[feature][0 if value else 1]


def value_code(feature: Feature, name: str) -> bool:
    """Return the coded value of `feature` that is called `name`.

    Raises:
        ValueError: if `feature` has no such value.
    """
    true, false = VALUES[feature]
    if name not in (true, false):
        raise ValueError(f"{feature} is {true} or {false}, not {name!r}")
    return name == true
