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

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Self

from annotated_types import Ge
from pydantic import BaseModel, model_validator
from typer import Option

from simulator.ambient.labels import LABELS, Label, LabelSet, SomeLabels
from simulator.ambient.nli.families import SET_CLASSES, Family, PairsOption, Scores
from simulator.ambient.nli.predict import BATCH, MAX_LENGTH
from simulator.fields import Finite, Said, Whole, must, of_length
from simulator.jsonlines import Codec, FieldError, Read, Row, read_lines

SEEDS: Final = (42, 43, 44, 45, 46)
EPOCHS: Final = 5
SNLI_VALUES: Final[Mapping[Label, float]] = {"entailment": 0.9272, "neutral": 0.4250, "contradiction": 0.0209}
"""The numbers to which single labels are mapped for regression."""
FROM_PERCENT: Final = 20
FIELDS: Final = ("label", "labels", "value", "distribution", "counts", "annotations")
_ROUNDING: Final = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """A training; every stage has an optimiser and a schedule of its own.

    AdamW's rate rises over the warm-up, and falls to 0 linearly after that; biases and norms have no weight
    decay.
    """

    family: Annotated[Family, Option(help="what is learnt")] = "multilabel"
    rate: Annotated[float, Option(min=0, help="highest learning rate")] = 1e-5
    batch: Annotated[int, Option(min=1, help="pairs per update")] = 32
    warmup: Annotated[float, Option(min=0, max=1, help="share of updates")] = 0.06
    weight_decay: Annotated[float, Option(min=0, help="of matrices")] = 0.1
    max_length: Annotated[int, Option(min=8, help="of a pair, in tokens")] = MAX_LENGTH
    clip: Annotated[float, Option(min=0, help="largest norm of a gradient")] = 1.0
    pairs: PairsOption = "all"
    read_batch: Annotated[int, Option(min=1, help="pairs read at a time for predictions")] = BATCH


@dataclass(frozen=True, slots=True)
class TrainingPair:
    """A pair with what a model should give for it; as many numbers as the family's models give."""

    premise: str
    hypothesis: str
    target: Scores


@dataclass(frozen=True, slots=True)
class KnownPair:
    """A pair with what is known of its relation; None, or an empty set, is not known."""

    premise: str
    hypothesis: str
    value: float | None
    shares: Mapping[Label, float] | None
    labels: LabelSet


class _Annotation(BaseModel):
    """One of two annotators; a text that is None was left as it was."""

    label: Label
    premise: Said | None = None
    hypothesis: Said | None = None


_Shares = Annotated[
    Mapping[Label, Annotated[Finite, Ge(0)]],
    must(
        lambda shares: abs(sum(shares.values()) - 1) <= _ROUNDING,
        lambda shares: f"adds up to {sum(shares.values()):g}, not 1",
    ),
]
_Counts = Annotated[
    Mapping[Label, Annotated[Whole, Ge(0)]],
    must(lambda counts: sum(counts.values()) > 0, "are not those of any annotators"),
]


class TrainingRow(BaseModel):
    """A row of such a file; says what is known in exactly one way."""

    premise: Said
    hypothesis: Said
    label: Label | None = None
    labels: SomeLabels | None = None
    value: Finite | None = None
    distribution: _Shares | None = None
    counts: _Counts | None = None
    annotations: Annotated[tuple[_Annotation, ...], of_length(2)] | None = None

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        names = [name for name in FIELDS if getattr(self, name) is not None]
        if len(names) != 1:
            held = " and ".join(names) or "none"
            raise ValueError(f"has {held}; give exactly one of {', '.join(FIELDS)}")
        return self

    def known(self) -> KnownPair:
        """Return what the row says.

        Of two annotators both labels count where neither changed the text; if the first has changed it, text
        and label of the second do; if only the second has, those of the first (spec 9.2).
        """
        texts, label = (self.premise, self.hypothesis), self.label
        labels: LabelSet = self.labels or frozenset()
        shares: Mapping[Label, float] | None = self.distribution or self.counts
        if self.annotations is not None:
            first, second = (
                (each.premise or texts[0], each.hypothesis or texts[1]) for each in self.annotations
            )
            if first != texts:
                texts, label = second, self.annotations[1].label
            elif second != texts:
                label = self.annotations[0].label
            else:
                shares = Counter(each.label for each in self.annotations)
        if label is None and len(labels) == 1:
            (label,) = labels  # of several labels nobody knows how likely each is
        if label is not None:
            shares = {label: 1.0}
        if shares:
            total = sum(shares.values())
            labels = frozenset(each for each in shares if 100 * shares[each] >= FROM_PERCENT * total)
            shares = {each: number / total for each, number in shares.items()}
        return KnownPair(*texts, value=self.value, shares=shares, labels=labels)


_ROWS: Final = Codec[TrainingRow](TrainingRow)


def read_known(row: Row) -> KnownPair:
    """Return what a row says of its pair."""
    return _ROWS.read_row(row).known()


def read_training(path: str | Path, family: Family) -> Read[TrainingPair]:
    """Return the pairs in a file, for models of a family; a row that says too little for it is a fault."""

    def parse(row: Row) -> TrainingPair:
        known = read_known(row)
        return TrainingPair(known.premise, known.hypothesis, target(known, family))

    return read_lines(path, parse)


def target(known: KnownPair, family: Family) -> Scores:
    """Return what a model of a family should give."""
    if family == "regression":
        if known.value is not None:
            return (known.value,)
        if len(known.labels) != 1:
            raise FieldError("regression learns from a value, or from a single label")
        return (SNLI_VALUES[next(iter(known.labels))],)
    if family in ("distributional", "classifier"):
        if family == "classifier" and 1.0 not in (known.shares or {}).values():
            raise FieldError("a classifier learns from single labels")
        if not known.shares:
            raise FieldError("says nothing of how likely each label is")
        return tuple(known.shares.get(label, 0.0) for label in LABELS)
    if not known.labels:
        raise FieldError("a number says nothing of labels")
    if family == "set":
        return tuple(float(labels == known.labels) for labels in SET_CLASSES)
    return tuple(float(label in known.labels) for label in LABELS)
