"""What published runs and logs of decisions share: letters of options, numbers (spec 9, 13)."""

from __future__ import annotations

import math
from collections.abc import Collection
from string import ascii_uppercase
from typing import Any, Final

from simulator.errors import InputError
from simulator.jsonlines import Row, finite

ROUNDING: Final = 1e-6
"""By how much a log-probability may be above 0: programs add in single precision."""


def option_texts(row: Row) -> dict[str, str]:
    """The field ``options``: letter -> text.

    Raises:
        FieldError: if there are none, or one goes by something else than a capital letter, which no token of
            the model's would be taken for.
    """
    options = row.object("options")
    for letter in options.data:
        if len(letter) != 1 or letter not in ascii_uppercase:
            raise row.wrong("options", f"has {letter!r}; options go by capital letters (A, B, C, …)")
    if not options.data:
        raise row.wrong("options", "is empty")
    return {letter: options.text(letter) for letter in options.data}


def letters(row: Row, name: str, options: Collection[str]) -> tuple[str, ...]:
    """A field with a list of letters.

    Args:
        row: that has the field.
        name: of the field.
        options: the letters that there are.

    Raises:
        FieldError: if it is no list, or something in it is none of `options`.
    """
    return tuple(_letter(row, name, one, options) for one in row.list(name))


def _letter(row: Row, name: str, given: Any, options: Collection[str]) -> str:
    if not isinstance(given, str) or given not in options:
        raise row.wrong(name, f"has {given!r}, which is none of the options")
    return given


def logprob(row: Row, name: str, given: Any) -> float:
    """A finite natural logarithm of a probability.

    Args:
        row: that has it.
        name: of its place.
        given: what stands there.

    Raises:
        FieldError: if it is no such number.
    """
    number = finite(given)
    if number is None:
        shown = "null" if given is None else repr(given)
        raise row.wrong(name, f"is {shown[:40]}, not a finite number")
    if number > ROUNDING:
        raise row.wrong(name, f"is {number:g}; the logarithm of a probability is at most 0")
    return number


def maybe_infinite(value: Any) -> float:
    """A threshold, which JSON has as a number, or as a text where it is infinite.

    Raises:
        InputError: if it is neither.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise InputError(f"is {value!r}, not a number or inf")
    try:
        number = float(value)
    except OverflowError as error:
        raise InputError("is too large for a number; infinity is written inf") from error
    if math.isnan(number):
        raise InputError("is no number")
    return number
