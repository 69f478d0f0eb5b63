"""The families of NLI models, their outputs for a pair of sentences, and thresholds (spec 9.1).

============== =================================== ================================================
family         output                              label set
============== =================================== ================================================
regression     one number                          labels whose interval contains it
distributional one logit per label (softmax)       labels with a logit above a threshold
classifier     same, trained on single labels      same
multilabel     one logit per label (sigmoid)       same
binary         same, from one model per label      same
set            one logit for each of seven sets    the set with the highest logit
============== =================================== ================================================

Thresholds are tuned on dev, as in the last column of the paper's table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, Final, Literal, get_args

import numpy as np
import numpy.typing as npt
from pydantic import ValidatorFunctionWrapHandler, WrapValidator
from typer import Option

from simulator.ambient.labels import LABEL_SETS, LABELS, SHOWN, Label, LabelSet, format_labels
from simulator.errors import InputError
from simulator.fields import Finite, must, of_length, read_as, shorten
from simulator.jsonlines import finite

Family = Literal["regression", "distributional", "classifier", "multilabel", "set", "binary"]
FAMILIES: Final[tuple[Family, ...]] = get_args(Family)
Output = Literal["value", "labels", "sets"]
Scores = tuple[float, ...]
"""A model's output for one pair: 1 number, 3 (in the order of `LABELS`) or 7 (in that of `SET_NAMES`)."""

VALUE: Final = "value"
_SETS: Final[Mapping[str, LabelSet]] = {
    name: labels for name, labels in sorted((format_labels(labels), labels) for labels in LABEL_SETS)
}
SET_NAMES: Final[tuple[str, ...]] = tuple(_SETS)
"""The names of the seven sets as classes: labels in alphabetical order, joined by comma and blank."""
SET_CLASSES: Final[tuple[LabelSet, ...]] = tuple(_SETS.values())
CLASSES: Final[dict[Output, tuple[str, ...]]] = {"value": (VALUE,), "labels": LABELS, "sets": SET_NAMES}
"""The classes of an output's numbers, in order."""


def output_of(family: Family) -> Output:
    """Return the kind of output of a family's models."""
    return "value" if family == "regression" else "sets" if family == "set" else "labels"


def output_of_width(width: int) -> Output:
    """Return the kind of output with `width` numbers."""
    for output, names in CLASSES.items():
        if len(names) == width:
            return output
    raise ValueError(f"a model gives 1, 3 or 7 numbers for a pair, not {width}")


# ---- thresholds

Interval = tuple[float, float]
Threshold = float | Mapping[Label, Interval] | None
"""One number for all labels; an interval per label (regression); None if the highest class is taken."""
Pairs = Literal["all", "reference"]
PairsOption = Annotated[
    Pairs, Option(help="regression: intervals to try: all, or those that the reference tries")
]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def _read_unless_number(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    if isinstance(value, Mapping):
        return read(value)
    if (number := finite(value)) is None:
        raise ValueError(f"is {shorten(value)}, not a number")
    return number


_Ends = Annotated[
    Interval,
    read_as(Annotated[tuple[Finite, ...], of_length(2)], tuple),
    must(
        lambda ends: ends[0] < ends[1],
        lambda ends: f"is {shorten(ends)}; the first end should be below the second",
    ),
]
_Intervals = Annotated[
    Mapping[Label, _Ends],
    must(
        lambda intervals: len(intervals) == len(LABELS),
        lambda intervals: f"has no interval for {min(set(LABELS) - set(intervals))}",
    ),
]
CheckedThreshold = Annotated[_Intervals, WrapValidator(_read_unless_number)] | None
"""A threshold as stored in files."""


def plain_threshold(threshold: Threshold) -> float | dict[str, list[float]] | None:
    """Return a threshold for JSON with full precision: a number, or both ends of each label's interval."""
    if isinstance(threshold, Mapping):
        return {label: list(threshold[label]) for label in SHOWN if label in threshold}
    return threshold


def threshold_ends(threshold: Threshold) -> tuple[float, ...]:
    """Return a threshold's numbers: for intervals both ends, label by label."""
    if isinstance(threshold, Mapping):
        return tuple(end for label in LABELS for end in threshold[label])
    return () if threshold is None else (threshold,)


def label_set(scores: Sequence[float], threshold: Threshold) -> LabelSet:
    """Return the label set predicted by a model's scores for a pair, which may be empty.

    Args:
        scores: 1, 3 or 7 numbers (`CLASSES`).
        threshold: for 3 scores a number, which a label's logit must exceed; for 1 score closed intervals; for
            7 it is not used: the highest score wins, the first one in a tie.

    Raises:
        ValueError: if threshold and scores do not match.
    """
    match output_of_width(len(scores)), threshold:
        case "sets", _:
            return SET_CLASSES[int(np.argmax(scores))]
        case "value", Mapping() as intervals:
            return frozenset(label for label, (low, high) in intervals.items() if low <= scores[0] <= high)
        case "labels", int() | float() as limit:
            return frozenset(label for label, score in zip(LABELS, scores, strict=True) if score > limit)
    raise ValueError(f"a threshold such as {threshold!r} does not fit {len(scores)} numbers per pair")


def tune_threshold(scores: Sequence[Scores], gold: Sequence[LabelSet], pairs: Pairs = "all") -> Threshold:
    """Return the best threshold for original pairs of dev, given in file order.

    Raises:
        InputError: if there are no scores, too few, or scores that are not finite.
    """
    if not scores or len(scores) != len(gold):
        raise InputError(f"there are {len(scores)} dev predictions for {len(gold)} dev examples to tune on")
    table = np.array(scores, dtype=float)
    if not np.isfinite(table).all():
        raise InputError("some dev predictions are not finite, so no threshold can be tuned")
    match output_of_width(table.shape[1]):
        case "sets":
            return None
        case "labels":
            return tuned_threshold(table, gold)
    return tuned_intervals(table[:, 0], gold, pairs)


def tuned_threshold(logits: Floats, gold: Sequence[LabelSet]) -> float:
    """Return the dev logit that is the best threshold by macro F1, the first one in a tie.

    All logits, of shape (examples, 3), are candidates, in file order, then in the order of labels.
    """
    truth = _truth(gold)
    candidates = logits.ravel()
    scores = [Fraction(0)] * len(candidates)
    for place in range(len(LABELS)):
        ordered, right = np.sort(logits[:, place]), np.sort(logits[truth[:, place], place])
        predicted = len(ordered) - np.searchsorted(ordered, candidates, side="right")
        hits = len(right) - np.searchsorted(right, candidates, side="right")
        # Exact fractions, so that rounding does not break ties.
        scores = [
            score + Fraction(2 * hit, max(count + len(right), 1))
            for score, hit, count in zip(scores, hits.tolist(), predicted.tolist(), strict=True)
        ]
    best = max(range(len(scores)), key=scores.__getitem__)
    return float(candidates[best])


def tuned_intervals(values: Floats, gold: Sequence[LabelSet], pairs: Pairs = "all") -> dict[Label, Interval]:
    """Return for each label the interval between two dev predictions with the best F1, the first in a tie.

    ``all`` tries every pair of predictions as ends; ``reference`` only pairs whose smaller prediction comes
    first in the file, which skips about half of the intervals.
    """
    allowed = values[:, None] < values[None, :]
    if pairs == "reference":
        allowed &= np.triu(np.ones_like(allowed), 1)
    if not allowed.any():
        raise InputError(
            "no two dev predictions are in increasing order, so there is no interval to choose from"
        )
    inside = _count_between(values, values)
    intervals: dict[Label, Interval] = {}
    for label, positive in zip(LABELS, _truth(gold).T, strict=True):
        hits = _count_between(values[positive], values)
        # Quotients of whole numbers, so that equally good intervals get exactly equal values.
        f1 = np.where(allowed, 2 * hits / np.maximum(inside + positive.sum(), 1), -1.0)
        low, high = np.unravel_index(np.argmax(f1), f1.shape)
        intervals[label] = float(values[low]), float(values[high])
    return intervals


def _count_between(values: Floats, ends: Floats) -> Floats:
    """Return how many of `values` lie in each interval ``[ends[i], ends[j]]``, shape (ends, ends)."""
    ordered = np.sort(values)
    up_to = np.searchsorted(ordered, ends, side="right")
    below = np.searchsorted(ordered, ends, side="left")
    return (up_to[None, :] - below[:, None]).astype(float)


def _truth(gold: Sequence[LabelSet]) -> Bools:
    return np.array([[label in labels for label in LABELS] for labels in gold], dtype=bool)
