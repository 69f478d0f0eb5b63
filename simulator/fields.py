"""Types and readers of fields in study files, options and item files, with clear faults.

Pydantic's errors are reported in one form: the field, its value, and what it should be.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, NamedTuple, Self, TypeVar

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
from pydantic_core import ErrorDetails, PydanticCustomError, core_schema

from simulator.errors import InputError
from trees import Language

T = TypeVar("T")
ModelT = TypeVar("ModelT", bound=BaseModel)

# ---- types of fields


def refuse_blank(text: str) -> str:
    """Return `text` if it is not blank; otherwise report a fault."""
    if not text.strip():
        raise PydanticCustomError("blank", "is empty")
    return text


def _number_as_text(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise PydanticCustomError(
            "key", "is {value}, not a text or a whole number", {"value": shorten(value)}
        )
    return str(value)


NonBlank = Annotated[str, AfterValidator(refuse_blank)]
"""A text that is not blank."""
Key = Annotated[NonBlank, BeforeValidator(_number_as_text)]
"""An id, as text even if the file has a number."""
Whole = Annotated[int, Strict()]
"""An integer; texts and floats are refused."""
Flag = Annotated[bool, Strict()]
"""A boolean; texts and numbers are refused."""


def null_as(default: Any) -> BeforeValidator:
    """Return a validator that reads null as `default`."""
    return BeforeValidator(lambda value: default if value is None else value)


def plain_number(value: float | None) -> float | str | None:
    """Return a number as a JSON value; infinity becomes the text ``inf``."""
    return str(value) if value is not None and math.isinf(value) else value


Number = Annotated[float, PlainSerializer(plain_number)]
"""A number, which may be infinite."""
Finite = Annotated[float, Strict(), AllowInfNan(False)]
"""A finite number; NaN and booleans are refused."""
FiniteOrNone = Annotated[
    Finite | None,
    BeforeValidator(lambda value: None if isinstance(value, float) and not math.isfinite(value) else value),
]
"""A finite number; null, NaN and infinity become None."""
OptionalText = Annotated[str, null_as("")]
"""A text that may be empty; null becomes an empty text."""
OptionalTexts = Annotated[tuple[NonBlank, ...], null_as(())]
"""A list of texts that are not blank; null becomes an empty list."""


def as_validator(read: Callable[[Any], T]) -> Callable[[Any], T]:
    """Return `read` as a validator for pydantic, which reports an `InputError` as a fault of the field."""

    def read_field(value: Any) -> T:
        try:
            return read(value)
        except InputError as error:
            raise ValueError(f": {error}") from error

    return read_field


def read_as(source: Any, make: Callable[[Any], Any] | None = None) -> GetPydanticSchema:
    """Return a schema that reads a field as the type `source` and converts it with `make`, if given.

    `make` may raise `InputError` or `ValueError`.
    """
    if make is None:
        return GetPydanticSchema(lambda _, handler: handler(source))
    return GetPydanticSchema(
        lambda _, handler: core_schema.no_info_after_validator_function(as_validator(make), handler(source))
    )


def must(holds: Callable[[Any], bool], problem: str | Callable[[Any], str]) -> AfterValidator:
    """Return a validator that reports `problem` if `holds` is false for the value."""

    def check(value: T) -> T:
        if not holds(value):
            raise ValueError(problem if isinstance(problem, str) else problem(value))
        return value

    return AfterValidator(check)


def of_length(length: int) -> AfterValidator:
    """Return a validator that requires a list of the given length."""
    return must(
        lambda values: len(values) == length, lambda values: f"has {len(values)} entries, not {length}"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """Differences of a field on the command line, given in its ``Annotated``.

    Attributes:
        name: the option's name, if it differs from the field's, such as ``turn_limit``.
        kind: the option's type, if it differs from the field's: a `Path` that is logged as text.
        unset: True if the option has no default: unless it is typed, the data or the model decide.
        sparse: True to log only values other than the default, as older logs do not have the field.
    """

    name: str = ""
    kind: type | None = None
    unset: bool = False
    hidden: bool = False
    sparse: bool = False


HIDDEN: Final = Option(hidden=True)


SPARSE: Final = Option(sparse=True)


# ---- records of such fields


def read_fields(model: type[ModelT], values: Mapping[str, Any], where: str = "") -> ModelT:
    """Build a model from JSON values by name; other values are ignored.

    Raises:
        InputError: names the field and the allowed values.
    """
    known = {name: values[name] for name in model.model_fields if name in values}
    try:
        return model.model_validate(known)
    except ValidationError as error:
        raise InputError(f"{where}{first_fault(error, known)}") from error


class Fields(BaseModel):
    """A record of fields, validated strictly: values are not converted."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, strict=True)

    @classmethod
    def parse(cls, content: Mapping[str, Any], where: str = "") -> Self:
        """Build a record from JSON values.

        Raises:
            InputError: names the field and the allowed values.
        """
        values = dict(content)
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            known = ", ".join(field.alias or name for name, field in cls.model_fields.items())
            raise InputError(f"{where}{first_fault(error, values, known=known)}") from error


class EpisodeOptions(Fields):
    """The rules of an episode; other options are ignored.

    Attributes:
        language: the language of the pages; a benchmark's own texts are English.
    """

    language: Annotated[Language, HIDDEN] = "en"

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> Self:
        """Read the rules from an episode's options.

        Raises:
            InputError: if a value is not allowed.
        """
        return cls.parse(options)


# ---- faults


class FieldFault(NamedTuple):
    """A fault of one field; its text is a sentence.

    Attributes:
        path: field names and list positions that lead to the field; empty for the entire value.
        problem: the predicate of the sentence.
        code: the error type of pydantic or of the field's own validator.
    """

    path: tuple[int | str, ...]
    problem: str
    code: str = ""

    @property
    def field(self) -> str:
        """The path as text: ``pair.objects[1]``."""
        return _join_path(self.path)

    def __str__(self) -> str:
        return f"{self.field}{'' if self.problem.startswith(':') else ' '}{self.problem}".lstrip(": ")


def field_faults(
    error: ValidationError, value: Any = None, *, head: int = 0, known: str = ""
) -> Iterator[FieldFault]:
    """Yield the faults found by pydantic, unknown keys first.

    Args:
        error: the validation error.
        value: the validated value; if given, paths consist of its fields only, without the union types that
            pydantic tried.
        head: the number of leading parts of each path that name the type of the entire value.
        known: the known keys, as text, for messages about unknown keys.
    """
    # A default made from other fields fails with them, and is no fault of its own.
    faults = [
        each for each in error.errors(include_url=False) if each["type"] != "default_factory_not_called"
    ]
    for fault in sorted(faults, key=lambda each: each["type"] != "extra_forbidden"):
        yield _field_fault(fault, value, head, known)._replace(code=fault["type"])


def first_fault(error: ValidationError, value: Any = None, *, head: int = 0, known: str = "") -> FieldFault:
    """Return the first of `field_faults`."""
    return next(field_faults(error, value, head=head, known=known))


_KINDS: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"string_(type|sub_type|unicode)", "a text"),
        (r"bool_(type|parsing)", "true or false"),
        (r"int_(type|parsing|from_float)", "a whole number"),
        (r"float_(type|parsing)|finite_number", "a number"),
        (r"(list|tuple|set|frozen_set)_type", "a list"),
        (r"(dict|mapping|model|dataclass|model_attributes)_type", "an object"),
    )
)


def _field_fault(fault: ErrorDetails, value: Any, head: int, known: str) -> FieldFault:
    kind, context, path = fault["type"], fault.get("ctx", {}), tuple(_field_path(fault["loc"][head:], value))
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        # Pydantic reports the object; the fault is in the field that selects its type.
        path = (*path, context["discriminator"].strip("'"))
    written = shorten(context.get("tag", fault["input"]))
    match kind:
        case "extra_forbidden":
            return FieldFault(
                (), f"unknown key {_join_path(path)!r}" + (f"; known: {known}" if known else "")
            )
        case "missing" | "union_tag_not_found":
            return FieldFault(path, "is missing")
        case "string_too_short" | "too_short" if context["min_length"] == 1:
            return FieldFault(path, "is empty")
        case "too_short" if "actual_length" in context:
            there, least = context["actual_length"], context["min_length"]
            return FieldFault(path, f"has too few entries ({there}; at least {least})")
        case "too_long" if "actual_length" in context:  # pydantic's code, not the one of our forms
            there, most = context["actual_length"], context["max_length"]
            return FieldFault(path, f"has too many entries ({there}; at most {most})")
        case "literal_error" | "union_tag_invalid":
            choices = context.get("expected") or context["expected_tags"]
            # Pydantic's list reads 'a', 'b' or 'c'.
            choices = choices.replace("'", "").replace(" or ", ", ")
            return FieldFault(path, f"is {written}, not one of {choices}")
        case "value_error":
            return FieldFault(path, str(context["error"]))
    for pattern, name in _KINDS:
        if pattern.fullmatch(kind):
            return FieldFault(path, f"is {written}, not {name}")
    message = fault["msg"]
    if message.startswith("Input should"):
        message = f"is {written}; {message.replace('Input should', 'it must', 1)}"
    return FieldFault(path, message)


def _field_path(parts: tuple[int | str, ...], value: Any) -> Iterator[int | str]:
    """Yield the parts of a path that are fields and positions, without names of types between them."""
    parts = tuple(part for part in parts if part != "[key]")
    for place, part in enumerate(parts):
        if isinstance(value, Mapping):
            if part not in value and place < len(parts) - 1:
                continue
            value = value.get(part)
        elif isinstance(value, list | tuple) and isinstance(part, int):
            value = value[part] if part < len(value) else None
        elif isinstance(part, int):
            continue  # a single value, accepted in place of a list
        yield part


def _join_path(path: Iterable[int | str]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")


def shorten(value: Any) -> str:
    """Return a value as JSON for a message, shortened if it is long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 40 else text[:37] + "…"
