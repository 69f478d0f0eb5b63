"""CSV files by columns: records with their first line, cells as they stand and cleaned."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

from simulator.errors import InputError
from simulator.jsonlines import FieldError, Read, Row
from trees.faults import Fault

T = TypeVar("T")
SAME_ID: Final = "id: the row in line {line} has the same"
"""What is told of a row whose id an earlier one has (`simulator.jsonlines`)."""
NO_BREAK: Final = "\u00a0\u202f"
_BLANKS: Final = str.maketrans(dict.fromkeys(NO_BREAK, " "))
ABSENT: Final = ("nan", "<na>", "#n/a", "n/a", "na", "null", "none")
"""Words that programs write into a cell that is empty, in small letters; a cell that is one of them is."""
SEPARATORS: Final[Mapping[str, str]] = {"semicolons": ";", "tabs": "\t"}
"""Marks other than commas that spreadsheets put between columns."""
_LONGEST: Final = max(map(len, ABSENT))
_BETWEEN: Final = re.compile(r"[\s_-]+")
_HEAD: Final = 1 << 16
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
# What bytes that are no UTF-8 are decoded to.
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_WHOLE: Final = re.compile(r"(-?[0-9]+)(?:\.0*)?")


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a table.

    Attributes:
        number: of the record in the file, from 1; blank lines are none.
        line: the first of its physical lines in the file, from 1.
        last: the last of them.
        cells: by column, under the name that the column has today; as they stand.
    """

    number: int
    line: int
    last: int
    cells: Mapping[str, str]

    def text(self, column: str) -> str:
        """Return a cell, cleaned; empty if it is, if it says so in a word, or if there is no such column."""
        text = clean(self.cells.get(column, ""))
        return "" if says_nothing(text) else text

    def row(self) -> Row:
        """Return the cleaned cells, to be read field by field; a cell that is empty is a missing one."""
        return Row({name: text for name in self.cells if (text := self.text(name))})


@dataclass(frozen=True, slots=True)
class Table:
    """A CSV file.

    Attributes:
        columns: with a name, in the file's order, under the name that they have today.
        renamed: names of today -> names in the file, where they differ.
        records: those that have a cell for each column.
        faults: what is wrong with the others.
        spans: first line -> last line of all records, of the others too.
    """

    path: str
    columns: tuple[str, ...]
    renamed: Mapping[str, str]
    records: tuple[Record, ...]
    faults: tuple[Fault, ...]
    spans: Mapping[int, int] = field(default_factory=dict)

    def read(self, parse: Callable[[Row, Record], T], called: Callable[[Record], str]) -> Read[T]:
        """Return what the records hold, with a fault for each that cannot be read.

        `parse`: makes a value of cleaned cells, and of the record as it stands; raises `FieldError`.
        """
        rows: list[T] = []
        lines: list[int] = []
        faults = list(self.faults)
        for record in self.records:
            try:
                rows.append(parse(record.row(), record))
                lines.append(record.line)
            except FieldError as error:
                faults.append(Fault(self.path, called(record), record.line, "format", str(error)))
        return Read(tuple(rows), tuple(lines), tuple(sorted(faults, key=lambda fault: fault.line)))


def clean(text: str) -> str:
    r"""Clean a cell: ``\r\n`` to ``\n``, no-break space to blank, no outer blanks."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
    return (lines if lines.isascii() else lines.translate(_BLANKS)).strip()


def says_nothing(text: str) -> bool:
    """Return True if a cleaned cell holds nothing but a word for an empty one (`ABSENT`)."""
    return len(text) <= _LONGEST and text.casefold() in ABSENT


def spelled(name: str) -> str:
    """Return a name out of a list of names: in small letters, with ``_`` between its words."""
    return _BETWEEN.sub("_", name.strip().casefold())


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a kind of file.

    Attributes:
        known: names of today, in small letters, with ``_`` between words.
        needed: those without which a file is none.
        old: names that columns had -> names of today.
    """

    known: Sequence[str]
    needed: Sequence[str] = ()
    old: Mapping[str, str] = field(default_factory=dict)

    def today(self, header: Iterable[str]) -> dict[str, str]:
        """Return the names of a header that are known -> the names that the columns have today.

        One in other letters (``USER INTENT``) is known where no column has that name as it is known.
        """
        names = {**{name: name for name in self.known}, **self.old}
        written = tuple(header)
        exact = {name: names[name] for name in written if name in names}
        others = {name: names[spelled(name)] for name in written if spelled(name) in names}
        return exact | {name: today for name, today in others.items() if today not in exact.values()}

    def hold(self, header: Iterable[str], *names: str) -> bool:
        """Return True if a header has columns of these names."""
        return set(names) <= set(self.today(header).values())

    def check_row(self, row: Row) -> None:
        """Raise an error if a cell that is needed is empty.

        Raises:
            FieldError: names the column.
        """
        for name in self.needed:
            if not row.get(name):
                raise row.wrong(name, "is empty")


def header_of(path: str | Path) -> tuple[str, ...]:
    """Return the names of a file's columns as written; empty if it cannot be read or has none."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return ()
    text = head.decode("utf-16" if head.startswith(_UTF16) else "utf-8-sig", "replace")
    try:
        names: list[str] = next((row for row in csv.reader(_split(text)) if row), [])
    except csv.Error:
        return ()
    return tuple(name.strip() for name in names)


def other_separator(header: Sequence[str]) -> str:
    """Return the marks, other than commas, that stand between the names of a header; empty if none do."""
    return next((name for name, mark in SEPARATORS.items() if len(header) == 1 and mark in header[0]), "")


def read_table(path: str | Path, known: Columns | None = None) -> Table:
    """Read a CSV file: double quotes, UTF-8 with or without BOM, line breaks inside of quoted cells.

    Raises:
        InputError: if the file cannot be read, a column stands there twice, or one that is needed is missing.
    """
    names = {} if known is None else known.today(header_of(path))
    # Lines, not a file: csv would count a lone carriage return in a cell as a line.
    reader = csv.reader(_lines(Path(path)), strict=True)
    header: list[str] | None = None
    columns: dict[str, int] = {}
    renamed: dict[str, str] = {}
    records: list[Record] = []
    faults: list[Fault] = []
    spans: dict[int, int] = {}
    number = 0
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            number += header is not None
            spans[line] = reader.line_num
            faults.append(Fault(str(path), "", line, "format", f"is not CSV: {error}"))
            continue
        if not cells:
            continue
        if header is None:
            header = [cell.strip() for cell in cells]
            columns, renamed = _columns(path, header, names)
            continue
        number += 1
        spans[line] = reader.line_num
        if len(cells) != len(header):
            message = f"has {len(cells)} cells, where the header has {len(header)}"
            faults.append(Fault(str(path), "", line, "format", message))
            continue
        values = {name: cells[place] for name, place in columns.items()}
        if foreign := next((name for name, text in values.items() if _SURROGATE.search(text)), ""):
            message = f"{foreign} is not UTF-8; save the file as CSV UTF-8"
            faults.append(Fault(str(path), "", line, "format", message))
            continue
        records.append(Record(number, line, reader.line_num, values))
    missing = [name for name in (known.needed if known else ()) if name not in columns]
    if missing and (marks := other_separator(header or ())):
        raise InputError(f"{path}: {marks} stand between its columns; save it as CSV with commas")
    if missing:
        raise InputError(
            f"{path}: no column {', '.join(missing)}; the columns are {', '.join(columns) or 'none'}"
        )
    if not records and not faults:
        faults.append(Fault(str(path), "", 0, "format", "holds no rows"))
    return Table(str(path), tuple(columns), renamed, tuple(records), tuple(faults), spans)


def read_list(row: Row, name: str) -> tuple[str, ...]:
    """Return the parts between commas, stripped, none empty, each once; none if the cell is empty."""
    return tuple(dict.fromkeys(parts(str(row.get(name, "")))))


def parts(text: str) -> tuple[str, ...]:
    """Return the parts of a text between commas, stripped, none empty."""
    return tuple(part for piece in text.split(",") if (part := piece.strip()))


def read_whole(row: Row, name: str) -> int | None:
    """Return a whole number, which may be written as a float; None if the cell is empty.

    Raises:
        FieldError: if it is something else.
    """
    text = row.get(name)
    if text is None:
        return None
    match = _WHOLE.fullmatch(text)
    if match is None:
        raise row.wrong(name, f"is {text!r}, not a whole number")
    return int(match[1])


def read_key(row: Row, name: str) -> str:
    """Return an id; ``57.0`` is 57.

    Raises:
        FieldError: if the cell is empty.
    """
    text = row.text(name)
    match = _WHOLE.fullmatch(text)
    return match[1] if match else text


def _lines(path: Path) -> list[str]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    if content.startswith(_UTF16):
        raise InputError(f"{path}: is UTF-16, not UTF-8; save it as CSV UTF-8")
    return _split(content.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape"))


def _split(text: str) -> list[str]:
    """Return the lines of a text, each with its end."""
    return [f"{line}\n" for line in text.removesuffix("\n").split("\n")] if text else []


def _columns(
    path: str | Path, header: list[str], names: Mapping[str, str]
) -> tuple[dict[str, int], dict[str, str]]:
    """Return where each column with a name stands, and which of them have an old name."""
    columns: dict[str, int] = {}
    renamed: dict[str, str] = {}
    for place, written in enumerate(header):
        name = names.get(written, written)
        if not written or written.startswith("Unnamed:"):
            continue
        if name in columns:
            former = renamed.get(name, name)
            both = f"{written!r} twice" if former == written else f"{former!r} and {written!r}, which are one"
            raise InputError(f"{path}: the header has the column {both}; leave one of them out")
        columns[name] = place
        if name != written:
            renamed[name] = written
    return columns, renamed
