"""A benchmark's kinds of files, recognised by their columns or by the fields of their first records."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from simulator.benchmark import Checker
from simulator.errors import InputError
from simulator.jsonlines import CODE, Duplicates, Read, Row, write_lines
from simulator.tables.cells import SEPARATORS, header_of, other_separator
from simulator.tables.records import first_objects, read_records
from trees.faults import Fault

if TYPE_CHECKING:
    from simulator.reporting import Problems

RowT = TypeVar("RowT")
SUFFIXES: Final = (".csv", ".json", ".jsonl")
# Enough that good rows outnumber bad ones.
_ROWS: Final = 200
_HEAD: Final = 1 << 20
_START: Final = 64
_BOM: Final = b"\xef\xbb\xbf"
# First bytes -> what such a file is, and the way out.
_NOT_TEXT: Final = {
    b"\x1f\x8b": "is compressed (gzip); unpack it first",
    b"PK\x03\x04": "is a zip archive or a spreadsheet; unpack it, or save it as CSV UTF-8",
    b"\xff\xfe": "is UTF-16, not UTF-8; save it as UTF-8",
    b"\xfe\xff": "is UTF-16, not UTF-8; save it as UTF-8",
}


class Contents(Protocol):
    """The contents of a file: its good rows, and the faults of the others."""

    @property
    def rows(self) -> Sequence[Any]:
        """The good rows, in the file's order."""

    @property
    def lines(self) -> Sequence[int]:
        """The line of each good row, from 1."""

    @property
    def faults(self) -> tuple[Fault, ...]:
        """One fault for each other row."""


@dataclass(frozen=True, kw_only=True)
class TableSpec(Generic[RowT]):
    """A kind of file.

    Attributes:
        title: name of the kind in messages.
        matches: returns True if an object is a row of such a file; CSV files pass their columns as keys.
        csv: whether the file is CSV, not JSON.
        parse: returns the row of an object; raises `FieldError`. Exactly one of `parse` and `reader` is set.
        key: returns a row's id and the rest of its key; None if rows may be repeated.
        id: the field that names a row in messages.
        repeat_message: message on a repeated row, with ``{line}`` for the line of the first.
        reader: reads a file of another structure; called with the path, and with `Duplicates` if `repeats`.
        repeats: whether repeated rows can be kept (``--duplicates keep``).
        line: returns a row as a line of JSON, as published; None if such files are not written.
    """

    name: str
    title: str
    matches: Callable[[Mapping[str, Any]], bool]
    csv: bool = False
    parse: Callable[[Row], RowT] | None = None
    key: Callable[[RowT], tuple[str, Hashable]] | None = None
    id: str = "id"
    repeat_message: str = "repeats line {line}"
    code: str = CODE
    reader: Callable[..., Any] | None = None
    repeats: bool = True
    line: Callable[[RowT], str] | None = None

    def write(self, path: str | Path, rows: Iterable[RowT]) -> None:
        """Write a file in the published format, atomically; equal rows give equal bytes.

        Raises:
            InputError: if it cannot be written.
        """
        assert self.line is not None
        write_lines(path, map(self.line, rows))

    def read(self, path: str | Path, duplicates: Duplicates = "refuse") -> Read[RowT]:
        """Return the good rows of a file of this kind, and a fault for each of the others.

        Raises:
            InputError: if it cannot be read at all.
        """
        if not self.repeats:
            duplicates = "refuse"
        if self.reader is not None:
            contents: Read[RowT] = self.reader(path, duplicates) if self.repeats else self.reader(path)
            return contents
        assert self.parse is not None
        options: dict[str, Any] = {"name": self.id, "code": self.code, "message": self.repeat_message}
        return read_records(path, self.parse, self.key, duplicates=duplicates, **options)


@dataclass(frozen=True, slots=True)
class Has:
    """A test for `TableSpec.matches` that an object has all of some fields."""

    fields: frozenset[str]

    def __call__(self, row: Mapping[str, Any]) -> bool:
        """Return True if an object has all the fields."""
        return row.keys() >= self.fields

    def missing(self, rows: Iterable[Mapping[str, Any]]) -> frozenset[str]:
        """Return the fields that the best matching row lacks."""
        return min((self.fields - row.keys() for row in rows), key=len, default=self.fields)


def has(*fields: str) -> Has:
    """Return a test for `TableSpec.matches` that an object has all of these fields."""
    return Has(frozenset(fields))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """All kinds of files of a benchmark.

    Attributes:
        title: name of the files in the output of ``askback check``.
        specs: the kinds; a row is of the first kind that fits.
        main: the kind whose files in one folder belong together.
        looks_main: returns True if a damaged object or header that fits no kind looks like `main`; such a
            file is read if it is named explicitly.
        read_main: reads a file of `main` to check it; by default `TableSpec.read`.
        check_main: returns the faults of files that belong together, given their contents by path.
        check_other: returns the faults of a file of another kind.
    """

    title: str
    specs: tuple[TableSpec[Any], ...]
    main: TableSpec[Any]
    looks_main: Callable[[Mapping[str, Any]], bool]
    check_main: Callable[[Mapping[Path, Any]], Sequence[Fault]]
    read_main: Callable[[Path], Any] | None = None
    check_other: Callable[[Path, TableSpec[Any]], Sequence[Fault]] = lambda path, spec: spec.read(path).faults

    def kind_of(self, path: Path) -> TableSpec[Any] | None:
        """Return the kind of most of a file's first rows; None if it fits no kind, or cannot be read.

        A single row is not enough: one that lacks a field may look like another kind.
        """
        specs = [spec for spec in self.specs if spec.csv == is_csv(path)]
        fitting = (next((spec.name for spec in specs if spec.matches(row)), "") for row in head_of(path))
        rows = Counter(fitting)
        best = max(self.specs, key=lambda spec: rows[spec.name])
        return best if rows[best.name] else None

    def why_unrecognized(self, path: Path, owner: str) -> str:
        """Return why a file is of no kind: it is unreadable, or lacks some fields of the closest kind."""
        if reason := why_unreadable(path) or self._why_not_main(path):
            return reason
        rows = [] if is_csv(path) else head_of(path)
        lacking = {
            spec.title: (missing, spec.matches.fields)
            for spec in self.specs
            if isinstance(spec.matches, Has) and not spec.csv and (missing := spec.matches.missing(rows))
        }
        near = {
            title: missing for title, (missing, fields) in lacking.items() if 2 * len(missing) < len(fields)
        }
        if near:
            title = min(near, key=lambda title: (len(near[title]), -len(lacking[title][1])))
            lacks = " and ".join(f"`{field}`" for field in sorted(near[title]))
            return f"is not one of {owner}'s files; it is closest to {title}, but lacks {lacks}"
        kinds = ", ".join(dict.fromkeys(spec.title for spec in self.specs if spec.csv == is_csv(path)))
        return f"is not one of {owner}'s files; its fields fit none of these kinds: {kinds}"

    def _why_not_main(self, path: Path) -> str:
        """Return why a file that looks like `main` cannot be read as that; empty if it does not look so."""
        try:
            faults = self.main.read(path).faults if self.main_files(path) else ()
        except InputError as error:
            return str(error).removeprefix(f"{path}: ")
        lines = [f"line {fault.line}: {fault.message}" for fault in faults]
        return f"has no good row of {self.main.title}: {lines[0]}" if lines else ""

    def files_of(self, path: Path) -> dict[Path, TableSpec[Any]]:
        """Return the recognised files below a folder, sorted, with their kinds; or the file itself."""
        kinds = ((file, self.kind_of(file)) for file in files_below(path))
        return {file: kind for file, kind in kinds if kind is not None}

    def main_files(self, path: Path) -> tuple[Path, ...]:
        """Return the files of `main` below a folder; or the file itself, even if it only looks like one."""
        kinds = self.files_of(path)
        if not kinds and path.is_file() and self.main.csv == is_csv(path):
            return (path,) if any(map(self.looks_main, head_of(path))) else ()
        return tuple(file for file, kind in kinds.items() if kind is self.main)

    def find(self, path: Path) -> tuple[Path, ...]:
        """Return the recognised files below a folder; or the file itself, if it looks like `main`."""
        return tuple(self.files_of(path)) or self.main_files(path)

    def read_all(
        self, paths: Iterable[Path], problems: Problems, duplicates: Duplicates = "refuse", *, owner: str
    ) -> dict[str, dict[Path, Any]]:
        """Return the contents of files and of all files in folders, by kind and path; record problems."""
        contents_by_kind: dict[str, dict[Path, Any]] = {}
        for file, kind in self._kinds(paths, problems, owner):
            try:
                contents = kind.read(file, duplicates)
            except InputError as error:
                problems.unreadable.append(str(error))
                continue
            problems.faults += contents.faults
            if not contents.rows:
                problems.unreadable.append(f"{file}: no row can be read")
            contents_by_kind.setdefault(kind.name, {})[file] = contents
        return contents_by_kind

    def _kinds(
        self, paths: Iterable[Path], problems: Problems, owner: str
    ) -> Iterator[tuple[Path, TableSpec[Any]]]:
        """Yield each recognised file once, with its kind; record the others in `problems`."""
        seen: set[Path] = set()
        for path in dict.fromkeys(paths):
            files, recognised = files_below(path), 0
            if not path.exists():
                problems.unreadable.append(f"{path}: there is no such file or folder")
                continue
            for file in files:
                kind, named = self.kind_of(file), file == path
                recognised += kind is not None
                if kind is not None and file not in seen:
                    yield file, kind
                elif kind is None and (reason := why_unreadable(file)) and (named or _may_be_data(file)):
                    problems.unreadable.append(f"{file}: {reason}")
                elif kind is None and named:
                    problems.unreadable.append(f"{file}: {self.why_unrecognized(file, owner)}")
                elif kind is None and _may_be_data(file):
                    problems.passed_over.append(file)
                seen.add(file)
            if path.is_dir() and not recognised:
                problems.unreadable.append(f"{path}: contains none of {owner}'s files")

    def check(self, files: Sequence[Path], *, one_set: bool = False) -> tuple[Fault, ...]:
        """Return all faults of files.

        An error is a row that cannot be read or that contradicts another file; a warning is an oddity.

        `one_set`: whether all files of `main` belong together; by default only those in one folder do.
        """
        faults: list[Fault] = []
        sets: defaultdict[Path, dict[Path, Any]] = defaultdict(dict)
        for file in files:
            kind = self.kind_of(file) or self.main
            try:
                if kind is self.main:
                    sets[Path() if one_set else file.parent][file] = (self.read_main or kind.read)(file)
                else:
                    faults += self.check_other(file, kind)
            except InputError as error:
                faults.append(Fault(str(file), "", 0, "format", str(error).removeprefix(f"{file}: ")))
        return (*faults, *(fault for files_read in sets.values() for fault in self.check_main(files_read)))

    def checker(self) -> Checker:
        """Return the checker of these files for `askback check`."""
        return Checker(self.title, self.find, self.check)


def _may_be_data(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES


def why_unreadable(path: Path) -> str:
    """Return why a file cannot be read at all, as any kind; empty if it may be readable."""
    try:
        with path.open("rb") as file:
            start = file.read(_START)
        if not start:
            return "is empty"
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if what := next((what for mark, what in _NOT_TEXT.items() if start.startswith(mark)), ""):
        return what
    if start.removeprefix(_BOM).lstrip().lower().startswith((b"<!doctype html", b"<html")):
        return "is a web page (HTML), perhaps of a download; save the file itself"
    separator = other_separator(header_of(path)) if is_csv(path) else ""
    return f"columns are separated by {separator}; save it as CSV with commas" if separator else ""


def is_csv(path: Path) -> bool:
    """Return True if a file's name ends in ``.csv``."""
    return path.suffix.lower() == ".csv"


def head_of(path: Path) -> tuple[Mapping[str, Any], ...]:
    """Return the first objects of a JSON file, or a CSV file's columns as keys; empty if it is neither."""
    if is_csv(path):
        header = header_of(path)
        if mark := SEPARATORS.get(other_separator(header)):  # recognised here; readers refuse it
            header = tuple(name.strip(' "') for name in header[0].split(mark))
        return (dict.fromkeys(header, ""),) if header else ()
    if path.suffix.lower() not in SUFFIXES:
        return ()
    try:
        with path.open("rb") as file:
            # Up to the end of a line, since a first row may be longer than the head.
            text = (file.read(_HEAD) + file.readline()).removeprefix(_BOM).decode("utf-8", "ignore").strip()
    except OSError:
        return ()
    return tuple(islice(first_objects(text), _ROWS))


def files_below(path: Path) -> tuple[Path, ...]:
    """Return the files below a folder, sorted, without hidden ones; or the file itself."""
    if path.is_file():
        return (path,)
    below = (file for file in path.rglob("*") if not _is_hidden(file.relative_to(path)))
    return tuple(sorted(file for file in below if file.is_file()))


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in path.parts)
