"""What a decision is made of, by method: letters of options, tokens, samples, certainty (spec 9, 13)."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from string import ascii_uppercase
from typing import Any, Final

from simulator.ambik.parsing import read_certainty
from simulator.ambik.records import Affordance
from simulator.errors import InputError
from simulator.jsonlines import Row, finite

ROUNDING: Final = 1e-6
"""By how much a log-probability may be above 0: programs add in single precision."""


def option_texts(row: Row) -> dict[str, str]:
    """Return the field ``options``: letter -> text.

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
    """Return a field with a list of letters.

    Args:
        row: that has the field.
        name: of the field.
        options: the letters that there are.

    Raises:
        FieldError: if it is no list, or something in it is none of `options`.
    """
    return tuple(_letter(row, name, letter, options) for letter in row.list(name))


def _letter(row: Row, name: str, letter: Any, options: Collection[str]) -> str:
    if not isinstance(letter, str) or letter not in options:
        raise row.wrong(name, f"has {letter!r}, which is none of the options")
    return letter


def logprob(row: Row, name: str, value: Any) -> float:
    """Return a finite natural logarithm of a probability.

    Args:
        row: that has it.
        name: of its place.
        value: what stands there.

    Raises:
        FieldError: if it is no such number.
    """
    number = finite(value)
    if number is None:
        shown = "null" if value is None else repr(value)
        raise row.wrong(name, f"is {shown[:40]}, not a finite number")
    if number > ROUNDING:
        raise row.wrong(name, f"is {number:g}; the logarithm of a probability is at most 0")
    return number


def maybe_infinite(value: Any) -> float:
    """Return a threshold, which JSON has as a number, or as a text where it is infinite.

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


def optional_text(row: Row, name: str) -> str:
    """Return a text that may be missing: then it is empty."""
    return "" if row.get(name) is None else row.text(name, empty=True)


def optional_texts(row: Row, name: str) -> tuple[str, ...]:
    """Return a list of texts that may be missing: then there are none."""
    texts = [] if row.get(name) is None else row.list(name)
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise row.wrong(f"{name}[{place}]", "is not a text")
    return tuple(texts)


def optional_flag(row: Row, name: str) -> bool | None:
    """Return a field that is true or false, or may be missing: then it is None."""
    value = row.get(name)
    if value not in (None, 0, 1):
        raise row.wrong(name, f"is {value!r}, not true or false")
    return None if value is None else bool(value)


def _lettered(row: Row) -> dict[str, Any]:
    texts = option_texts(row)
    return {
        "options": texts,
        "filled": () if row.get("filled_options") is None else letters(row, "filled_options", texts),
        "tokens": tuple(_token(row, place, one) for place, one in enumerate(_tokens(row))),
        "action": optional_text(row, "action"),
        "right": None if row.get("right") is None else letters(row, "right", texts),
    }


def _tokens(row: Row) -> list[Any]:
    """Tokens with their log-probabilities, a list or an object."""
    table = row.get("token_table")
    return [list(token) for token in table.items()] if isinstance(table, dict) else row.list("token_table")


def _token(row: Row, place: int, entry: Any) -> tuple[str, float]:
    name = f"token_table[{place}]"
    pair = [entry.get("token"), entry.get("logprob")] if isinstance(entry, dict) else entry
    if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):
        raise row.wrong(name, "is not a token with its log-probability")
    return pair[0], logprob(row, name, pair[1])


def _judged(row: Row) -> dict[str, Any]:
    fields = _lettered(row)
    field = row.object("affordance")
    table = {letter: field.object(letter) for letter in field.data}
    for letter, scores in table.items():
        for name in ("context", "prompt"):
            if not 0 <= (scores.number_or_none(name) or 0) <= 1:
                raise row.wrong(f"affordance.{letter}.{name}", f"is {scores.get(name)}, not between 0 and 1")
    affordance = {
        letter: Affordance(scores.number("context"), scores.number_or_none("prompt"))
        for letter, scores in table.items()
    }
    return {**fields, "affordance": affordance}


def _sampled(row: Row) -> dict[str, Any]:
    samples, similar = row.object("samples"), row.get("similarities")
    counts = {answer: samples.whole(answer) for answer in samples.data}
    if any(number < 1 for number in counts.values()):
        raise row.wrong("samples", "has an answer that was drawn less than once")
    likeness = row.object("similarities") if similar else None
    draws = row.whole("draws") if row.get("draws") is not None else sum(counts.values())
    if draws < 0:
        raise row.wrong("draws", f"is {draws}; so many answers cannot be drawn")
    return {
        "samples": counts,
        "similarities": {}
        if likeness is None
        else {answer: likeness.number(answer) for answer in likeness.data},
        "draws": draws,
        "action": optional_text(row, "action"),
    }


def _single(row: Row) -> dict[str, Any]:
    action = optional_text(row, "action") or next(iter(optional_texts(row, "prediction_set")), "")
    return {"action": action}


def _certain(row: Row) -> dict[str, Any]:
    certainty, flags = read_certainty(row.text("certainty", empty=True)), optional_texts(row, "flags")
    if certainty == "invalid":
        flags = tuple(dict.fromkeys((*flags, "invalid_certainty")))
    return {**_single(row), "certainty": certainty, "flags": flags}


def _marked(row: Row) -> dict[str, Any]:
    name = "marked" if row.get("marked") is not None else "prediction_set"
    row.list(name)
    return {"chosen": optional_texts(row, name), "action": optional_text(row, "action")}


FIELDS: Final[Mapping[str, Any]] = {
    "knowno": _lettered,
    "lap": _judged,
    "lofreecp": _sampled,
    "binary": _certain,
    "nohelp": _single,
    "offline": _marked,
    "person": _marked,
}
"""By method (or who else decided): what a decision is made of, read of its line."""
