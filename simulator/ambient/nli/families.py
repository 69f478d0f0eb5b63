"""The families of models, what they give for a pair of sentences, and thresholds on that (spec 9.1).

============== =================================== ================================================
family         output                              label set
============== =================================== ================================================
regression     one number                          labels whose interval holds it
distributional one logit a label (softmax)         labels with a logit above a threshold
classifier     likewise, learnt from single labels likewise
multilabel     one logit a label (sigmoid)         likewise
binary         likewise, each by a model of its    likewise
               own
set            one logit for each of seven sets    the set with the highest
============== =================================== ================================================

Thresholds are tuned on dev, as the last column of the paper's table says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from simulator.ambient.labels import LABEL_SETS, LABELS, Label, LabelSet, format_labels
from simulator.errors import InputError

Family = Literal["regression", "distributional", "classifier", "multilabel", "set", "binary"]
FAMILIES: Final[tuple[Family, ...]] = get_args(Family)
Output = Literal["value", "labels", "sets"]

VALUE: Final = "value"
SET_NAMES: Final[tuple[str, ...]] = tuple(sorted(map(format_labels, LABEL_SETS)))
"""The seven sets as classes, by name: their labels in alphabetical order, joined by comma and blank."""
CLASSES: Final[dict[Output, tuple[str, ...]]] = {"value": (VALUE,), "labels": LABELS, "sets": SET_NAMES}
"""What the numbers of an output stand for, in their order."""
# From the name of a set to the set.
_SETS: Final[dict[str, LabelSet]] = {format_labels(one): one for one in LABEL_SETS}
SET_CLASSES: Final[tuple[LabelSet, ...]] = tuple(_SETS[name] for name in SET_NAMES)

Scores = tuple[float, ...]
"""What a model gives for one pair: 1 number, 3 (in the order of `LABELS`) or 7 (in that of `SET_NAMES`)."""


def output_of(family: Family) -> Output:
    """Return what the models of a family give."""
    return "value" if family == "regression" else "sets" if family == "set" else "labels"


def output_of_width(width: int) -> Output:
    """Return the output that has so many numbers.

    Raises:
        ValueError: if none has.
    """
    for output, names in CLASSES.items():
        if len(names) == width:
            return output
    raise ValueError(f"a model gives 1, 3 or 7 numbers for a pair, not {width}")


def best_set(scores: Sequence[float]) -> LabelSet:
    """Return the set with the highest of seven logits; of equal ones the first."""
    return SET_CLASSES[max(range(len(SET_CLASSES)), key=lambda place: scores[place])]


def classes_of(family: Family) -> tuple[str, ...]:
    """Return the names of the numbers that the models of a family give."""
    return CLASSES[output_of(family)]


Interval = tuple[float, float]
Threshold = float | Mapping[Label, Interval] | None
"""One for all labels; an interval a label (regression); None where the highest class is taken."""
Pairs = Literal["all", "reference"]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def label_set(scores: Sequence[float], threshold: Threshold) -> LabelSet:
    """Return the labels that a model's numbers for a pair mean; may be none.

    Args:
        scores: 1, 3 or 7 numbers (`families.CLASSES`).
        threshold: a number for 3 of them (a label's logit must be greater), intervals for 1 (their ends
            belong to them); of 7, the highest is taken and no threshold is used.

    Raises:
        ValueError: if threshold and scores do not belong together.
    """
    output = output_of_width(len(scores))
    if output == "sets":
        return best_set(scores)
    if output == "value" and isinstance(threshold, Mapping):
        value = scores[0]
        return frozenset(label for label, (low, high) in threshold.items() if low <= value <= high)
    if output == "labels" and isinstance(threshold, int | float):
        return frozenset(label for label, one in zip(LABELS, scores, strict=True) if one > threshold)
    raise ValueError(f"a threshold such as {threshold!r} does not go with {len(scores)} numbers a pair")


def tuned(scores: Sequence[Scores], gold: Sequence[LabelSet], pairs: Pairs = "all") -> Threshold:
    """Return the threshold with which a model does best on dev: nothing, a number or intervals.

    Args:
        scores: of the original pairs, in the order of the file.
        gold: the label set of each.
        pairs: which intervals are tried, see `tuned_intervals`.

    Raises:
        InputError: if there is nothing to tune on.
    """
    if not scores or len(scores) != len(gold):
        raise InputError(f"there are {len(scores)} dev predictions for {len(gold)} dev examples to tune on")
    table = np.array(scores, dtype=float)
    if not np.isfinite(table).all():
        raise InputError("some dev predictions are not finite: nothing can be tuned on them")
    output = output_of_width(table.shape[1])
    if output == "sets":
        return None
    if output == "labels":
        return tuned_threshold(table, gold)
    return tuned_intervals(table[:, 0], gold, pairs)


def tuned_threshold(logits: Floats, gold: Sequence[LabelSet]) -> float:
    """Return the dev logit above which labels are best taken to hold, by macro F1; of equals the first.

    All logits are candidates, in the order of the file, then of the labels.

    Args:
        logits: of shape (examples, 3), labels in canonical order.
        gold: the label set of each example.
    """
    truth = _truth(gold)
    candidates = logits.ravel()
    scores = [Fraction(0)] * len(candidates)
    for place in range(len(LABELS)):
        ordered, right = np.sort(logits[:, place]), np.sort(logits[truth[:, place], place])
        predicted = len(ordered) - np.searchsorted(ordered, candidates, side="right")
        hits = len(right) - np.searchsorted(right, candidates, side="right")
        # Exact, since rounding must not choose between candidates that are equally good.
        scores = [
            score + _exact_f1(hit, there + len(right))
            for score, hit, there in zip(scores, hits.tolist(), predicted.tolist(), strict=True)
        ]
    best = max(range(len(scores)), key=scores.__getitem__)
    return float(candidates[best])


def tuned_intervals(
    values: Floats, gold: Sequence[LabelSet], pairs: Pairs = "all"
) -> dict[Label, tuple[float, float]]:
    """For each label the interval between two dev predictions with the best F1; of equal ones the first.

    Args:
        values: one a pair, shape (examples,).
        gold: the label set of each.
        pairs: ``all`` tries every ordered pair of predictions, the smaller one first; ``reference`` only
            those that stand in this order in the file, so that about half of the intervals is never tried.

    Raises:
        InputError: if no prediction is smaller than another.
    """
    allowed = values[:, None] < values[None, :]
    if pairs == "reference":
        allowed &= np.triu(np.ones_like(allowed), 1)
    if not allowed.any():
        raise InputError(
            "there are no two dev predictions of which the first is smaller: no interval to choose from"
        )
    truth = _truth(gold)
    inside = _between(values, values)
    return {label: _interval(values, truth[:, place], inside, allowed) for place, label in enumerate(LABELS)}


def _interval(values: Floats, truth: Bools, inside: Floats, allowed: Bools) -> tuple[float, float]:
    hits = _between(values[truth], values)
    # A quotient of two whole numbers is rounded in one way: equally good intervals get equal numbers.
    f1 = np.where(allowed, 2 * hits / np.maximum(inside + truth.sum(), 1), -1.0)
    low, high = np.unravel_index(np.argmax(f1), f1.shape)
    return float(values[low]), float(values[high])


def _between(values: Floats, ends: Floats) -> Floats:
    """Return how many of `values` lie in each interval ``[ends[i], ends[j]]``, shape (ends, ends)."""
    ordered = np.sort(values)
    up_to = np.searchsorted(ordered, ends, side="right")
    below = np.searchsorted(ordered, ends, side="left")
    return (up_to[None, :] - below[:, None]).astype(float)


def _truth(gold: Sequence[LabelSet]) -> Bools:
    return np.array([[label in one for label in LABELS] for one in gold], dtype=bool)


def _exact_f1(hits: int, both: int) -> Fraction:
    return Fraction(2 * hits, both) if both else Fraction(0)
