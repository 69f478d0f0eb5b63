"""How a model of inference is trained, and the pairs to train on (spec 9.2).

These are JSON lines with a premise, a hypothesis and what is known of their relation.

=============================== ==================================================================
``label``                       one label
``labels``                      several: a list, or a text with commas
``value``                       a number (u-SNLI), for regression
``distribution``                ``{label: share}``
``counts``                      ``{label: annotators}`` (ChaosNLI)
``annotations``                 of two annotators (WANLI): ``[{label, premise, hypothesis}, …]``; texts
                                that are missing were left as they were
=============================== ==================================================================

A label is in the set of a distribution or of counts from 20 % on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from simulator.ambient.labels import LABELS, Label, LabelSet, parse_label, parse_labels
from simulator.ambient.nli.families import SET_CLASSES, Family, Pairs, Scores
from simulator.ambient.nli.predict import BATCH, MAX_LENGTH
from simulator.jsonlines import FieldError, Read, Row, read_lines

SEEDS: Final = (42, 43, 44, 45, 46)
EPOCHS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """A training; every stage has an optimiser and a schedule of its own.

    Attributes:
        family: what is learnt.
        rate: AdamW's learning rate at its highest.
        batch: pairs per update.
        warmup: share of a stage's updates over which the rate rises; it falls to 0 linearly after that.
        weight_decay: of matrices; biases and norms have none.
        max_length: of a pair, in tokens.
        clip: largest norm of a gradient.
        pairs: which intervals are tried in tuning a regression.
        read_batch: pairs that are read at a time where nothing is learnt.
    """

    family: Family = "multilabel"
    rate: float = 1e-5
    batch: int = 32
    warmup: float = 0.06
    weight_decay: float = 0.1
    max_length: int = MAX_LENGTH
    clip: float = 1.0
    pairs: Pairs = "all"
    read_batch: int = BATCH


SNLI_VALUES: Final[Mapping[Label, float]] = {
    "entailment": 0.9272,
    "neutral": 0.4250,
    "contradiction": 0.0209,
}
"""The numbers to which single labels are mapped for regression."""
FROM_PERCENT: Final = 20
FIELDS: Final = ("label", "labels", "value", "distribution", "counts", "annotations")
_ROUNDING: Final = 1e-3


@dataclass(frozen=True, slots=True)
class TrainingPair:
    """A pair with what a model should give for it; as many numbers as the family's models give."""

    premise: str
    hypothesis: str
    target: Scores


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of a pair's relation; None is not known."""

    premise: str
    hypothesis: str
    value: float | None = None
    shares: Mapping[Label, float] | None = None
    labels: LabelSet | None = None


def read_training(path: str | Path, family: Family) -> Read[TrainingPair]:
    """Return the pairs in a file, for models of a family; a row that says too little for it is a fault.

    Raises:
        InputError: if the file cannot be read at all.
    """

    def parse(row: Row) -> TrainingPair:
        known = read_known(row)
        return TrainingPair(known.premise, known.hypothesis, target(known, family))

    return read_lines(path, parse)


def read_known(row: Row) -> Known:
    """Return what a row says of its pair.

    Raises:
        FieldError: if it says nothing, or the same in several ways.
    """
    given = [name for name in FIELDS if row.get(name) is not None]
    if len(given) != 1:
        said = f"has {' and '.join(given)}" if given else "has none"
        raise FieldError(f"{said}; give exactly one of {', '.join(FIELDS)}")
    return _READERS[given[0]](row, row.text("premise"), row.text("hypothesis"))


def target(known: Known, family: Family) -> Scores:
    """Return what a model of a family should give.

    Raises:
        FieldError: if too little is known.
    """
    if family == "regression":
        return (_value(known),)
    if family in ("distributional", "classifier"):
        shares = known.shares or {}
        if family == "classifier" and sorted(shares.values())[-1:] != [1.0]:
            raise FieldError("a classifier learns from single labels")
        if not shares:
            raise FieldError("says nothing of how likely each label is")
        return tuple(shares.get(label, 0.0) for label in LABELS)
    if known.labels is None:
        raise FieldError("a number says nothing of labels")
    if family == "set":
        return tuple(float(one == known.labels) for one in SET_CLASSES)
    return tuple(float(label in known.labels) for label in LABELS)


def _value(known: Known) -> float:
    if known.value is not None:
        return known.value
    if known.labels is None or len(known.labels) != 1:
        raise FieldError("regression learns from a value, or from a single label")
    return SNLI_VALUES[next(iter(known.labels))]


def _of_label(row: Row, premise: str, hypothesis: str) -> Known:
    return _single(premise, hypothesis, row.parsed("label", parse_label, row.text("label")))


def _of_labels(row: Row, premise: str, hypothesis: str) -> Known:
    value = row.get("labels")
    text = ", ".join(map(str, value)) if isinstance(value, list) else row.text("labels")
    labels = row.parsed("labels", parse_labels, text)
    if not labels:
        raise row.wrong("labels", "is empty")
    # Of several labels nobody knows how likely each is.
    shares = dict.fromkeys(sorted(labels), 1.0) if len(labels) == 1 else None
    return Known(premise=premise, hypothesis=hypothesis, shares=shares, labels=labels)


def _of_value(row: Row, premise: str, hypothesis: str) -> Known:
    return Known(premise=premise, hypothesis=hypothesis, value=row.number("value"))


def _of_distribution(row: Row, premise: str, hypothesis: str) -> Known:
    numbers = _by_label(row.object("distribution"), "distribution")
    if abs(sum(numbers.values()) - 1) > _ROUNDING:
        raise row.wrong("distribution", f"adds up to {sum(numbers.values()):g}, not 1")
    return _shared(premise, hypothesis, numbers)


def _of_counts(row: Row, premise: str, hypothesis: str) -> Known:
    inner = row.object("counts")
    numbers = _by_label(inner, "counts")
    if any(inner.whole(name) < 0 for name in inner.data) or not sum(numbers.values()):
        raise row.wrong("counts", "are not those of any annotators")
    return _shared(premise, hypothesis, numbers)


def _of_annotations(row: Row, premise: str, hypothesis: str) -> Known:
    """Return both labels where neither changed the text; else text and label of one (spec 9.2).

    If the first has changed it, those of the second; if only the second has, those of the first.
    """
    row.list("annotations", 2)
    first, second = (_annotation(one, premise, hypothesis) for one in row.rows("annotations"))
    text = (premise, hypothesis)
    if first[:2] != text:
        return _single(*second)
    if second[:2] != text:
        return _single(*first)
    labels = (first[2], second[2])
    return _shared(premise, hypothesis, {label: labels.count(label) / 2 for label in LABELS})


def _annotation(row: Row, premise: str, hypothesis: str) -> tuple[str, str, Label]:
    return (
        row.text("premise") if "premise" in row.data else premise,
        row.text("hypothesis") if "hypothesis" in row.data else hypothesis,
        row.parsed("label", parse_label, row.text("label")),
    )


def _single(premise: str, hypothesis: str, label: Label) -> Known:
    return Known(premise=premise, hypothesis=hypothesis, shares={label: 1.0}, labels=frozenset({label}))


def _shared(premise: str, hypothesis: str, numbers: Mapping[Label, float]) -> Known:
    total = sum(numbers.values())
    return Known(
        premise=premise,
        hypothesis=hypothesis,
        shares={label: number / total for label, number in numbers.items()},
        labels=frozenset(label for label, number in numbers.items() if 100 * number >= FROM_PERCENT * total),
    )


def _by_label(row: Row, name: str) -> dict[Label, float]:
    found = {row.parsed(one, parse_label, one): row.number(one) for one in row.data}
    if any(number < 0 for number in found.values()):
        raise FieldError(f"{name} has a number below 0")
    return found


_READERS: Final[Mapping[str, Callable[[Row, str, str], Known]]] = {
    "label": _of_label,
    "labels": _of_labels,
    "value": _of_value,
    "distribution": _of_distribution,
    "counts": _of_counts,
    "annotations": _of_annotations,
}
