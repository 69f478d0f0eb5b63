"""The families of models and what they give for a pair of sentences (spec 9.1).

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
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, get_args

from simulator.ambient.labels import LABEL_SETS, LABELS, Label, LabelSet, format_labels

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
    """What the models of a family give."""
    return "value" if family == "regression" else "sets" if family == "set" else "labels"


def output_of_width(width: int) -> Output:
    """The output that has so many numbers.

    Raises:
        ValueError: if none has.
    """
    for output, names in CLASSES.items():
        if len(names) == width:
            return output
    raise ValueError(f"a model gives 1, 3 or 7 numbers for a pair, not {width}")


def best_set(scores: Sequence[float]) -> LabelSet:
    """The set with the highest of seven logits; of equal ones the first."""
    return SET_CLASSES[max(range(len(SET_CLASSES)), key=lambda place: scores[place])]


def classes_of(family: Family) -> tuple[str, ...]:
    """The names of the numbers that the models of a family give."""
    return CLASSES[output_of(family)]


def by_label(numbers: Sequence[float]) -> dict[Label, float]:
    """Three numbers under their labels."""
    return dict(zip(LABELS, numbers, strict=True))
