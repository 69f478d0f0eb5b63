"""Files of pairs: CSV with one pair a row, columns by name, of any published version (spec 2.2, 2.4)."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from simulator.ambik.intents import parse_intent, parse_variants
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
COLUMNS: Final = (
    *("id", "environment_short", "environment_full", "unambiguous_direct", "unambiguous_indirect"),
    *("ambiguity_type", "amb_shortlist", "ambiguous_task", "question", "answer"),
    *("plan_for_clear_task", "plan_for_amb_task", "end_of_ambiguity", "user_intent", "variants", "take_amb"),
)
"""All columns, in the order in which the published files have them."""
_COLUMNS: Final = Columns(COLUMNS, NEEDED, OLD_NAMES)
_OWN: Final = ("ambiguous_task", "amb_shortlist", "unambiguous_direct", "plan_for_amb_task")
# A number is one of the list only if a blank or a letter follows: "2.5 cups" begins with a quantity.
_NUMBER: Final = re.compile(r"\s*[0-9]{1,3}\s*[.)\uff0e\uff09](?:\s+|(?=[^\W\d_]))")


@dataclass(frozen=True, slots=True)
class PairsFile:
    """A file of pairs.

    Attributes:
        table: all of it as it stands.
        pairs: the good ones.
        records: of the table, one for each of the pairs.
        faults: what is wrong with the other rows.
    """

    table: Table
    pairs: tuple[Pair, ...]
    records: tuple[Record, ...]
    faults: tuple[Fault, ...]

    @property
    def rows(self) -> tuple[Pair, ...]:
        """The good ones, as every file has them."""
        return self.pairs

    @property
    def lines(self) -> tuple[int, ...]:
        """The line of each."""
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
    """The pairs of a file; every row that is not good is a fault, and so is one whose id occurred before.

    Where there is no column of ids, ``row-17`` is the id of the 17th row.

    Raises:
        InputError: if the file cannot be read at all, or lacks a column that is needed.
    """
    table = read_table(path, _COLUMNS)
    read = table.read(
        lambda row, record: (_pair_of_record(row, record_id(table, record), record), record),
        lambda record: record_id(table, record),
    )
    once = told_once(path, read, lambda row: (row[0].id, ""), code="id", message=SAME_ID)
    pairs, records = (tuple(column) for column in zip(*once.rows, strict=True)) if once.rows else ((), ())
    return PairsFile(table, pairs, records, once.faults)


def record_id(table: Table, record: Record) -> str:
    """Return a record's id; that of its place if the file has no ids, empty if the cell is."""
    if "id" not in table.columns:
        return f"row-{record.number}"
    row = record.row()
    return read_key(row, "id") if row.get("id") else ""


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
    step = read_whole(row, "end_of_ambiguity")
    if step is not None and step < 0:
        raise row.wrong("end_of_ambiguity", f"is {step}; the first line of a plan is 0")
    taken = read_whole(row, "take_amb")
    if taken not in (None, 0, 1):
        raise row.wrong("take_amb", f"is {taken}, neither 0 nor 1")
    intent = row.get("user_intent")
    return Pair(
        id=id,
        objects=read_list(row, "environment_short"),
        scene=row.text("environment_full"),
        clear=row.text("unambiguous_direct"),
        indirect=row.get("unambiguous_indirect", ""),
        ambiguous=row.text("ambiguous_task"),
        type=_type(row),
        shortlist=read_list(row, "amb_shortlist"),
        question=row.get("question", ""),
        answer=row.get("answer", ""),
        clear_plan=steps(row.get("plan_for_clear_task", "")),
        ambiguous_plan=steps(row.get("plan_for_amb_task", "")),
        step=step,
        intent=None if intent is None else parse_intent(intent),
        variants=parse_variants(row.get("variants", "")),
        take_ambiguous=None if taken is None else bool(taken),
    )


def _pair_of_record(row: Row, id: str, record: Record) -> Pair:
    """Return a pair with its shortlist as it stands, where that differs from the list that is read of it."""
    pair = read_pair(row, id)
    cell = record.cells.get("amb_shortlist", "")
    return replace(pair, shortlist_cell=cell) if pair.shortlist and cell != pair.shortlist_text else pair


def _type(row: Row) -> Ambiguity:
    """Return the type, whatever its letter case and what stands between its words."""
    written = spelled(row.text("ambiguity_type"))
    for kind in AMBIGUITIES:
        if kind == written:
            return kind
    return row.one_of("ambiguity_type", AMBIGUITIES)


def steps(plan: str) -> tuple[str, ...]:
    """Return the lines of a plan without their numbers; blank lines are nothing."""
    return tuple(_NUMBER.sub("", line, count=1).strip() for line in plan.split("\n") if line.strip())


def is_numbered(line: str) -> bool:
    """Return True if a plan's line begins with its number."""
    return _NUMBER.match(line) is not None


def cells(pair: Pair) -> dict[str, str]:
    """Return a pair as a row of a published file, by column; options of our own are not among them."""
    return {
        "id": pair.id,
        "environment_short": ", ".join(pair.objects),
        "environment_full": pair.scene,
        "unambiguous_direct": pair.clear,
        "unambiguous_indirect": pair.indirect,
        "ambiguity_type": pair.type,
        "amb_shortlist": pair.shortlist_text,
        "ambiguous_task": pair.ambiguous,
        "question": pair.question,
        "answer": pair.answer,
        "plan_for_clear_task": _numbered(pair.clear_plan),
        "plan_for_amb_task": _numbered(pair.ambiguous_plan),
        "end_of_ambiguity": "" if pair.step is None else str(pair.step),
        "user_intent": "" if pair.intent is None else pair.intent.text,
        "variants": "\n".join(variant.text for variant in pair.variants),
        "take_amb": "" if pair.take_ambiguous is None else str(int(pair.take_ambiguous)),
    }


def write_pairs_file(path: str | Path, pairs: Iterable[Pair]) -> Path:
    """Write pairs as the published files have them; the same pairs give the same bytes.

    Raises:
        InputError: if the file cannot be written.
    """
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(cells(pair) for pair in pairs)
    return write_whole(path, out.getvalue())


def as_file(path: str | Path, pairs: Iterable[Pair]) -> PairsFile:
    """Pairs that were read in another way, as if they stood in a CSV file: the same rules then see them."""
    pairs = tuple(pairs)
    records = tuple(Record(number, 0, 0, cells(pair)) for number, pair in enumerate(pairs, start=1))
    return PairsFile(Table(str(path), COLUMNS, {}, records, ()), pairs, records, ())


def _numbered(plan: tuple[str, ...]) -> str:
    return "\n".join(f"{number}. {step}" for number, step in enumerate(plan, start=1))
