"""Examples of the dataset: two sentences, the labels of their readings, a rewrite for each (spec 1.1).

Field annotations declare the file format (`simulator.jsonlines`).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import not_
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeVar

from pydantic import (
    AfterValidator,
    AliasChoices,
    Field,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)
from pydantic_core import InitErrorDetails

from simulator.ambient.labels import SIDES, Categories, Label, Side, SomeLabels, format_labels
from simulator.fields import Flag, Key, NonBlank, null_as
from trees.faults import Severity

T = TypeVar("T")
_NUMBER: Final = re.compile(r"0|-?[1-9][0-9]{0,17}")
_ANNOTATED: Final = ("premise_ambiguous", "hypothesis_ambiguous", "labels", "disambiguations")


def squeeze(text: str) -> str:
    """Return a text without leading, trailing and repeated white space."""
    return " ".join(text.split())


def list_names(names: Sequence[str], most: int = 5) -> str:
    """List the first names, and the number of further ones."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def published_id(id: str) -> str | int:
    """Return an id as in published files: an int if it is a canonical number, else a string (spec 1.1)."""
    return int(id) if _NUMBER.fullmatch(id) else id


PublishedKey = Annotated[Key, PlainSerializer(published_id)]
"""An id, serialized by `published_id`."""


@dataclass(frozen=True, slots=True)
class Disambiguation:
    """One reading: the pair rewritten so that it has only this reading, and its label."""

    premise: NonBlank
    hypothesis: NonBlank
    label: Label

    def sentence(self, side: Side) -> str:
        """Return the sentence on a side."""
        return self.premise if side == "premise" else self.hypothesis


def _in_order(distractors: Mapping[Side, str]) -> dict[Side, str]:
    return {side: distractors[side] for side in SIDES if side in distractors}


def refuse_infinite(value: T) -> T:
    """Return a value; raise ValueError if it contains NaN or infinity, which JSON does not have."""
    try:
        json.dumps(value, allow_nan=False)
    except ValueError as error:
        raise ValueError("contains a number that is not finite") from error
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A pair of sentences with its annotation.

    Attributes:
        id: a string, even if a file has a number.
        labels: labels of all readings; empty if the pair is not annotated.
        disambiguations: in file order; empty if neither side is ambiguous. Each repeats an unambiguous side
            unchanged.
        split: ``dev`` or ``test``; empty if the data have no splits.
        distractors: by side, a sentence similar to the ambiguous one that is not one of its readings.
        meta: further fields of the file.
    """

    id: PublishedKey
    premise: NonBlank
    hypothesis: NonBlank
    premise_ambiguous: Flag = False
    hypothesis_ambiguous: Flag = False
    labels: SomeLabels = frozenset()
    disambiguations: tuple[Disambiguation, ...] = ()
    split: Annotated[Literal["dev", "test", ""], null_as(""), Field(exclude_if=not_)] = ""
    categories: Annotated[
        Categories, Field(validation_alias=AliasChoices("category", "categories"), exclude_if=not_)
    ] = ()
    distractors: Annotated[
        Mapping[Side, NonBlank],
        null_as({}),
        AfterValidator(_in_order),
        PlainSerializer(_in_order),
        Field(validation_alias=AliasChoices("distractor", "distractors"), exclude_if=not_),
    ] = field(default_factory=dict)
    meta: Annotated[Mapping[str, Any] | None, AfterValidator(refuse_infinite), Field(exclude_if=not_)] = None

    @model_validator(mode="before")
    @classmethod
    def _as_in_files(cls, record: Any) -> Any:
        """Require all or none of the annotation's fields, and move ``partner`` to `meta`."""
        if not isinstance(record, dict):
            return record
        missing = [name for name in _ANNOTATED if name not in record]
        if 0 < len(missing) < len(_ANNOTATED):
            fault = InitErrorDetails(type="missing", loc=(missing[0],), input=record)
            raise ValidationError.from_exception_data(cls.__name__, [fault])
        if record.get("partner") is not None and isinstance(meta := record.get("meta") or {}, dict):
            return {**record, "meta": {**meta, "partner": str(record["partner"])}}
        return record

    @model_serializer(mode="wrap")
    def _as_published(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return the published fields, without those of the annotation if the pair has none."""
        record: dict[str, Any] = write(self)
        if not (self.labels or self.ambiguous or self.disambiguations):
            return {name: value for name, value in record.items() if name not in _ANNOTATED}
        return record

    @property
    def curated(self) -> bool:
        """Return True if the authors wrote the example; others were generated, then annotated (spec 1.1)."""
        return self.id.endswith("_c")

    @property
    def ambiguous(self) -> bool:
        """Return True if a side is flagged."""
        return self.premise_ambiguous or self.hypothesis_ambiguous

    @property
    def xor(self) -> bool:
        """Return True if exactly one side is flagged."""
        return self.premise_ambiguous != self.hypothesis_ambiguous

    @property
    def sides(self) -> tuple[Side, ...]:
        """The flagged sides."""
        return tuple(side for side in SIDES if self.flagged(side))

    def flagged(self, side: Side) -> bool:
        """Return True if a side is flagged as ambiguous."""
        return self.premise_ambiguous if side == "premise" else self.hypothesis_ambiguous

    def sentence(self, side: Side) -> str:
        """Return the sentence on a side."""
        return self.premise if side == "premise" else self.hypothesis

    def rewrites(self, side: Side) -> tuple[str, ...]:
        """Return the distinct rewrites of a side, in the order of the file."""
        return tuple(dict.fromkeys(disambiguation.sentence(side) for disambiguation in self.disambiguations))


def one_sided(
    id: str, premise: str, hypothesis: str, side: Side, readings: Sequence[tuple[Label, str]]
) -> Example:
    """Return an example ambiguous on one side; each reading is a label and the side's rewrite."""
    texts = {"premise": premise, "hypothesis": hypothesis}
    return Example(
        id=id,
        premise=premise,
        hypothesis=hypothesis,
        premise_ambiguous=side == "premise",
        hypothesis_ambiguous=side == "hypothesis",
        labels=frozenset(label for label, _ in readings),
        disambiguations=tuple(
            Disambiguation(**{**texts, side: text}, label=label) for label, text in readings
        ),
    )


MOST_DISAMBIGUATIONS: Final = 4


class Finding(NamedTuple):
    """A problem of an example: an ``error`` contradicts the format, a ``warning`` deserves a look."""

    code: str
    message: str
    severity: Severity = "error"


def findings(example: Example) -> Iterator[Finding]:
    """Yield the problems of an example; a pair without annotation is only checked for its distractors."""
    if example.labels or example.ambiguous or example.disambiguations:
        yield from _flags(example)
        yield from _number(example)
        for side in SIDES:
            yield from _rewrites(example, side) if example.flagged(side) else _check_unchanged(example, side)
        yield from _labels(example)
    yield from _distractors(example)


def _flags(example: Example) -> Iterator[Finding]:
    """Yield a finding unless a row is flagged exactly when it has more than one label."""
    flags = " and ".join(example.sides) or "neither side"
    if example.ambiguous != (len(example.labels) > 1):
        yield Finding("flags", f"labels: {format_labels(example.labels)}, but {flags} flagged as ambiguous")


def _number(example: Example) -> Iterator[Finding]:
    """Yield a finding unless ambiguous rows have two to four disambiguations, others none."""
    count = len(example.disambiguations)
    if example.ambiguous and not 2 <= count <= MOST_DISAMBIGUATIONS:
        yield Finding(
            "number", f"disambiguations: {count}; an ambiguous pair has 2 to {MOST_DISAMBIGUATIONS}"
        )
    if not example.ambiguous and count:
        yield Finding("number", f"disambiguations: {count}, but neither side is flagged as ambiguous")


def _rewrites(example: Example, side: Side) -> Iterator[Finding]:
    """Yield findings unless a flagged side has at least two rewrites and none repeats the original."""
    distinct = example.rewrites(side)
    changed = len(distinct) - (example.sentence(side) in distinct)
    for place, reading in enumerate(example.disambiguations):
        if reading.sentence(side) == example.sentence(side):
            yield Finding(
                "rewrites",
                f"disambiguations[{place}].{side}: repeats the {side}, which is flagged as ambiguous",
            )
    if example.disambiguations and changed < 2:
        yield Finding(
            "rewrites",
            f"disambiguations: {changed} changed {side}{'' if changed == 1 else 's'}; "
            "an ambiguous side has at least two readings",
        )


def _check_unchanged(example: Example, side: Side) -> Iterator[Finding]:
    """Yield a finding for each rewrite that changes a side not flagged as ambiguous."""
    for place, reading in enumerate(example.disambiguations):
        if reading.sentence(side) != example.sentence(side):
            yield Finding(
                "unchanged",
                f"disambiguations[{place}].{side}: changed, but the {side} is not flagged as ambiguous",
            )


def _labels(example: Example) -> Iterator[Finding]:
    """Yield findings unless the labels are those of the disambiguations, each of which is unique."""
    counts = Counter(disambiguation.label for disambiguation in example.disambiguations)
    if example.disambiguations and frozenset(counts) != example.labels:
        message = (
            f"labels: {format_labels(example.labels)}, but the disambiguations have {format_labels(counts)}"
        )
        yield Finding("labels", message, "warning")
    several = [label for label, count in counts.items() if count > 1]
    if several:
        message = (
            f"disambiguations: several are {format_labels(several)}; where only one can count, it is the last"
        )
        yield Finding("several", message, "warning")
    if len(set(example.disambiguations)) < len(example.disambiguations):
        yield Finding("several", "disambiguations: contain a duplicate", "warning")


def _distractors(example: Example) -> Iterator[Finding]:
    """Yield findings unless each distractor is for a flagged side and not the sentence or a reading of it."""
    for side, text in example.distractors.items():
        if not example.flagged(side):
            message = f"distractors.{side}: the {side} is not flagged as ambiguous"
            yield Finding("distractor", message, "warning")
        elif text == example.sentence(side) or text in example.rewrites(side):
            # Crowdworkers never see such a distractor; the example is usable otherwise.
            message = f"distractors.{side}: is the {side} itself or one of its readings"
            yield Finding("distractor", message, "warning")
