"""An example of the dataset: two sentences, the labels of their readings, a rewrite for each (spec 1.1).

What a field is annotated with beside its type is how it stands in a file (`simulator.codecs`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import not_
from typing import Annotated, Any, Final, Literal, TypeVar

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

from simulator.ambient.labels import SIDES, Categories, Label, Side, SomeLabels
from simulator.fields import Flag, Key, Said, null_as

T = TypeVar("T")
_NUMBER: Final = re.compile(r"0|-?[1-9][0-9]{0,17}")
_ANNOTATED: Final = ("premise_ambiguous", "hypothesis_ambiguous", "labels", "disambiguations")


def published_id(id: str) -> str | int:
    """Return an id as published files have it: a number where it is one (spec 1.1)."""
    return int(id) if _NUMBER.fullmatch(id) else id


PublishedKey = Annotated[Key, PlainSerializer(published_id)]
"""An id, written as `published_id` has it."""


@dataclass(frozen=True, slots=True)
class Disambiguation:
    """One reading: the pair rewritten so that it has this reading alone, and the label it then has."""

    premise: Said
    hypothesis: Said
    label: Label

    def sentence(self, side: Side) -> str:
        """Return the sentence on a side."""
        return self.premise if side == "premise" else self.hypothesis


def _in_order(distractors: Mapping[Side, str]) -> dict[Side, str]:
    return {side: distractors[side] for side in SIDES if side in distractors}


def refuse_infinite(value: T) -> T:
    """Return a value that can be written as JSON again; one with a number that is not finite is a fault."""
    try:
        json.dumps(value, allow_nan=False)
    except ValueError as error:
        raise ValueError("holds a number that is not finite") from error
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A pair of sentences with everything that is known of it.

    Attributes:
        id: a text, also where a file has a number.
        labels: of all readings; empty while nobody has annotated the pair.
        disambiguations: in the order of the file; empty if nothing is ambiguous. The side that is not
            ambiguous is repeated unchanged in each.
        split: ``dev`` or ``test``; empty if the data have none.
        categories: kinds of ambiguity, if somebody has annotated them.
        distractors: by side, a sentence that is near the ambiguous one and none of its readings.
        meta: what the file says beside.
    """

    id: PublishedKey
    premise: Said
    hypothesis: Said
    premise_ambiguous: Flag = False
    hypothesis_ambiguous: Flag = False
    labels: SomeLabels = frozenset()
    disambiguations: tuple[Disambiguation, ...] = ()
    split: Annotated[Literal["dev", "test", ""], null_as(""), Field(exclude_if=not_)] = ""
    categories: Annotated[
        Categories,
        Field(validation_alias=AliasChoices("category", "categories"), exclude_if=not_),
    ] = ()
    distractors: Annotated[
        Mapping[Side, Said],
        null_as({}),
        AfterValidator(_in_order),
        PlainSerializer(_in_order),
        Field(validation_alias=AliasChoices("distractor", "distractors"), exclude_if=not_),
    ] = field(default_factory=dict)
    meta: Annotated[Mapping[str, Any] | None, AfterValidator(refuse_infinite), Field(exclude_if=not_)] = None

    @model_validator(mode="before")
    @classmethod
    def _as_in_files(cls, record: Any) -> Any:
        """Return what a file has of an example: annotated as a whole or not at all, its partner in `meta`."""
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
        """Return the published fields; a pair that nobody has annotated is id and sentences alone."""
        record: dict[str, Any] = write(self)
        if not (self.labels or self.ambiguous or self.disambiguations):
            return {name: value for name, value in record.items() if name not in _ANNOTATED}
        return record

    @property
    def curated(self) -> bool:
        """Whether the authors wrote it; others were generated, then annotated (spec 1.1)."""
        return self.id.endswith("_c")

    @property
    def ambiguous(self) -> bool:
        """Whether a side is flagged."""
        return self.premise_ambiguous or self.hypothesis_ambiguous

    @property
    def xor(self) -> bool:
        """Whether exactly one side is flagged."""
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
