"""What the published dataset is known to hold, and what the paper prints of it (spec 1.1 to 1.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from simulator.ambient.labels import Category, LabelSet, letters
from simulator.ambient.statistics import Share, Statistics

EXAMPLES: Final[Mapping[str, int]] = {
    "examples": 1645,
    "dev": 100,
    "test": 1545,
    "curated": 142,
    "generated": 1503,
    "numbered": 1503,
    "unlabelled": 0,
}
AMBIGUOUS_IN: Final[Mapping[str, int]] = {"dev": 36, "test": 543}
COUNTS: Final[Mapping[str, tuple[int, int]]] = {
    "ambiguous": (579, 1645),
    "premise": (430, 579),
    "hypothesis": (189, 579),
    "both": (40, 579),
    "one_side": (539, 579),
    "two_rewrites": (604, 619),
    "two_disambiguations": (550, 579),
}
"""How many out of how many, by the name of the share."""

LABEL_SETS: Final[Mapping[str, int]] = {
    **{"C": 151, "E": 233, "N": 682},
    **{"CE": 65, "CN": 167, "EN": 330, "CEN": 17},
}

SHARES: Final[Mapping[str, float]] = {
    **{"ambiguous": 35.2, "several_labels": 35.2, "premise": 74.3, "hypothesis": 32.6},
    **{"both": 6.9, "one_side": 93.1, "two_rewrites": 97.5},
}
"""In per cent, as printed; the last one is cut off, not rounded (spec 14)."""

EXTRA_WORDS: Final = 2.36
CATEGORY_ROWS: Final = 100
MENTIONS: Final = 105
CATEGORIES: Final[Mapping[Category, float]] = {
    **{"lexical": 20.0, "syntactic": 8.6, "figurative": 1.9, "pragmatic": 44.8},
    **{"scopal": 7.6, "coreferential": 2.9, "other": 14.3},
}
"""In per cent of all mentions, as printed."""


def differences(statistics: Statistics) -> tuple[str, ...]:
    """Return in what a dataset is not the published one; nothing if it is, as far as numbers tell."""
    pairs: dict[str, tuple[object, object]] = {
        **{name: (getattr(statistics, name), count) for name, count in EXAMPLES.items()},
        "ambiguous in": (dict(sorted(statistics.ambiguous_in.items())), dict(AMBIGUOUS_IN)),
        "label sets": (named_sets(statistics.label_sets), dict(LABEL_SETS)),
        **{
            name.replace("_", " "): (_some_of(getattr(statistics, name)), f"{part} of {whole}")
            for name, (part, whole) in COUNTS.items()
        },
    }
    return tuple(f"{name}: {own}, not {known}" for name, (own, known) in pairs.items() if own != known)


def named_sets(counts: Mapping[LabelSet, int]) -> dict[str, int]:
    """Return counts of label sets by their letters, single labels first."""
    return {letters(labels): count for labels, count in counts.items()}


def _some_of(share: Share) -> str:
    return "none" if share is None else f"{round(share.value * share.n)} of {share.n}"
