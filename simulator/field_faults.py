"""What pydantic finds wrong with a value, said in one way: the field, what it is, what it should be."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails


class FieldFault(NamedTuple):
    """A fault of one field; as a text, a sentence.

    Attributes:
        path: the fields and places that lead there; empty for the value as a whole.
        code: what pydantic, or a field's own check, calls it.
    """

    path: tuple[int | str, ...]
    problem: str
    code: str = ""

    @property
    def field(self) -> str:
        """The path as it is written: ``pair.objects[1]``."""
        return _join_path(self.path)

    def __str__(self) -> str:
        return f"{self.field}{'' if self.problem.startswith(':') else ' '}{self.problem}".lstrip(": ")


def field_faults(
    error: ValidationError, value: Any = None, *, head: int = 0, known: str = ""
) -> Iterator[FieldFault]:
    """Yield what pydantic finds wrong, keys that nobody knows first.

    Args:
        error: of the validation.
        value: that was validated; paths then name its fields alone, not the types among which pydantic chose.
        head: parts of each path that name the type of the whole value.
        known: the keys that there are, in words, for keys that nobody knows.
    """
    faults = error.errors(include_url=False)
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
    kind, context, path = fault["type"], fault.get("ctx", {}), tuple(_own_path(fault["loc"][head:], value))
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        # The fault is the whole object's; what is wrong is the field that says which type it is.
        path = (*path, context["discriminator"].strip("'"))
    written = shortened(context.get("tag", fault["input"]))
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
        case "too_long" if "actual_length" in context:  # not what a form of ours calls so
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


def _own_path(parts: tuple[int | str, ...], value: Any) -> Iterator[int | str]:
    """Yield the parts of a path that are fields and places, without the names of types between them."""
    parts = tuple(part for part in parts if part != "[key]")
    for place, part in enumerate(parts):
        if isinstance(value, Mapping):
            if part not in value and place < len(parts) - 1:
                continue
            value = value.get(part)
        elif isinstance(value, list | tuple) and isinstance(part, int):
            value = value[part] if part < len(value) else None
        elif isinstance(part, int):
            continue  # a value that is as good as a list of it
        yield part


def _join_path(path: Iterable[int | str]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")


def shortened(value: Any) -> str:
    """Return a value as JSON for a message, cut off where it is long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 40 else text[:37] + "…"
