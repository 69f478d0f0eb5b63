"""Files of pairs: CSV with one pair per row and named columns, of any published version (spec 2.2, 2.4)."""

from __future__ import annotations

import csv
import io
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

from simulator.ambik.intents import Intent, parse_intent, parse_variants, realises
from simulator.ambik.items import Pair
from simulator.ambik.terms import AMBIGUITIES, Ambiguity, Member, Part
from simulator.errors import InputError
from simulator.jsonlines import Row, report_duplicates
from simulator.output_files import write_atomically
from simulator.tables.cells import (
    SAME_ID,
    Columns,
    Record,
    Table,
    clean_cell,
    read_integer,
    read_key,
    read_list,
    read_table,
    snake_case,
)
from trees.faults import Fault

OLD_NAMES: Final = {
    "singelablel_clear": "unambiguous_direct",
    "singelablel_unclear": "unambiguous_indirect",
    "start_of_ambiguity": "end_of_ambiguity",
    "end_of_unambiguity": "end_of_ambiguity",
}
"""Current column names by their names in other versions (spec 2.2)."""
NEEDED: Final = (
    "environment_short",
    "environment_full",
    "unambiguous_direct",
    "ambiguous_task",
    "ambiguity_type",
)
"""Required columns; an empty cell in one of them is a fault."""
_LINES: Final = ("id", "scene", "clear", "indirect", "ambiguous", "question", "answer")
"""Fields of a pair that are a single line of text."""
_UNIQUE_COLUMNS: Final = ("ambiguous_task", "amb_shortlist", "unambiguous_direct", "plan_for_amb_task")
# A step number must be followed by a blank or a letter: "2.5 cups" begins with a quantity.
_NUMBER: Final = re.compile(r"\s*[0-9]{1,3}\s*[.)\uff0e\uff09](?:\s+|(?=[^\W\d_]))")


# ---- cells


def steps(plan: str) -> tuple[str, ...]:
    """Return the lines of a plan without their numbers; blank lines are skipped."""
    return tuple(_NUMBER.sub("", line, count=1).strip() for line in plan.split("\n") if line.strip())


def is_numbered(line: str) -> bool:
    """Return True if a plan's line begins with its number."""
    return _NUMBER.match(line) is not None


def _number_steps(plan: Sequence[str]) -> str:
    return "\n".join(f"{number}. {step}" for number, step in enumerate(plan, start=1))


def _read_type(row: Row, name: str) -> Ambiguity:
    """Return the type, ignoring letter case and word separators."""
    written = snake_case(row.text(name))
    return written if written in AMBIGUITIES else row.one_of(name, AMBIGUITIES)


def _read_step(row: Row, name: str) -> int | None:
    step = read_integer(row, name)
    if step is not None and step < 0:
        raise row.error(name, f"is {step}; the first line of a plan is 0")
    return step


def _read_taken(row: Row, name: str) -> bool | None:
    taken = read_integer(row, name)
    if taken not in (None, 0, 1):
        raise row.error(name, f"is {taken}, neither 0 nor 1")
    return None if taken is None else bool(taken)


def read_intent(row: Row, name: str) -> Intent | None:
    """Return the intent of a cell; None if it is empty."""
    return parse_intent(row.get(name)) if row.get(name) else None


class _Cell(NamedTuple):
    """A column: its field of a pair, and how the cell is read and written."""

    field: str
    read: Callable[[Row, str], Any] = lambda row, name: str(row.get(name, ""))
    write: Callable[[Any], str] = str


_PLAN: Final = (lambda row, name: steps(row.get(name, "")), _number_steps)
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
    "plan_for_clear_task": _Cell("clear_plan", *_PLAN),
    "plan_for_amb_task": _Cell("ambiguous_plan", *_PLAN),
    "end_of_ambiguity": _Cell("step", _read_step, lambda step: "" if step is None else str(step)),
    "user_intent": _Cell("intent", read_intent, lambda intent: intent.text if intent else ""),
    "variants": _Cell(
        "variants",
        lambda row, name: parse_variants(row.get(name, "")),
        lambda variants: "\n".join(variant.text for variant in variants),
    ),
    "take_amb": _Cell("take_ambiguous", _read_taken, lambda taken: "" if taken is None else str(int(taken))),
}
COLUMNS: Final = tuple(_CELLS)
"""All columns, in the order of the published files."""
_COLUMNS: Final = Columns(COLUMNS, NEEDED, OLD_NAMES)


def read_pair(row: Row, id: str) -> Pair:
    """Return a pair from cleaned cells.

    `id`: the pair's id; empty if the row has none.

    Raises:
        FieldError: names the column that is missing or wrong.
    """
    if not id:
        raise row.error("id", "is empty")
    _COLUMNS.check_row(row)
    values = {cell.field: cell.read(row, name) for name, cell in _CELLS.items() if name != "id"}
    return Pair(id=id, **values)


def cells(pair: Pair) -> dict[str, str]:
    """Return a pair as a row of a published file, by column; our own options are omitted."""
    row = {name: cell.write(getattr(pair, cell.field)) for name, cell in _CELLS.items()}
    return {**row, "amb_shortlist": pair.shortlist_text}


# ---- files


@dataclass(frozen=True, slots=True)
class PairsFile:
    """A file of pairs.

    `records`: the table's record of each pair.
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
        """True if the file has a column of ids; otherwise pairs are named by their rows."""
        return "id" in self.table.columns


def is_pairs(header: Iterable[str]) -> bool:
    """Return True if the columns are those of a file of pairs."""
    header = tuple(header)
    others = ("ambiguity_type", "unambiguous_direct")
    return any(_COLUMNS.has(header, "ambiguous_task", other) for other in others)


def looks_like_pairs(header: Iterable[str]) -> bool:
    """Return True if any of the columns occurs only in files of pairs."""
    return any(name in _UNIQUE_COLUMNS for name in _COLUMNS.current_names(header).values())


def read_pairs_file(path: str | Path) -> PairsFile:
    """Return the pairs of a file; invalid rows and repeated ids are faults.

    Without a column of ids, the 17th row gets the id ``row-17``.

    Raises:
        InputError: if the file cannot be read at all, or lacks a required column.
    """
    table = read_table(path, _COLUMNS)

    def id_of(record: Record) -> str:
        if "id" not in table.columns:
            return f"row-{record.number}"
        row = record.row()
        return read_key(row, "id") if row.get("id") else ""

    def parse(row: Row, record: Record) -> tuple[Pair, Record]:
        pair, cell = read_pair(row, id_of(record)), record.cells.get("amb_shortlist", "")
        keep_cell = bool(pair.shortlist) and cell != pair.shortlist_text
        return (replace(pair, shortlist_cell=cell) if keep_cell else pair), record

    read = report_duplicates(
        path, table.read(parse, id_of), lambda row: (row[0].id, ""), code="id", message=SAME_ID
    )
    pairs, records = (tuple(pair for pair, _ in read.rows), tuple(record for _, record in read.rows))
    return PairsFile(table, pairs, records, read.faults)


def write_pairs_file(path: str | Path, pairs: Iterable[Pair]) -> Path:
    """Write pairs in the published format; the same pairs give the same bytes.

    Raises:
        InputError: if the file cannot be written.
    """
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(cells, pairs))
    return write_atomically(path, out.getvalue())


def export_pairs(path: str | Path, pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    """Write pairs in the published format, after checking that they can be read back.

    Returns:
        The pairs as written: texts cleaned (spec 2.4), our own options omitted.

    Raises:
        InputError: if a pair would be read back differently, or the file cannot be written.
    """
    written = tuple(map(clean_pair, pairs))
    with tempfile.TemporaryDirectory() as folder:
        read = read_pairs_file(write_pairs_file(Path(folder) / "pairs.csv", written))
    if read.faults:
        raise InputError(f"{path}: {read.faults[0].message}; nothing was written.")
    for pair, back in zip(written, read.rows, strict=True):
        if names := [
            part.name for part in fields(Pair) if getattr(pair, part.name) != getattr(back, part.name)
        ]:
            problem = f"pair {pair.id} would be read back differently ({', '.join(names)})"
            raise InputError(f"{path}: {problem}; nothing was written.")
    write_pairs_file(path, written)
    return written


def clean_pair(pair: Pair) -> Pair:
    """Return a pair that a file can store: texts cleaned and on one line, things unique, no options."""
    changes: dict[str, Any] = {name: _line(getattr(pair, name)) for name in _LINES}
    changes |= {name: tuple(dict.fromkeys(_lines(getattr(pair, name)))) for name in ("objects", "shortlist")}
    changes |= {name: _lines(getattr(pair, name)) for name in ("clear_plan", "ambiguous_plan")}
    intent = pair.intent and parse_intent(_line(pair.intent.text))
    variants = tuple(parse_intent(_line(variant.text)) for variant in pair.variants)
    return replace(pair, **changes, intent=intent, variants=variants, options=())


def _line(text: str) -> str:
    return " ".join(clean_cell(text).split())


def _lines(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(filter(None, map(_line, texts)))


def as_file(path: str | Path, pairs: Sequence[Pair]) -> PairsFile:
    """Return pairs from another source as if read from a CSV file, to apply the same rules."""
    records = tuple(Record(number, 0, 0, cells(pair)) for number, pair in enumerate(pairs, start=1))
    return PairsFile(Table(str(path), COLUMNS, {}, records, ()), tuple(pairs), records)


# ---- the published version of a file, recognized by its rows and columns (spec 2.1, 2.5)

Version = Literal["builtin", "june_2024", "paper", "2025", "other"]
Kind = Literal["released", "added"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
TITLES: Final[Mapping[Version, str]] = {
    "builtin": "built in",
    "june_2024": "June 2024 (500 pairs, the source of the paper's Tables 2 and 5)",
    "paper": "the paper's release (500 pairs: 100 for calibration, 400 for tests)",
    "2025": "2025 (1000 pairs, about half of them of a different kind)",
    "other": "not a published version, or incomplete",
}
_OLD: Final = ("unambiguous_direct", "unambiguous_indirect")
_ROWS_2025: Final = (900, 1000)
# Types in the two parts of the released 500 pairs (spec 2.1).
_CALIBRATION: Final[Mapping[Ambiguity, int]] = {
    "preferences": 47,
    "common_sense_knowledge": 40,
    "safety": 13,
}
_TEST: Final[Mapping[Ambiguity, int]] = {"preferences": 189, "common_sense_knowledge": 159, "safety": 52}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileKind:
    """The published version of a file of pairs.

    `pairs`: number of valid pairs.
    """

    file: str
    version: Version
    why: str
    pairs: int
    parts: Mapping[Part, int]


def part_of(pair: Pair) -> Part:
    """Return a pair's part: rows that name the member to use are for calibration (spec 2.2)."""
    return "test" if pair.take_ambiguous is None else "calibration"


def is_new(pair: Pair, record: Record) -> bool:
    """Return True if a pair is of the kind added in 2025: one plan twice, without numbers and variants.

    `plan_shown` tells which member's plan it is (spec 2.5).
    """
    same = pair.clear_plan == pair.ambiguous_plan != ()
    lines = record.text("plan_for_clear_task").split("\n")
    return same and not pair.variants and not any(map(is_numbered, lines))


def kind_of_pair(pair: Pair) -> Kind:
    """Return the kind of a pair: ``added`` in 2025 if it has neither indirect wording nor variants."""
    return "added" if not pair.indirect and not pair.variants else "released"


def plan_shown(pair: Pair) -> Member | None:
    """Return the member whose plan is in both columns: the clear one if its step realises the intent.

    None if the plans differ, or if there is no valid intent or step.
    """
    intent = pair.intent
    if pair.clear_plan != pair.ambiguous_plan or intent is None or intent.malformed or not pair.clear_step:
        return None
    return "clear" if realises(intent, pair.clear_step) else "ambiguous"


def identify(file: PairsFile) -> FileKind:
    """Return the published version of a file."""
    version, why = _version(file)
    parts = Counter(map(part_of, file.rows))
    return FileKind(file=file.table.path, version=version, why=why, pairs=len(file.rows), parts=parts)


def mixed_versions(files: Sequence[FileKind]) -> tuple[Fault, ...]:
    """Return a warning if files are of several versions, which must not be mixed (spec 2.1).

    The calibration file of the paper's release may be used with 2025, which has the same rows.
    """
    new = any(file.version == "2025" for file in files)
    first: dict[Version, FileKind] = {}
    for file in files:
        calibration = new and file.version == "paper" and set(file.parts) == {"calibration"}
        if file.version != "other" and not calibration:
            first.setdefault(file.version, file)
    if len(first) < 2:
        return ()
    versions = "; ".join(f"{file.file}: {TITLES[version]}" for version, file in first.items())
    message = f"files of several versions, which must not be mixed: {versions}"
    return (Fault([*first.values()][1].file, "", 0, "version", message, "warning"),)


def _version(file: PairsFile) -> tuple[Version, str]:
    rows, new = len(file.table.records), sum(map(is_new, file.rows, file.records))
    written = (file.table.renamed.get(name, "") for name in _OLD)
    old = [name for name in written if snake_case(name) in OLD_NAMES]
    if old:
        return "june_2024", f"the old name of the column {', '.join(old)}; {rows} rows"
    if rows in _ROWS_2025:
        return "2025", f"{rows} rows"
    if new * 10 > rows:
        return "2025", f"in {new} of {rows} rows both plans are the same and have no numbers"
    types: dict[Part, Counter[Ambiguity]] = {"calibration": Counter(), "test": Counter()}
    for pair in file.rows:
        types[part_of(pair)][pair.type] += 1
    released = {"calibration": _CALIBRATION, "test": _TEST}
    if rows and all(not counts or counts == released[part] for part, counts in types.items()):
        parts = " and ".join(f"{counts.total()} for {part}" for part, counts in types.items() if counts)
        return "paper", f"{parts}, with the types of the release"
    if Counter(pair.type for pair in file.rows) == Counter(_CALIBRATION) + Counter(_TEST):
        return "paper", f"{rows} rows with the types of the release"
    return "other", f"{rows} rows"
