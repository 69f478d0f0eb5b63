"""KnowNo's scenarios as AmbiK's authors converted them: CSV with one scenario a row (spec 9)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Final

from simulator.ambik.files.table import (
    Record,
    header_of,
    of_today,
    read_key,
    read_list,
    read_table,
    spelled,
)
from simulator.ambik.intents import parse_intent
from simulator.ambik.pairs import Scenario
from simulator.ambik.terms import Part
from simulator.errors import InputError
from simulator.jsonlines import Read, Row
from trees.faults import Fault

TYPES: Final = (
    *("singlelabel", "spatial_ambiguous", "winograd", "unsafe", "unambiguous"),
    *("creative_multilabel", "creative_singlelabel", "multilabel"),
)
"""The eight types; files have them with the suffix ``_task``."""
NEEDED: Final = (
    *("id", "environment_full", "task", "intent_object", "intent_location"),
    *("environment_short", "ambiguity_type"),
)
_KNOWN: Final = (*NEEDED, "user_intent")
# What published files are called by the random split into 100 and 200; nothing in them tells it.
_PARTS: Final[tuple[tuple[str, Part], ...]] = (("calib", "calibration"), ("test", "test"))


def is_knowno(header: Iterable[str]) -> bool:
    """Whether columns are those of a file of scenarios."""
    return {"task", "intent_object", "intent_location"} <= set(of_today(header, _KNOWN).values())


def read_knowno(path: str | Path) -> Read[Scenario]:
    """The scenarios of a file; every row that is not good is a fault, and so is one whose id occurred before.

    A file with ``calib`` or ``test`` in its name is the part of that name.

    Raises:
        InputError: if the file cannot be read at all, or lacks a column.
    """
    table = read_table(path, of_today(header_of(path), _KNOWN))
    missing = [name for name in NEEDED if name not in table.columns]
    if missing:
        raise InputError(
            f"{path}: no column {', '.join(missing)}; the columns are {', '.join(table.columns) or 'none'}"
        )
    part = next((part for word, part in _PARTS if word in Path(path).stem.casefold()), None)
    faults = list(table.faults)
    good: dict[str, tuple[Scenario, Record]] = {}
    for record in table.records:
        id = record.text("id")
        found = table.parsed(record, id, partial(_scenario, part=part))
        if isinstance(found, Scenario) and found.id in good:
            earlier = good[found.id][1].line
            found = table.fault(record, id, "id", f"id: the row in line {earlier} has the same")
        if isinstance(found, Fault):
            faults.append(found)
        else:
            good[found.id] = found, record
    rows, lines = tuple(one for one, _ in good.values()), tuple(record.line for _, record in good.values())
    return Read(rows, lines, tuple(sorted(faults, key=lambda fault: fault.line)))


def _scenario(row: Row, part: Part | None) -> Scenario:
    for name in NEEDED:
        if not row.get(name):
            raise row.wrong(name, "is empty")
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
