"""Values that people write, in study files, options and files of items: read by field, with clear faults."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import (
    AfterValidator,
    AllowInfNan,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    GetPydanticSchema,
    PlainSerializer,
    Strict,
    ValidationError,
)
from pydantic_core import PydanticCustomError, core_schema

from simulator.errors import InputError
from simulator.field_faults import first_fault, shortened
from simulator.field_options import HIDDEN
from trees import Language

T = TypeVar("T")
ModelT = TypeVar("ModelT", bound=BaseModel)

# ---- types of fields


def refuse_blank(text: str) -> str:
    """Return a text that is not blank; any other is a fault."""
    if not text.strip():
        raise PydanticCustomError("blank", "is empty")
    return text


def _number_as_text(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise PydanticCustomError(
            "key", "is {value}, not a text or a whole number", {"value": shortened(value)}
        )
    return str(value)


Said = Annotated[str, AfterValidator(refuse_blank)]
"""A text that says something."""
Key = Annotated[Said, BeforeValidator(_number_as_text)]
"""An id: a text, also where a file has a number."""
Whole = Annotated[int, Strict()]
"""A whole number that is written as one."""
Flag = Annotated[bool, Strict()]
"""True or false."""


def null_as(default: Any) -> BeforeValidator:
    """Return what reads null in a field as `default`."""
    return BeforeValidator(lambda value: default if value is None else value)


def plain_number(value: float | None) -> float | str | None:
    """Return a number as JSON can hold it: infinity as the text ``inf``."""
    return str(value) if value is not None and math.isinf(value) else value


Number = Annotated[float, PlainSerializer(plain_number)]
"""A number, which may be infinite."""
Finite = Annotated[float, Strict(), AllowInfNan(False)]
"""A number that is one: neither infinite nor NaN, nor true or false."""
FiniteOrNone = Annotated[
    Finite | None,
    BeforeValidator(lambda value: None if isinstance(value, float) and not math.isfinite(value) else value),
]
"""A number, or None where a file has none: null, NaN, infinity."""
OptionalText = Annotated[str, null_as("")]
"""A text that may be empty, or null."""
OptionalTexts = Annotated[tuple[Said, ...], null_as(())]
"""A list of texts that say something; null is none."""


def reading(read: Callable[[Any], T]) -> Callable[[Any], T]:
    """Return a reader of values for pydantic, out of one that raises `InputError`."""

    def read_field(value: Any) -> T:
        try:
            return read(value)
        except InputError as error:
            raise ValueError(f": {error}") from error

    return read_field


def read_as(source: Any, make: Callable[[Any], Any] | None = None) -> GetPydanticSchema:
    """Return what reads a field as a value of the type `source`, out of which `make` makes the field's own.

    `make` may raise `InputError` or `ValueError`; without it that value is the field's.
    """
    if make is None:
        return GetPydanticSchema(lambda _, handler: handler(source))
    return GetPydanticSchema(
        lambda _, handler: core_schema.no_info_after_validator_function(reading(make), handler(source))
    )


def must(holds: Callable[[Any], bool], problem: str | Callable[[Any], str]) -> AfterValidator:
    """Return a check of a field: where `holds` is not true of its value, `problem` says what is wrong."""

    def check(value: T) -> T:
        if not holds(value):
            raise ValueError(problem if isinstance(problem, str) else problem(value))
        return value

    return AfterValidator(check)


def of_length(length: int) -> AfterValidator:
    """Return a check that a list has so many entries."""
    return must(
        lambda values: len(values) == length, lambda values: f"has {len(values)} entries, not {length}"
    )


# ---- records of such fields


def read_fields(model: type[ModelT], values: Mapping[str, Any], where: str = "") -> ModelT:
    """Return the fields of a model out of plain values by name; other values are left alone.

    Raises:
        InputError: names the field and what it can be.
    """
    known = {name: values[name] for name in model.model_fields if name in values}
    try:
        return model.model_validate(known)
    except ValidationError as error:
        raise InputError(f"{where}{first_fault(error, known)}") from error


class Fields(BaseModel):
    """Fields of some record; a value is of the very type that its field has."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, strict=True)

    @classmethod
    def parse(cls, given: Mapping[str, Any], where: str = "") -> Self:
        """Return the fields out of plain values.

        Raises:
            InputError: names the field and what it can be.
        """
        values = dict(given)
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            known = ", ".join(field.alias or name for name, field in cls.model_fields.items())
            raise InputError(f"{where}{first_fault(error, values, known=known)}") from error


class EpisodeOptions(Fields):
    """The rules of an episode; options that are no concern of the benchmark's are left alone.

    Attributes:
        language: of the pages; a benchmark's own text is English.
    """

    language: Annotated[Language, HIDDEN] = "en"

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> Self:
        """Return what an episode's options say.

        Raises:
            InputError: if a value is not among those that there are.
        """
        return cls.parse(options)
