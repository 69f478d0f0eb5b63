"""A published run of KnowNo on its calibration scenarios: options and the chooser's tokens (spec 9)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from simulator.ambik.files.jsonlist import read_records
from simulator.jsonlines import Read, Row

FIELDS: Final = ("item", "options", "true_options", "top_tokens", "top_logprobs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Logprobs:
    """What the chooser returned for one scenario.

    Attributes:
        item: the scenario's number in that run, in which the order is not that of AmbiK's files.
        split: as written.
        options: letter -> text, ``do nothing`` and the option that none is right among them.
        not_listed: the letter of the latter; empty if there is none.
        true_options: letters of the options that are right.
        tokens: with log-probabilities (natural), as returned: stripped, possibly repeated or not letters.
    """

    item: str
    split: str
    options: Mapping[str, str]
    not_listed: str
    true_options: tuple[str, ...]
    tokens: tuple[tuple[str, float], ...]


def is_logprobs(row: Mapping[str, Any]) -> bool:
    """Whether an object is a record of such a file."""
    return row.keys() >= {"options", "true_options", "top_tokens", "top_logprobs"}


def read_logprobs(path: str | Path) -> Read[Logprobs]:
    """The records of a file; one with a log-probability that is no finite number of at most 0 is a fault.

    Raises:
        InputError: if the file cannot be read at all.
    """
    return read_records(path, _logprobs, lambda one: one.item, name="item")


def _logprobs(row: Row) -> Logprobs:
    options = row.object("options")
    letters = {letter: options.text(letter) for letter in options.data}
    if not letters:
        raise row.wrong("options", "is empty")
    not_listed = row.text("not_listed_option") if row.get("not_listed_option") is not None else ""
    true = row.list("true_options")
    for name, letter in (("not_listed_option", not_listed), *(("true_options", one) for one in true)):
        if letter != "" and letter not in letters:
            raise row.wrong(name, f"has {letter!r}, which is none of the options")
    tokens = row.list("top_tokens")
    numbers = row.list("top_logprobs", len(tokens))
    if not tokens:
        raise row.wrong("top_tokens", "is empty")
    return Logprobs(
        item=row.key("item"),
        split=row.text("split") if row.get("split") is not None else "",
        options=letters,
        not_listed=not_listed,
        true_options=tuple(true),
        tokens=tuple(
            (_token(row, place, token), _logprob(row, place, number))
            for place, (token, number) in enumerate(zip(tokens, numbers, strict=True))
        ),
    )


def _token(row: Row, place: int, token: Any) -> str:
    if not isinstance(token, str):
        raise row.wrong(f"top_tokens[{place}]", f"is {token!r}, not a text")
    return token


def _logprob(row: Row, place: int, number: Any) -> float:
    if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
        shown = "null" if number is None else repr(number)
        raise row.wrong(f"top_logprobs[{place}]", f"is {shown}, not a finite number")
    if number > 0:
        raise row.wrong(
            f"top_logprobs[{place}]", f"is {number:g}; the logarithm of a probability is at most 0"
        )
    return float(number)
