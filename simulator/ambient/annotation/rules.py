"""What a linguist's form may hold, and the published row that a valid one becomes (spec 3 and 4).

A form either discards the example or chooses labels. With several labels it rewrites the pair, once at
least per label; a side that is rewritten is ambiguous, and ambiguity means two readings of it, so one
changed rewrite alone is an error. Outer and repeated white space is no change.
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


class _Rewrite(BaseModel):
    """A rewrite as somebody submitted it; sentences may be empty, which is for the rules to find."""

    premise: str
    hypothesis: str
    label: Label

    def disambiguation(self) -> Disambiguation:
        return Disambiguation(self.premise, self.hypothesis, self.label)


def _read_unless_made(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    return value if isinstance(value, Disambiguation) else read(value)


class Annotation(Form):
    """A linguist's form (spec 3), as the log has it among other fields.

    Attributes:
        discard: why the example is to be thrown away; None if it is kept.
        labels: of all readings; empty if it is discarded.
        rewrites: where there are several labels; at least one for each of them.
    """

    discard: Annotated[Discard | None, BeforeValidator(lambda value: value or None)] = None
    labels: Annotated[LabelSet, null_as(()), PlainSerializer(in_order)] = frozenset()
    rewrites: Annotated[
        tuple[
            Annotated[
                Disambiguation,
                read_as(_Rewrite, _Rewrite.disambiguation),
                WrapValidator(_read_unless_made),
                PlainSerializer(asdict),
            ],
            ...,
        ],
        null_as(()),
    ] = ()
    comment: OptionalText = ""

    def payload(self) -> dict[str, Any]:
        """Return the form as plain values, as a turn or a judgment keeps it."""
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
    "discarded": "An example that is discarded has neither labels nor rewrites.",
    "no_labels": "Choose at least one label, or discard the example.",
    "one_label": "An example with one label has one reading, so nothing is to be rewritten.",
    "label_without_rewrite": "There is no rewrite for {label}.",
    "label_not_chosen": "Rewrite {number}: its label is not among those chosen for the example.",
    "too_many": f"There can be at most {MAX_REWRITES} rewrites.",
    "empty": "Rewrite {number}: the {side} is empty.",
    "same": "Rewrite {number} has the same sentences as an earlier one.",
    "nothing_changed": "Rewrite the premise or the hypothesis, each reading in its own words.",
    "one_changed": "Only one rewrite changes the {side}. Change it in two rewrites at least, or in none.",
    "one_distinct": "All changes of the {side} are the same. An ambiguous {side} has two readings at least.",
    "unchanged": "Rewrite {number}: the {side} is ambiguous, so no rewrite may leave it as it was.",
}
"""What to say of a `Problem`; pages translate by its code."""

_PLACE: Final = re.compile(r"rewrites\[(\d+)\]")


class Problem(NamedTuple):
    """Something that a form must not be.

    Attributes:
        field: what it is about: ``labels``, ``labels.neutral``, ``rewrites``, ``rewrites[0]`` (from 0),
            ``rewrites[0].label``, ``rewrites[0].premise``, ``premise``, ``hypothesis``.
    """

    code: Code
    field: str

    @property
    def number(self) -> int | None:
        """Of the rewrite that it is about, from 1."""
        match = _PLACE.match(self.field)
        return int(match[1]) + 1 if match else None

    @property
    def side(self) -> Side | None:
        """The side that it is about."""
        return next((side for side in SIDES if self.field.endswith(side)), None)

    @property
    def label(self) -> Label | None:
        """The label that it is about."""
        return next((label for label in LABELS if self.field == f"labels.{label}"), None)

    def __str__(self) -> str:
        return SENTENCES[self.code].format(number=self.number, side=self.side, label=self.label)


def check_annotation(
    premise: str, hypothesis: str, annotation: Annotation, *, consolidated: bool = False
) -> tuple[Problem, ...]:
    """Return what is wrong with a form; nothing if it may be submitted.

    `consolidated`: whether it is to become a row of the dataset (spec 4). Then the two rewrites of an
    ambiguous side must differ from each other, too, and none may repeat the original.
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
    """Return True if premise and hypothesis are ambiguous: two distinct rewrites or more differ (spec 4)."""
    first, second = (
        len(_distinct_rewrites(original, annotation.rewrites, side)) >= 2
        for side, original in zip(SIDES, (premise, hypothesis), strict=True)
    )
    return first, second


def consolidated_example(example: Example, annotation: Annotation) -> Example:
    """Return the row of the dataset that a validator's form on an example makes (spec 1.1, 4).

    Raises:
        InputError: if the form discards the example, or breaks a rule.
    """
    if annotation.discard is not None:
        raise InputError(f"Example {example.id} was discarded; it makes no row.")
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
    """Return the form that somebody submitted, or that the log has.

    Raises:
        InputError: names the field that is not what it should be. Rules are for `check_annotation`.
    """
    try:
        return Annotation.model_validate(dict(payload))
    except ValidationError as error:
        message = f"This is no annotation: {first_fault(error, payload)}."
        raise InputError(message, code="malformed") from error


def describe(annotation: Annotation) -> str:
    """Return the form in a few words: ``entailment, neutral`` or ``discarded (offensive)``."""
    if annotation.discard is not None:
        return f"discarded ({annotation.discard})"
    return format_labels(annotation.labels)


def _labels(annotation: Annotation) -> Iterator[Problem]:
    written: LabelSet = frozenset(rewrite.label for rewrite in annotation.rewrites)
    for label in LABELS:
        if label in annotation.labels - written:
            yield Problem("label_without_rewrite", f"labels.{label}")
    for place, rewrite in enumerate(annotation.rewrites):
        if rewrite.label not in annotation.labels:
            yield Problem("label_not_chosen", f"rewrites[{place}].label")


def _texts(rewrites: tuple[Disambiguation, ...]) -> Iterator[Problem]:
    if len(rewrites) > MAX_REWRITES:
        yield Problem("too_many", "rewrites")
    seen: set[tuple[str, str]] = set()
    for place, rewrite in enumerate(rewrites):
        for side in SIDES:
            if not squeeze(rewrite.sentence(side)):
                yield Problem("empty", f"rewrites[{place}].{side}")
        pair = (squeeze(rewrite.premise), squeeze(rewrite.hypothesis))
        if pair in seen:
            yield Problem("same", f"rewrites[{place}]")
        seen.add(pair)


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
    """Return the places of the rewrites that differ from the original on a side."""
    kept = squeeze(original)
    return tuple(place for place, rewrite in enumerate(rewrites) if squeeze(rewrite.sentence(side)) != kept)


def _distinct_rewrites(original: str, rewrites: tuple[Disambiguation, ...], side: Side) -> frozenset[str]:
    """Return what they differ from it to."""
    return frozenset(squeeze(rewrite.sentence(side)) for rewrite in rewrites) - {squeeze(original)}
