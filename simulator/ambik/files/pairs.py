"""Files of pairs: CSV with one pair a row, columns by name, of any published version (spec 2.2, 2.4)."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from simulator.ambik.intents import Intent, parse_intent, parse_variants
from simulator.ambik.pairs import Pair
from simulator.ambik.terms import AMBIGUITIES, Ambiguity
from simulator.duplicates import told_once
from simulator.jsonlines import Row
from simulator.tables.cells import (
    SAME_ID,
    Columns,
    Record,
    Table,
    read_key,
    read_list,
    read_table,
    read_whole,
    spelled,
)
from simulator.whole import write_whole
from trees.faults import Fault

OLD_NAMES: Final = {
    "singelablel_clear": "unambiguous_direct",
    "singelablel_unclear": "unambiguous_indirect",
    "start_of_ambiguity": "end_of_ambiguity",
    "end_of_unambiguity": "end_of_ambiguity",
}
"""Names that columns had or have in other versions (spec 2.2)."""
NEEDED: Final = (
    "environment_short",
    "environment_full",
    "unambiguous_direct",
    "ambiguous_task",
    "ambiguity_type",
)
"""Columns without which there is no pair; a row with such a cell empty is a fault."""
_OWN: Final = ("ambiguous_task", "amb_shortlist", "unambiguous_direct", "plan_for_amb_task")
# A number is one of the list only if a blank or a letter follows: "2.5 cups" begins with a quantity.
_NUMBER: Final = re.compile(r"\s*[0-9]{1,3}\s*[.)\uff0e\uff09](?:\s+|(?=[^\W\d_]))")


# ---- cells


def steps(plan: str) -> tuple[str, ...]:
    """Return the lines of a plan without their numbers; blank lines are nothing."""
    return tuple(_NUMBER.sub("", line, count=1).strip() for line in plan.split("\n") if line.strip())


def is_numbered(line: str) -> bool:
    """Return True if a plan's line begins with its number."""
    return _NUMBER.match(line) is not None


def _numbered(plan: Sequence[str]) -> str:
    return "\n".join(f"{number}. {step}" for number, step in enumerate(plan, start=1))


def _read_text(row: Row, name: str) -> str:
    return str(row.get(name, ""))


def _read_steps(row: Row, name: str) -> tuple[str, ...]:
    return steps(row.get(name, ""))


def _read_type(row: Row, name: str) -> Ambiguity:
    """Return the type, whatever its letter case and what stands between its words."""
    written = spelled(row.text(name))
    return written if written in AMBIGUITIES else row.one_of(name, AMBIGUITIES)


def _read_step(row: Row, name: str) -> int | None:
    step = read_whole(row, name)
    if step is not None and step < 0:
        raise row.wrong(name, f"is {step}; the first line of a plan is 0")
    return step


def _read_taken(row: Row, name: str) -> bool | None:
    taken = read_whole(row, name)
    if taken not in (None, 0, 1):
        raise row.wrong(name, f"is {taken}, neither 0 nor 1")
    return None if taken is None else bool(taken)


def _read_intent(row: Row, name: str) -> Intent | None:
    return parse_intent(row.get(name)) if row.get(name) else None


def _read_variants(row: Row, name: str) -> tuple[Intent, ...]:
    return parse_variants(row.get(name, ""))


class _Cell(NamedTuple):
    """A column: the field of a pair that it holds, and how the cell is read and written."""

    field: str
    read: Callable[[Row, str], Any] = _read_text
    write: Callable[[Any], str] = str


_CELLS: Final = {
    "id": _Cell("id", read_key),
    "environment_short": _Cell("objects", read_list, ", ".join),
    "environment_full": _Cell("scene"),
    "unambiguous_direct": _Cell("clear"),
    "unambiguous_indirect": _Cell("indirect"),
    "ambiguity_type": _Cell("type", _read_type),
    "amb_shortlist": _Cell("shortlist", read_list, ", ".join),
    "ambiguous_task": _Cell("ambiguous"),
    "question": _Cell("question"),
    "answer": _Cell("answer"),
    "plan_for_clear_task": _Cell("clear_plan", _read_steps, _numbered),
    "plan_for_amb_task": _Cell("ambiguous_plan", _read_steps, _numbered),
    "end_of_ambiguity": _Cell("step", _read_step, lambda step: "" if step is None else str(step)),
    "user_intent": _Cell("intent", _read_intent, lambda intent: intent.text if intent else ""),
    "variants": _Cell("variants", _read_variants, lambda variants: "\n".join(each.text for each in variants)),
    "take_amb": _Cell("take_ambiguous", _read_taken, lambda taken: "" if taken is None else str(int(taken))),
}
COLUMNS: Final = tuple(_CELLS)
"""All columns, in the order in which the published files have them."""
_COLUMNS: Final = Columns(COLUMNS, NEEDED, OLD_NAMES)


def read_pair(row: Row, id: str) -> Pair:
    """Return a pair out of cleaned cells.

    Args:
        row: the cells, those that are empty left out.
        id: of the pair; empty if the row lacks it.

    Raises:
        FieldError: names the column that is missing or wrong.
    """
    if not id:
        raise row.wrong("id", "is empty")
    _COLUMNS.check_row(row)
    values = {cell.field: cell.read(row, name) for name, cell in _CELLS.items() if name != "id"}
    return Pair(id=id, **values)


def cells(pair: Pair) -> dict[str, str]:
    """Return a pair as a row of a published file, by column; options of our own are not among them."""
    written = {name: cell.write(getattr(pair, cell.field)) for name, cell in _CELLS.items()}
    return {**written, "amb_shortlist": pair.shortlist_text}


# ---- files


@dataclass(frozen=True, slots=True)
class PairsFile:
    """A file of pairs.

    Attributes:
        table: all of it as it stands.
        rows: the good pairs.
        records: of the table, one for each of the pairs.
        faults: what is wrong with the other rows.
    """

    table: Table
    rows: tuple[Pair, ...]
    records: tuple[Record, ...]
    faults: tuple[Fault, ...] = ()

    @property
    def lines(self) -> tuple[int, ...]:
        """The line of each pair."""
        return tuple(record.line for record in self.records)

    @property
    def has_ids(self) -> bool:
        """Whether the file has a column of ids; otherwise pairs are named by their rows."""
        return "id" in self.table.columns


def is_pairs(header: Iterable[str]) -> bool:
    """Return True if columns are those of a file of pairs."""
    header = tuple(header)
    others = ("ambiguity_type", "unambiguous_direct")
    return any(_COLUMNS.hold(header, "ambiguous_task", other) for other in others)


def looks_like_pairs(header: Iterable[str]) -> bool:
    """Return True if columns are at least some of those that no other file has."""
    return any(name in _OWN for name in _COLUMNS.today(header).values())


def read_pairs_file(path: str | Path) -> PairsFile:
    """Return the pairs of a file; every row that is not good is a fault, and so is a repeated id.

    Where there is no column of ids, ``row-17`` is the id of the 17th row.

    Raises:
        InputError: if the file cannot be read at all, or lacks a column that is needed.
    """
    table = read_table(path, _COLUMNS)

    def id_of(record: Record) -> str:
        if "id" not in table.columns:
            return f"row-{record.number}"
        row = record.row()
        return read_key(row, "id") if row.get("id") else ""

    def parse(row: Row, record: Record) -> tuple[Pair, Record]:
        pair, cell = read_pair(row, id_of(record)), record.cells.get("amb_shortlist", "")
        as_it_stands = bool(pair.shortlist) and cell != pair.shortlist_text
        return (replace(pair, shortlist_cell=cell) if as_it_stands else pair), record

    read = told_once(path, table.read(parse, id_of), lambda row: (row[0].id, ""), code="id", message=SAME_ID)
    pairs, records = (tuple(pair for pair, _ in read.rows), tuple(record for _, record in read.rows))
    return PairsFile(table, pairs, records, read.faults)


def write_pairs_file(path: str | Path, pairs: Iterable[Pair]) -> Path:
    """Write pairs as the published files have them; the same pairs give the same bytes.

    Raises:
        InputError: if the file cannot be written.
    """
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(cells, pairs))
    return write_whole(path, out.getvalue())


def as_file(path: str | Path, pairs: Sequence[Pair]) -> PairsFile:
    """Return pairs that were read in another way as if they stood in a CSV file, for the same rules."""
    records = tuple(Record(number, 0, 0, cells(pair)) for number, pair in enumerate(pairs, start=1))
    return PairsFile(Table(str(path), COLUMNS, {}, records, ()), tuple(pairs), records)
