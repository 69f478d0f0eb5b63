"""Pairs of features (paper Table 1), and the sentences and instructions built from them.

Templates and words are in tables/*.yaml (spec sections 1 to 3, paper App. G.1).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, cast, get_args

from simulator.errors import InputError
from simulator.tables.builtin import read_yaml

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
TEXT_SETTINGS: Final[tuple[Setting, ...]] = ("verbalise", "aws")
"""Settings that ask for free text."""
BRACKETED: Final[tuple[Kind, ...]] = ("uninformative", "informative")
"""Kinds of instruction in settings 4.2 and 4.3; ``wug`` (App. D) is a separate setting."""


@cache
def table(name: str) -> Mapping[str, Any]:
    """Return a table of this package, ``tables/<name>.yaml``, cached."""
    return MappingProxyType(read_yaml(TABLES / f"{name}.yaml"))


def _pairs() -> dict[Pair, tuple[Feature, Feature]]:
    return {pair: (values["a"], values["b"]) for pair, values in table("features")["pairs"].items()}


PAIRS: Final[Mapping[Pair, tuple[Feature, Feature]]] = MappingProxyType(_pairs())
"""Pair -> its features a and b."""

VALUES: Final[Mapping[Feature, tuple[str, str]]] = MappingProxyType(
    {
        cast(Feature, name): (values["true"], values["false"])
        for name, values in table("features")["features"].items()
    }
)
"""Feature -> names of the values that data files code as ``true`` and ``false`` (spec section 1)."""


@cache
def pair_of(feature: Feature) -> Pair:
    """Return the pair that `feature` belongs to."""
    return next(pair for pair, both in PAIRS.items() if feature in both)


class Hypothesis(NamedTuple):
    """A possible rule behind the labels: the salient feature, and its coded value labelled X (polarity)."""

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


@cache
def hypotheses(pair: Pair) -> tuple[Hypothesis, ...]:
    """Return the four hypotheses about a task of `pair`: two features by two polarities."""
    return tuple(Hypothesis(feature, x_is) for feature in PAIRS[pair] for x_is in (True, False))


def value_name(feature: Feature, value: bool) -> str:
    """Return ``human``, ``indoor``, … for a coded value."""
    return VALUES[feature][0 if value else 1]


def value_code(feature: Feature, name: str) -> bool:
    """Return the coded value of `feature` with this name.

    Raises:
        ValueError: if `feature` has no such value.
    """
    true, false = VALUES[feature]
    if name not in (true, false):
        raise ValueError(f"{feature} must be {true} or {false}, not {name!r}")
    return name == true


LocationWord = Literal["setting", "location"]


class Read(NamedTuple):
    """A parsed sentence: its pair, coded values of both features, and slot -> word, without an article."""

    pair: Pair
    a: bool
    b: bool
    words: Mapping[str, str]


def make_sentence(pair: Pair, a: bool, b: bool, random: Random) -> str:
    """Return a sentence of `pair` with the coded values `a` and `b`, every word drawn uniformly."""
    template = table("features")["pairs"][pair]["template"]
    words = {
        name: _article(slot) + random.choice(slot_words(slot))
        for name, slot in _slots(pair, a, b).items()
        if f"{{{name}}}" in template
    }
    return str(template.format(**words))


# There are 2,800 different sentences.
@lru_cache(maxsize=4096)
def read_sentence(text: str, pair: Pair) -> Read:
    """Parse `text` as a sentence of `pair`.

    Raises:
        InputError: if it is not one.
    """
    for (a, b), pattern in _patterns(pair).items():
        if match := pattern.fullmatch(text):
            return Read(pair, a, b, MappingProxyType(match.groupdict()))
    raise InputError(f"{text!r} is not a sentence of {pair}: words or template differ.")


def readings(text: str) -> tuple[Read, ...]:
    """Return every way to parse `text`: two for a person in a place, none if no template fits."""
    reads = []
    for pair in PAIR_NAMES:
        with suppress(InputError):
            reads.append(read_sentence(text, pair))
    return tuple(reads)


def slot_words(slot: str) -> tuple[str, ...]:
    """Return the words that can fill `slot` (``human``, ``common``, …), without an article."""
    slots = table("features")["slots"]
    return tuple(table("words")[slots[slot]["words"] if slot in slots else slot])


def _slots(pair: Pair, a: bool, b: bool) -> dict[str, str]:
    first, second = PAIRS[pair]
    return {"a": value_name(first, a), "b": value_name(second, b), "place": table("features")["place"]}


def _article(slot: str) -> str:
    return str(table("features")["slots"].get(slot, {}).get("before", ""))


@cache
def _patterns(pair: Pair) -> Mapping[tuple[bool, bool], re.Pattern[str]]:
    """Return a pattern with the groups ``a``, ``b`` and ``place`` for each combination of values."""
    template = re.escape(table("features")["pairs"][pair]["template"]).replace(r"\{", "{").replace(r"\}", "}")
    return {
        (a, b): re.compile(template.format(**{name: _group(name, slot) for name, slot in slots.items()}))
        for a, b in product((True, False), repeat=2)
        for slots in (_slots(pair, a, b),)
    }


def _group(name: str, slot: str) -> str:
    words = "|".join(map(re.escape, sorted(slot_words(slot), key=len, reverse=True)))
    return f"{re.escape(_article(slot))}(?P<{name}>{words})"


# ---- instructions


def instruction(kind: Kind, hypothesis: Hypothesis, location_word: LocationWord = "setting") -> str:
    """Return the instruction of a task.

    `location_word`: ``setting``, as sent to models, or ``location``, as printed in App. G.2.
    """
    phrases = table("instructions")
    if kind == "informative":
        clause = phrases["informative"][hypothesis.feature][hypothesis.value]
        clause = clause.format(location_word=location_word)
    else:
        clause = phrases[kind]
    return str(phrases["frame"].format(clause=clause))


def read_instruction(text: str) -> tuple[Kind, Hypothesis | None]:
    """Return the kind of an instruction, and the hypothesis that an informative one states.

    Raises:
        InputError: if it is not an instruction of AmbiBench.
    """
    if text not in _instructions():
        raise InputError(f"{text!r} is not an instruction of AmbiBench.")
    return _instructions()[text]


@cache
def _instructions() -> dict[str, tuple[Kind, Hypothesis | None]]:
    kinds: dict[str, tuple[Kind, Hypothesis | None]] = {}
    for feature in FEATURES:
        for value in table("instructions")["informative"][feature]:
            meant = Hypothesis(feature, value_code(feature, value))
            for word in get_args(LocationWord):
                kinds[instruction("informative", meant, word)] = ("informative", meant)
    kinds[instruction("uninformative", meant)] = ("uninformative", None)
    kinds[instruction("wug", meant)] = ("wug", None)
    return kinds
