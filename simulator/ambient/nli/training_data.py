"""Training configuration of NLI models, and the pairs to train on (spec 9.2).

Pairs are JSON lines with a premise, a hypothesis, and their relation in exactly one of these fields:

=============================== ==================================================================
``label``                       one label
``labels``                      several: a list, or a text with commas
``value``                       a number (u-SNLI), for regression
``distribution``                ``{label: share}``
``counts``                      ``{label: annotators}`` (ChaosNLI)
``annotations``                 of two annotators (WANLI): ``[{label, premise, hypothesis}, …]``;
                                missing texts are unchanged
=============================== ==================================================================

The label set of a distribution or of counts contains the labels with at least 20 %.
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
from simulator.fields import Finite, NonBlank, Whole, must, of_length
from simulator.jsonlines import Codec, FieldError, Read, Row, read_lines

SEEDS: Final = (42, 43, 44, 45, 46)
EPOCHS: Final = 5
SNLI_VALUES: Final[Mapping[Label, float]] = {"entailment": 0.9272, "neutral": 0.4250, "contradiction": 0.0209}
"""The values of single labels in regression."""
FROM_PERCENT: Final = 20
FIELDS: Final = ("label", "labels", "value", "distribution", "counts", "annotations")
_ROUNDING: Final = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """The hyperparameters of a training, in which each stage has its own optimizer and schedule.

    AdamW's learning rate rises linearly over the warm-up, then falls linearly to 0; biases and norms have no
    weight decay.
    """

    family: Annotated[Family, Option(help="model family: the form of predictions")] = "multilabel"
    rate: Annotated[float, Option(min=0, help="highest learning rate")] = 1e-5
    batch: Annotated[int, Option(min=1, help="pairs per update")] = 32
    warmup: Annotated[float, Option(min=0, max=1, help="share of updates for the warm-up")] = 0.06
    weight_decay: Annotated[float, Option(min=0, help="weight decay of matrices")] = 0.1
    max_length: Annotated[int, Option(min=8, help="maximum length of a pair in tokens")] = MAX_LENGTH
    clip: Annotated[float, Option(min=0, help="maximum norm of gradients")] = 1.0
    pairs: PairsOption = "all"
    read_batch: Annotated[int, Option(min=1, help="batch size for predictions")] = BATCH


@dataclass(frozen=True, slots=True)
class TrainingPair:
    """A pair with its target, which has the length of the family's output."""

    premise: str
    hypothesis: str
    target: Scores


@dataclass(frozen=True, slots=True)
class KnownPair:
    """A pair with its relation; unknown parts are None or empty."""

    premise: str
    hypothesis: str
    value: float | None
    shares: Mapping[Label, float] | None
    labels: LabelSet


class _Annotation(BaseModel):
    """The annotation of one of two annotators; a text is None if unchanged."""

    label: Label
    premise: NonBlank | None = None
    hypothesis: NonBlank | None = None


_Shares = Annotated[
    Mapping[Label, Annotated[Finite, Ge(0)]],
    must(
        lambda shares: abs(sum(shares.values()) - 1) <= _ROUNDING,
        lambda shares: f"adds up to {sum(shares.values()):g}, not 1",
    ),
]
_Counts = Annotated[
    Mapping[Label, Annotated[Whole, Ge(0)]],
    must(lambda counts: sum(counts.values()) > 0, "are all zero"),
]


class TrainingRow(BaseModel):
    """A row of training data, with exactly one of the fields for the relation."""

    premise: NonBlank
    hypothesis: NonBlank
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
            actual = " and ".join(names) or "no label"
            raise ValueError(f"has {actual}; give exactly one of {', '.join(FIELDS)}")
        return self

    def known(self) -> KnownPair:
        """Return the pair and its relation.

        With two annotators, both labels count if neither changed the text; if the first changed it, only text
        and label of the second count; if only the second did, those of the first (spec 9.2).
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
            (label,) = labels  # the shares of several labels are unknown
        if label is not None:
            shares = {label: 1.0}
        if shares:
            total = sum(shares.values())
            labels = frozenset(each for each in shares if 100 * shares[each] >= FROM_PERCENT * total)
            shares = {each: number / total for each, number in shares.items()}
        return KnownPair(*texts, value=self.value, shares=shares, labels=labels)


_ROWS: Final = Codec[TrainingRow](TrainingRow)


def read_known(row: Row) -> KnownPair:
    """Read the pair and its relation from a row."""
    return _ROWS.read_row(row).known()


def read_training(path: str | Path, family: Family) -> Read[TrainingPair]:
    """Return the training pairs in a file; a row without the information that a family needs is a fault."""

    def parse(row: Row) -> TrainingPair:
        known = read_known(row)
        return TrainingPair(known.premise, known.hypothesis, target(known, family))

    return read_lines(path, parse)


def target(known: KnownPair, family: Family) -> Scores:
    """Return the target output of a family's model.

    Raises:
        FieldError: if the pair does not have the information that the family needs.
    """
    if family == "regression":
        if known.value is not None:
            return (known.value,)
        if len(known.labels) != 1:
            raise FieldError("regression needs a value or a single label")
        return (SNLI_VALUES[next(iter(known.labels))],)
    if family in ("distributional", "classifier"):
        if family == "classifier" and 1.0 not in (known.shares or {}).values():
            raise FieldError("a classifier needs a single label")
        if not known.shares:
            raise FieldError("has no label probabilities")
        return tuple(known.shares.get(label, 0.0) for label in LABELS)
    if not known.labels:
        raise FieldError("has a value but no labels")
    if family == "set":
        return tuple(float(labels == known.labels) for labels in SET_CLASSES)
    return tuple(float(label in known.labels) for label in LABELS)
