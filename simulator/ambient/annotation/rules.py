"""Validation of linguists' annotation forms, and their conversion to rows of the dataset (spec 3, 4).

A form either discards the example or chooses labels. With several labels it contains at least one rewrite of
the pair per label. A rewritten side is ambiguous, and an ambiguous side has two readings, so a side changed
in only one rewrite is an error. Differences in leading, trailing or repeated white space are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import (
    BaseModel,
    BeforeValidator,
    PlainSerializer,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from simulator.ambient.examples import Disambiguation, Example, squeeze
from simulator.ambient.labels import LABELS, SIDES, Label, LabelSet, Side, format_labels, in_order
from simulator.errors import InputError
from simulator.fields import OptionalText, first_fault, null_as, read_as
from simulator.judging import Form

Discard = Literal["offensive", "not_fluent", "incoherent"]


class Rewrite(BaseModel):
    """A pair rewritten for one reading."""

    # As submitted: `check_annotation` reports empty sentences. Models are sent the name and the docstring.

    premise: str
    hypothesis: str
    label: Label

    def disambiguation(self) -> Disambiguation:
        """Return the rewrite as part of an example."""
        return Disambiguation(self.premise, self.hypothesis, self.label)


def _read_unless_parsed(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    return value if isinstance(value, Disambiguation) else read(value)


class Annotation(Form):
    """A linguist's form (spec 3), stored in the log as part of a payload.

    Attributes:
        discard: reason for discarding the example; None if it is kept.
        labels: labels of all readings; empty if the example is discarded.
        rewrites: at least one per label if there are several labels, else empty.
    """

    discard: Annotated[Discard | None, BeforeValidator(lambda value: value or None)] = None
    labels: Annotated[LabelSet, null_as(()), PlainSerializer(in_order)] = frozenset()
    rewrites: Annotated[
        tuple[
            Annotated[
                Disambiguation,
                read_as(Rewrite, Rewrite.disambiguation),
                WrapValidator(_read_unless_parsed),
                PlainSerializer(asdict),
            ],
            ...,
        ],
        null_as(()),
    ] = ()
    comment: OptionalText = ""

    def payload(self) -> dict[str, Any]:
        """Return the form as JSON values, for the payload of a turn or judgment."""
        return self.model_dump(mode="json", include=set(Annotation.model_fields))


MAX_REWRITES: Final = 4

Code = Literal[
    "discarded",
    "no_labels",
    "one_label",
    "label_without_rewrite",
    "label_not_chosen",
    "too_many",
    "empty",
    "same",
    "nothing_changed",
    "one_changed",
    "one_distinct",
    "unchanged",
]

SENTENCES: Final[Mapping[Code, str]] = {
    "discarded": "A discarded example cannot have labels or rewrites.",
    "no_labels": "Choose at least one label, or discard the example.",
    "one_label": "An example with one label has one reading, so it needs no rewrites.",
    "label_without_rewrite": "There is no rewrite for {label}.",
    "label_not_chosen": "Rewrite {number}: its label is not among those chosen for the example.",
    "too_many": f"There can be at most {MAX_REWRITES} rewrites.",
    "empty": "Rewrite {number}: the {side} is empty.",
    "same": "Rewrite {number} has the same sentences as an earlier one.",
    "nothing_changed": "Rewrite the premise or the hypothesis, differently for each reading.",
    "one_changed": "Only one rewrite changes the {side}. Change it in at least two rewrites, or in none.",
    "one_distinct": "All changes of the {side} are the same. An ambiguous {side} has at least two readings.",
    "unchanged": "Rewrite {number}: the {side} is ambiguous, so every rewrite must change it.",
}
"""The message for each kind of `Problem`; pages translate it by its code."""

_PLACE: Final = re.compile(r"rewrites\[(\d+)\]")


class Problem(NamedTuple):
    """A broken rule of the form.

    `field`: the field concerned: ``labels``, ``labels.neutral``, ``rewrites``, ``rewrites[0]`` (from 0),
    ``rewrites[0].label``, ``rewrites[0].premise``, ``premise``, ``hypothesis``.
    """

    code: Code
    field: str

    @property
    def number(self) -> int | None:
        """The number of the rewrite concerned, from 1."""
        match = _PLACE.match(self.field)
        return int(match[1]) + 1 if match else None

    @property
    def side(self) -> Side | None:
        """The side concerned."""
        return next((side for side in SIDES if self.field.endswith(side)), None)

    @property
    def label(self) -> Label | None:
        """The label concerned."""
        return next((label for label in LABELS if self.field == f"labels.{label}"), None)

    def __str__(self) -> str:
        return SENTENCES[self.code].format(number=self.number, side=self.side, label=self.label)


def check_annotation(
    premise: str, hypothesis: str, annotation: Annotation, *, consolidated: bool = False
) -> tuple[Problem, ...]:
    """Return the problems of a form; an empty tuple if it may be submitted.

    `consolidated`: True if the form becomes a row of the dataset (spec 4). Then the rewrites of an ambiguous
    side must also include two different ones, and none may repeat the original.
    """
    if annotation.discard is not None:
        fields = ("labels",) * bool(annotation.labels) + ("rewrites",) * bool(annotation.rewrites)
        return tuple(Problem("discarded", field) for field in fields)
    if not annotation.labels:
        return (Problem("no_labels", "labels"),)
    if len(annotation.labels) == 1:
        return (Problem("one_label", "rewrites"),) if annotation.rewrites else ()
    originals: dict[Side, str] = {"premise": premise, "hypothesis": hypothesis}
    changes = _changes(originals, annotation, consolidated)
    return (*_labels(annotation), *_texts(annotation.rewrites), *changes)


def flags(premise: str, hypothesis: str, annotation: Annotation) -> tuple[bool, bool]:
    """Return True for premise and hypothesis each if it has at least two distinct rewrites (spec 4)."""
    first, second = (
        len(_distinct_rewrites(original, annotation.rewrites, side)) >= 2
        for side, original in zip(SIDES, (premise, hypothesis), strict=True)
    )
    return first, second


def consolidated_example(example: Example, annotation: Annotation) -> Example:
    """Return the row of the dataset that results from a validator's form (spec 1.1, 4).

    Raises:
        InputError: if the form discards the example or breaks a rule.
    """
    if annotation.discard is not None:
        raise InputError(f"Example {example.id} was discarded, so there is no row for it.")
    premise, hypothesis = example.premise, example.hypothesis
    if problems := check_annotation(premise, hypothesis, annotation, consolidated=True):
        raise InputError(f"Example {example.id}: {' '.join(map(str, problems))}")
    first, second = flags(premise, hypothesis, annotation)
    readings = (
        Disambiguation(
            rewrite.premise.strip() if first else premise,
            rewrite.hypothesis.strip() if second else hypothesis,
            rewrite.label,
        )
        for rewrite in annotation.rewrites
    )
    return Example(
        id=example.id,
        premise=premise,
        hypothesis=hypothesis,
        premise_ambiguous=first,
        hypothesis_ambiguous=second,
        labels=annotation.labels,
        disambiguations=tuple(readings),
        meta=example.meta,
    )


def read_annotation(payload: Mapping[str, Any]) -> Annotation:
    """Return the form in a submitted or logged payload, without applying the rules of `check_annotation`.

    Raises:
        InputError: if a field has the wrong type or value; names the field.
    """
    try:
        return Annotation.model_validate(dict(payload))
    except ValidationError as error:
        message = f"This is not a valid annotation: {first_fault(error, payload)}."
        raise InputError(message, code="malformed") from error


def describe(annotation: Annotation) -> str:
    """Summarize the form: ``entailment, neutral`` or ``discarded (offensive)``."""
    if annotation.discard is not None:
        return f"discarded ({annotation.discard})"
    return format_labels(annotation.labels)


def _labels(annotation: Annotation) -> Iterator[Problem]:
    rewritten: LabelSet = frozenset(rewrite.label for rewrite in annotation.rewrites)
    for label in LABELS:
        if label in annotation.labels - rewritten:
            yield Problem("label_without_rewrite", f"labels.{label}")
    for place, rewrite in enumerate(annotation.rewrites):
        if rewrite.label not in annotation.labels:
            yield Problem("label_not_chosen", f"rewrites[{place}].label")


def _texts(rewrites: tuple[Disambiguation, ...]) -> Iterator[Problem]:
    if len(rewrites) > MAX_REWRITES:
        yield Problem("too_many", "rewrites")
    earlier: set[tuple[str, str]] = set()
    for place, rewrite in enumerate(rewrites):
        for side in SIDES:
            if not squeeze(rewrite.sentence(side)):
                yield Problem("empty", f"rewrites[{place}].{side}")
        pair = (squeeze(rewrite.premise), squeeze(rewrite.hypothesis))
        if pair in earlier:
            yield Problem("same", f"rewrites[{place}]")
        earlier.add(pair)


def _changes(originals: Mapping[Side, str], annotation: Annotation, consolidated: bool) -> Iterator[Problem]:
    changed = {side: _changed_places(originals[side], annotation.rewrites, side) for side in SIDES}
    if annotation.rewrites and not any(changed.values()):
        yield Problem("nothing_changed", "rewrites")
    for side in SIDES:
        places = changed[side]
        distinct = _distinct_rewrites(originals[side], annotation.rewrites, side)
        if len(places) == 1:
            yield Problem("one_changed", side)
        elif consolidated and len(distinct) == 1:
            yield Problem("one_distinct", side)
        elif consolidated and places:
            for place in range(len(annotation.rewrites)):
                if place not in places:
                    yield Problem("unchanged", f"rewrites[{place}].{side}")


def _changed_places(original: str, rewrites: tuple[Disambiguation, ...], side: Side) -> tuple[int, ...]:
    """Return the indices of the rewrites that change a side."""
    text = squeeze(original)
    return tuple(place for place, rewrite in enumerate(rewrites) if squeeze(rewrite.sentence(side)) != text)


def _distinct_rewrites(original: str, rewrites: tuple[Disambiguation, ...], side: Side) -> frozenset[str]:
    """Return the distinct sentences of a side in the rewrites, without the original."""
    return frozenset(squeeze(rewrite.sentence(side)) for rewrite in rewrites) - {squeeze(original)}
