"""Unit cases of EDIT-F1, a JSON list: sentence, gold and predicted rewrite, and what comes out (spec 6.4)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from simulator.ambient.edit_f1 import edit_f1
from simulator.errors import InputError
from simulator.jsonlines import FieldError, Read, Row
from simulator.tables.records import read_json
from simulator.tables.spec import TableSpec, has
from trees.faults import Fault

_TOLERANCE: Final = 1e-9


@dataclass(frozen=True, slots=True)
class EditCase:
    """A case and its EDIT-F1, a fraction."""

    original: str
    gold: str
    predicted: str
    edit_f1: float


def read_edit_cases(path: str | Path) -> Read[EditCase]:
    """Return the good cases of a file; one that comes out otherwise than it says is a fault.

    Lines are places in the list, from 1.

    Raises:
        InputError: if the file cannot be read at all.
    """
    cases: list[EditCase] = []
    places: list[int] = []
    faults: list[Fault] = []
    values = read_json(path)
    if not isinstance(values, list):
        raise InputError(f"{path}: is no list of cases")
    for place, value in enumerate(values, start=1):
        try:
            cases.append(_case(value))
            places.append(place)
        except FieldError as error:
            faults.append(Fault(str(path), f"case {place}", 0, "format", str(error)))
    return Read(tuple(cases), tuple(places), tuple(faults))


def _case(value: object) -> EditCase:
    if not isinstance(value, dict):
        raise FieldError("is not an object")
    row = Row(value)
    original, gold, predicted = (row.text(name, empty=True) for name in ("original", "gold", "predicted"))
    case = EditCase(original, gold, predicted, row.number("edit_f1"))
    computed = edit_f1(case.original, case.gold, case.predicted)
    if abs(computed - case.edit_f1) > _TOLERANCE:
        raise row.wrong("edit_f1", f"is {case.edit_f1:g}, but comes out as {computed:g}")
    return case


EDIT_F1_CASES: Final = TableSpec[EditCase](
    name="edit_f1_cases",
    title="cases of EDIT-F1",
    is_of=has("original", "gold", "predicted", "edit_f1"),
    reader=read_edit_cases,
    repeats=False,
)
