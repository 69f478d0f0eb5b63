"""CSV files: records with their line numbers and their cells, raw and cleaned."""

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
"""Message on a row with the id of an earlier one (`simulator.jsonlines`)."""
NO_BREAK: Final = "\u00a0\u202f"
_BLANKS: Final = str.maketrans(dict.fromkeys(NO_BREAK, " "))
ABSENT: Final = ("nan", "<na>", "#n/a", "n/a", "na", "null", "none")
"""Words that programs write into an empty cell, in lower case; such a cell counts as empty."""
SEPARATORS: Final[Mapping[str, str]] = {"semicolons": ";", "tabs": "\t"}
"""Column separators, other than commas, that spreadsheets use."""
_SEP: Final = re.compile(r"\A\"?sep=.\"?(?=\r?\n)")
_LONGEST: Final = max(map(len, ABSENT))
_BETWEEN: Final = re.compile(r"[\s_-]+")
_HEAD: Final = 1 << 16
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
# Bytes that are not UTF-8 are decoded to these.
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_WHOLE: Final = re.compile(r"(-?[0-9]+)(?:\.0*)?")


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a table.

    Attributes:
        number: position among the file's records, from 1; blank lines do not count.
        line: its first physical line in the file, from 1.
        last: its last physical line.
        cells: column -> raw cell; columns have their current names.
    """

    number: int
    line: int
    last: int
    cells: Mapping[str, str]

    def text(self, column: str) -> str:
        """Return a cleaned cell; empty for a missing column, and for a word of `ABSENT`."""
        text = clean_cell(self.cells.get(column, ""))
        return "" if is_absent(text) else text

    def row(self) -> Row:
        """Return the cleaned cells as a row; empty cells are left out."""
        return Row({name: text for name in self.cells if (text := self.text(name))})


@dataclass(frozen=True, slots=True)
class Table:
    """A CSV file.

    Attributes:
        columns: current names of the named columns, in the file's order.
        renamed: current name -> name in the file, where they differ.
        records: the records with a cell for each column.
        spans: first line -> last line of every record, faulty ones included.
    """

    path: str
    columns: tuple[str, ...]
    renamed: Mapping[str, str]
    records: tuple[Record, ...]
    faults: tuple[Fault, ...]
    spans: Mapping[int, int] = field(default_factory=dict)

    def read(self, parse: Callable[[Row, Record], T], called: Callable[[Record], str]) -> Read[T]:
        """Return the parsed records, with a fault for each that cannot be parsed.

        `parse`: returns a value, given the cleaned cells and the record; raises `FieldError`. `called`:
        returns the name of a record for messages.
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


def clean_cell(text: str) -> str:
    r"""Return a cell with ``\n`` as line break, spaces for no-break spaces, and no outer whitespace."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
    return (lines if lines.isascii() else lines.translate(_BLANKS)).strip()


def is_absent(text: str) -> bool:
    """Return True if a cleaned cell is a word for an empty one (`ABSENT`)."""
    return len(text) <= _LONGEST and text.casefold() in ABSENT


def snake_case(name: str) -> str:
    """Return a name in lower case, with ``_`` between its words."""
    return _BETWEEN.sub("_", name.strip().casefold())


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a kind of file.

    Attributes:
        known: current names, in lower case, with ``_`` between words.
        needed: the columns that a file of this kind must have.
        old: former name -> current name.
    """

    known: Sequence[str]
    needed: Sequence[str] = ()
    old: Mapping[str, str] = field(default_factory=dict)

    def current_names(self, header: Iterable[str]) -> dict[str, str]:
        """Return the known names in a header -> the current names of these columns.

        A name in another spelling (``USER INTENT``) is known unless another column has the exact name.
        """
        names = {**{name: name for name in self.known}, **self.old}
        titles = tuple(header)
        exact = {name: names[name] for name in titles if name in names}
        others = {name: names[snake_case(name)] for name in titles if snake_case(name) in names}
        return exact | {name: current for name, current in others.items() if current not in exact.values()}

    def has(self, header: Iterable[str], *names: str) -> bool:
        """Return True if a header has columns of these names."""
        return set(names) <= set(self.current_names(header).values())

    def check_row(self, row: Row) -> None:
        """Raise an error if a needed cell is empty.

        Raises:
            FieldError: with the name of the column.
        """
        for name in self.needed:
            if not row.get(name):
                raise row.error(name, "is empty")


def header_of(path: str | Path) -> tuple[str, ...]:
    """Return the column names in a file's header; empty if the file cannot be read or has no header."""
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
    """Return the key in `SEPARATORS` of a header's separator; empty if it is separated by commas."""
    return next((name for name, mark in SEPARATORS.items() if len(header) == 1 and mark in header[0]), "")


def read_table(path: str | Path, known: Columns | None = None) -> Table:
    """Read a CSV file: double quotes, UTF-8 with or without BOM, line breaks allowed in quoted cells.

    Raises:
        InputError: if the file cannot be read, has a column twice, or lacks a needed column.
    """
    names = {} if known is None else known.current_names(header_of(path))
    # Lines, not the file: csv would count a lone carriage return in a cell as a line.
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
            message = f"has {len(cells)} cells, but the header has {len(header)}"
            faults.append(Fault(str(path), "", line, "format", message))
            continue
        values = {name: cells[place] for name, place in columns.items()}
        if column := next((name for name, text in values.items() if _SURROGATE.search(text)), ""):
            message = f"{column} is not UTF-8; save the file as CSV UTF-8"
            faults.append(Fault(str(path), "", line, "format", message))
            continue
        records.append(Record(number, line, reader.line_num, values))
    missing = [name for name in (known.needed if known else ()) if name not in columns]
    if missing and (separator := other_separator(header or ())):
        raise InputError(f"{path}: columns are separated by {separator}; save it as CSV with commas")
    if missing:
        present = ", ".join(columns) or "none"
        raise InputError(f"{path}: no column {', '.join(missing)}; the columns are {present}")
    if not records and not faults:
        faults.append(Fault(str(path), "", 0, "format", "holds no rows"))
    return Table(str(path), tuple(columns), renamed, tuple(records), tuple(faults), spans)


def read_list(row: Row, name: str) -> tuple[str, ...]:
    """Return the distinct parts of a cell (`split_parts`); nothing if it is empty."""
    return tuple(dict.fromkeys(split_parts(str(row.get(name, "")))))


def split_parts(text: str) -> tuple[str, ...]:
    """Return the comma-separated parts of a text, stripped, without empty ones."""
    return tuple(part for piece in text.split(",") if (part := piece.strip()))


def read_integer(row: Row, name: str) -> int | None:
    """Return a whole number, which may be written as a float (``57.0``); None if the cell is empty.

    Raises:
        FieldError: if the cell is not a whole number.
    """
    text = row.get(name)
    if text is None:
        return None
    match = _WHOLE.fullmatch(text)
    if match is None:
        raise row.error(name, f"is {text!r}, not a whole number")
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
    """Return the lines of a text, each with its end; Excel's first line that names the separator is empty."""
    text = _SEP.sub("", text)
    return [f"{line}\n" for line in text.removesuffix("\n").split("\n")] if text else []


def _columns(
    path: str | Path, header: list[str], names: Mapping[str, str]
) -> tuple[dict[str, int], dict[str, str]]:
    """Return the position of each named column by its current name, and the `Table.renamed` ones."""
    columns: dict[str, int] = {}
    renamed: dict[str, str] = {}
    for place, title in enumerate(header):
        name = names.get(title, title)
        if not title or title.startswith("Unnamed:"):
            continue
        if name in columns:
            first = renamed.get(name, name)
            both = f"{title!r} twice" if first == title else f"{first!r} and {title!r}, which are the same"
            raise InputError(f"{path}: the header has the column {both}; leave one of them out")
        columns[name] = place
        if name != title:
            renamed[name] = title
    return columns, renamed
