"""Fields of records in JSON files: what they hold, and what may be wrong with them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from string import ascii_uppercase
from typing import Annotated, Any, Final, TypeVar

from pydantic import AfterValidator, AllowInfNan, BeforeValidator, Strict, ValidationInfo

from simulator.fields import Said, Whole, null_as
from simulator.tables.cells import spelled

T = TypeVar("T")
ROUNDING: Final = 1e-6
"""By how much a log-probability may be above 0: programs add in single precision."""


def require(holds: Callable[[T], bool], problem: str) -> AfterValidator:
    """Return a check of a value, and what is said of one that does not hold, with ``{}`` for it."""

    def check(value: T) -> T:
        if not holds(value):
            raise ValueError(problem.format(value))
        return value

    return AfterValidator(check)


def _or_none(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _options(options: dict[str, str]) -> dict[str, str]:
    for letter in options:
        if len(letter) != 1 or letter not in ascii_uppercase:
            # No token of a model's would be taken for it.
            raise ValueError(f"has {letter!r}; options go by capital letters (A, B, C, …)")
    if not options:
        raise ValueError("is empty")
    return options


def _among_options(value: Any, info: ValidationInfo) -> Any:
    options: Mapping[str, str] = info.data.get("options", {})
    letters = ([value] if value else []) if isinstance(value, str) else value or ()
    for letter in letters:
        if options and letter not in options:
            raise ValueError(f"has {letter!r}, which is none of the options")
    return value


def _moment(value: Any) -> str:
    """Return a moment as the log writes it. Without a zone it is UTC."""
    if value is None or value == "":
        return ""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            moment = datetime.fromtimestamp(value, UTC)
        else:
            moment = datetime.fromisoformat(value)
    except (ValueError, TypeError, OverflowError, OSError) as error:
        problem = f"is {str(value)[:40]!r}, no moment (ISO 8601, or seconds since 1970)"
        raise ValueError(problem) from error
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return zoned.astimezone(UTC).isoformat(timespec="milliseconds")


NAN_AS_NONE = BeforeValidator(_or_none)
"""What JSON has no number for is nothing, as pandas writes it."""
Number = Annotated[float, Strict(), AllowInfNan(False)]
NumberOrNone = Annotated[Number | None, NAN_AS_NONE]
"""A number; None also for what JSON has no number for."""
Share = Annotated[Number, require(lambda share: 0 <= share <= 1, "is {:g}, not between 0 and 1")]
Count = Annotated[Whole, null_as(0)]
Flag = Annotated[
    Annotated[bool, Strict()] | None,
    BeforeValidator(lambda flag: bool(flag) if flag in (0, 1) else None if flag == "" else flag),
    NAN_AS_NONE,
]
"""True or false, also as 1 or 0; None where it is missing."""
Texts = Annotated[tuple[str, ...], null_as(())]
Spelled = BeforeValidator(lambda name: spelled(name) if isinstance(name, str) else name)
"""One of some names, whatever its letter case."""
Options = Annotated[dict[str, Said], AfterValidator(_options)]
"""Letter -> text."""
Letters = Annotated[tuple[str, ...], AfterValidator(_among_options)]
Letter = Annotated[str, null_as(""), AfterValidator(_among_options)]
"""A letter of the field `options`, which stands before; empty if there is none."""
Logprob = Annotated[
    Number,
    require(lambda value: value <= ROUNDING, "is {:g}; the logarithm of a probability is at most 0"),
]
"""A natural logarithm."""
Moment = Annotated[str, BeforeValidator(_moment)]
"""A moment in time, ISO 8601 or seconds since 1970; empty if it is missing."""
