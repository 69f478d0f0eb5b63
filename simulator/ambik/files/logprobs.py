"""A published run of KnowNo on its calibration scenarios: options and the chooser's tokens (spec 9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from simulator.ambik.files.jsonlist import read_records
from simulator.ambik.files.lettered import letters, logprob, option_texts
from simulator.ambik.terms import Part
from simulator.jsonlines import Read, Row

_SPLITS: Final[Mapping[str, Part]] = {
    "": "calibration",
    "calib": "calibration",
    "calibration": "calibration",
    "test": "test",
}
FIELDS: Final = ("item", "options", "true_options", "top_tokens", "top_logprobs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Logprobs:
    """What the chooser returned for one scenario.

    Attributes:
        item: the scenario's number in that run, in which the order is not that of AmbiK's files.
        part: what the record serves: of the split ``test`` it is not calibrated on.
        options: letter -> text, ``do nothing`` and the option that none is right among them.
        not_listed: the letter of the latter; empty if there is none.
        true_options: letters of the options that are right.
        tokens: with log-probabilities (natural), as returned: stripped, possibly repeated or not letters.
    """

    item: str
    part: Part
    options: Mapping[str, str]
    not_listed: str
    true_options: tuple[str, ...]
    tokens: tuple[tuple[str, float], ...]


def is_logprobs(row: Mapping[str, Any]) -> bool:
    """Whether an object is a record of such a file."""
    return row.keys() >= {"options", "true_options", "top_tokens", "top_logprobs"}


def read_logprobs(path: str | Path) -> Read[Logprobs]:
    """The records of a file; one with a log-probability that is no finite number up to 0 is a fault.

    Raises:
        InputError: if the file cannot be read at all.
    """
    return read_records(path, _logprobs, lambda one: one.item, name="item")


def _logprobs(row: Row) -> Logprobs:
    texts = option_texts(row)
    not_listed = row.text("not_listed_option") if row.get("not_listed_option") is not None else ""
    if not_listed and not_listed not in texts:
        raise row.wrong("not_listed_option", f"has {not_listed!r}, which is none of the options")
    tokens = row.list("top_tokens")
    numbers = row.list("top_logprobs", len(tokens))
    if not tokens:
        raise row.wrong("top_tokens", "is empty")
    return Logprobs(
        item=row.key("item"),
        part=_part(row),
        options=texts,
        not_listed=not_listed,
        true_options=letters(row, "true_options", texts),
        tokens=tuple(
            (_token(row, place, token), logprob(row, f"top_logprobs[{place}]", number))
            for place, (token, number) in enumerate(zip(tokens, numbers, strict=True))
        ),
    )


def _part(row: Row) -> Part:
    """By the split as it is written; records that do not say are those of the calibration, as published."""
    written = row.text("split") if row.get("split") is not None else ""
    if written.strip().lower() not in _SPLITS:
        raise row.wrong("split", f"is {written!r}, not one of {', '.join(filter(None, _SPLITS))}")
    return _SPLITS[written.strip().lower()]


def _token(row: Row, place: int, token: Any) -> str:
    if not isinstance(token, str):
        raise row.wrong(f"top_tokens[{place}]", f"is {token!r}, not a text")
    return token
