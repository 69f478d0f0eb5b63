"""KnowNo's scenarios as AmbiK's authors converted them, CSV, and a published run on them, JSON (spec 9)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from simulator.ambik.files.lettered import letters, logprob, option_texts
from simulator.ambik.intents import parse_intent
from simulator.ambik.items import ScenarioItem
from simulator.ambik.naming import is_filler
from simulator.ambik.pairs import Scenario
from simulator.ambik.records import Decision
from simulator.ambik.terms import Part
from simulator.duplicates import told_once
from simulator.jsonlines import Read, Row
from simulator.tables.cells import SAME_ID, Columns, read_key, read_list, read_table, spelled

TYPES: Final = (
    *("singlelabel", "spatial_ambiguous", "winograd", "unsafe", "unambiguous"),
    *("creative_multilabel", "creative_singlelabel", "multilabel"),
)
"""The eight types; files have them with the suffix ``_task``."""
NEEDED: Final = (
    *("id", "environment_full", "task", "intent_object", "intent_location"),
    *("environment_short", "ambiguity_type"),
)
_COLUMNS: Final = Columns((*NEEDED, "user_intent"), NEEDED)
# What published files are called by the random split into 100 and 200; nothing in them tells it.
_PARTS: Final[tuple[tuple[str, Part], ...]] = (("calib", "calibration"), ("test", "test"))
_SPLITS: Final[Mapping[str, Part]] = {
    "": "calibration",
    "calib": "calibration",
    "calibration": "calibration",
    "test": "test",
}
FIELDS: Final = ("item", "options", "true_options", "top_tokens", "top_logprobs")
"""The fields of a record of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Logprobs:
    """The chooser's answer for one scenario.

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


def is_knowno(header: Iterable[str]) -> bool:
    """Return True if columns are those of a file of scenarios."""
    return _COLUMNS.hold(header, "task", "intent_object", "intent_location")


def read_knowno(path: str | Path) -> Read[Scenario]:
    """The scenarios of a file; every row that is not good is a fault, and so is one whose id occurred before.

    A file with ``calib`` or ``test`` in its name is the part of that name.

    Raises:
        InputError: if the file cannot be read at all, or lacks a column.
    """
    part = next((part for word, part in _PARTS if word in Path(path).stem.casefold()), None)
    table = read_table(path, _COLUMNS)
    read = table.read(lambda row, record: _scenario(row, part), lambda record: record.text("id"))
    return told_once(path, read, lambda scenario: (scenario.id, ""), code="id", message=SAME_ID)


def read_logprobs_record(row: Row) -> Logprobs:
    """Return a record of a run.

    Raises:
        FieldError: names the field that is missing or wrong, such as a log-probability above 0.
    """
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


def decisions_of(
    records: Sequence[Logprobs],
    run: str,
    *,
    scenarios: Mapping[str, Scenario] | None = None,
) -> tuple[Decision, ...]:
    """Return the records of a file as decisions.

    Args:
        records: of the file.
        run: how the file is called.
        scenarios: by id, for their texts; records of others are told by their number alone. Which options are
            right is taken from the records either way.
    """
    known = scenarios or {}
    return tuple(
        Decision(
            episode_id=f"{Path(run).stem}.{record.item}",
            run=run,
            item=ScenarioItem(scenario=known.get(record.item) or _unknown(record.item), part=record.part),
            method="knowno",
            options=record.options,
            filled=tuple(letter for letter, text in record.options.items() if is_filler(text)),
            tokens=record.tokens,
            right=record.true_options,
        )
        for record in records
    )


def _scenario(row: Row, part: Part | None) -> Scenario:
    _COLUMNS.check_row(row)
    written = row.text("ambiguity_type")
    kind = spelled(written).removesuffix("_task")
    if kind not in TYPES:
        raise row.wrong(
            "ambiguity_type", f"is {written!r}, not one of {', '.join(TYPES)} (with _task or not)"
        )
    intent = row.get("user_intent")
    return Scenario(
        id=read_key(row, "id"),
        objects=read_list(row, "environment_short"),
        scene=row.text("environment_full"),
        task=row.text("task"),
        intended=read_list(row, "intent_object"),
        location=row.text("intent_location"),
        type=kind,
        intent=None if intent is None else parse_intent(intent),
        part=part,
    )


def _unknown(number: str) -> Scenario:
    return Scenario(id=number, objects=(), scene="", task="", intended=(), location="", type="")


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
