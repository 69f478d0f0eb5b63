"""Which pairs a model of inference takes to be ambiguous, and how many of each are kept (spec 2.2.5-6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, Literal

from simulator.ambient.claims import second_highest
from simulator.ambient.labels import LABEL_SETS, LABELS, Label, LabelSet
from simulator.seeds import derive_seed

THRESHOLD: Final = 0.05
REFERENCE_THRESHOLD: Final = 0.04
"""Of the reference's predicted sets in balancing."""
Balancing = Literal["default", "reference"]
_CE: Final[LabelSet] = frozenset({"contradiction", "entailment"})
_CN: Final[LabelSet] = frozenset({"contradiction", "neutral"})
_EN: Final[LabelSet] = frozenset({"entailment", "neutral"})


@dataclass(frozen=True, slots=True)
class Balanced:
    """What is kept.

    Attributes:
        kept: places among what was given, ascending.
        before: by label set (all seven, then none), how many there were.
        after: how many are kept.
    """

    kept: tuple[int, ...]
    before: Mapping[LabelSet, int]
    after: Mapping[LabelSet, int]


def may_be_ambiguous(
    probabilities: Mapping[Label, float], which: Balancing = "default", threshold: float = THRESHOLD
) -> bool:
    """Whether two labels are likely enough: the second-highest probability reaches the threshold.

    The reference wants it to be strictly greater.
    """
    second = second_highest(probabilities)
    return second >= threshold if which == "default" else second > threshold


def predicted(probabilities: Mapping[Label, float], which: Balancing = "default") -> LabelSet:
    """The label set that a pair counts with in balancing.

    All labels from 5 % on, as in the filter; in the reference those above 4 %.
    """
    if which == "default":
        return frozenset(label for label in LABELS if probabilities[label] >= THRESHOLD)
    return frozenset(label for label in LABELS if probabilities[label] > REFERENCE_THRESHOLD)


def balanced(sets: Sequence[LabelSet], *, seed: int, which: Balancing = "default") -> Balanced:
    """Choose pairs by their predicted sets.

    By default all {C,E} and {C,E,N}, and as many {E,N} as {C,N}. In the reference all sets with C, and
    then drawn ones with E and without C until both labels are in equally many.

    Args:
        sets: of each pair.
        seed: of the drawing where there are too many.
        which: of the two.
    """
    random = Random(derive_seed(seed, "balance"))
    kept = _default(sets, random) if which == "default" else _reference(sets, random)
    places = tuple(sorted(kept))
    return Balanced(places, _counts(sets), _counts([sets[place] for place in places]))


def _default(sets: Sequence[LabelSet], random: Random) -> list[int]:
    pairs = [[place for place, one in enumerate(sets) if one == wanted] for wanted in (_EN, _CN)]
    number = min(map(len, pairs))
    chosen = [place for places in pairs for place in random.sample(places, number)]
    return [place for place, one in enumerate(sets) if one >= _CE] + chosen


def _reference(sets: Sequence[LabelSet], random: Random) -> list[int]:
    kept = [place for place, one in enumerate(sets) if "contradiction" in one]
    lacking = len(kept) - sum("entailment" in sets[place] for place in kept)
    others = [place for place, one in enumerate(sets) if "entailment" in one and "contradiction" not in one]
    return kept + random.sample(others, min(lacking, len(others)))


def _counts(sets: Sequence[LabelSet]) -> dict[LabelSet, int]:
    return {one: sets.count(one) for one in (*LABEL_SETS, frozenset[Label]())}
