"""The kinds of files that a benchmark has, each told by its columns or the fields of its first records."""

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
# Enough for more good rows than bad ones.
_ROWS: Final = 200
_HEAD: Final = 1 << 20
_BOM: Final = b"\xef\xbb\xbf"


class Contents(Protocol):
    """The contents of a file: its good rows, and what is wrong with the others."""

    @property
    def rows(self) -> Sequence[Any]:
        """The good ones, in the file's order."""

    @property
    def lines(self) -> Sequence[int]:
        """The line of each, from 1."""

    @property
    def faults(self) -> tuple[Fault, ...]:
        """One for each of the others."""


@dataclass(frozen=True, kw_only=True)
class TableSpec(Generic[RowT]):
    """A kind of file.

    Attributes:
        is_of: whether an object is a row of such a file; of CSV files, whether these are the columns.
        csv: whether it is a table of cells, not JSON.
        parse: makes a row of an object; raises `FieldError`. Either this is given, or `reader`.
        key: a row's id, and what else tells it from others; None if rows may stand there twice.
        id: the field that names a row in messages.
        twice: the message on a row that is there twice, with ``{line}`` for where the first stands.
        reader: reads a file that is not plainly objects; takes what becomes of repeated rows if `repeats`.
        repeats: whether rows that are there twice may be kept (``--duplicates keep``).
        line: a row as a line of JSON as published; None if such files are not written.
    """

    name: str
    title: str
    is_of: Callable[[Mapping[str, Any]], bool]
    csv: bool = False
    parse: Callable[[Row], RowT] | None = None
    key: Callable[[RowT], tuple[str, Hashable]] | None = None
    id: str = "id"
    twice: str = "repeats line {line}"
    code: str = CODE
    reader: Callable[..., Any] | None = None
    repeats: bool = True
    line: Callable[[RowT], str] | None = None

    def write(self, path: str | Path, rows: Iterable[RowT]) -> None:
        """Write a file as published; the same rows give the same bytes, and it is there whole or not at all.

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
        kept: Duplicates = duplicates if self.repeats else "refuse"
        if self.reader is not None:
            contents: Read[RowT] = self.reader(path, kept) if self.repeats else self.reader(path)
            return contents
        assert self.parse is not None
        return read_records(
            path, self.parse, self.key, name=self.id, duplicates=kept, code=self.code, message=self.twice
        )


@dataclass(frozen=True, slots=True)
class Has:
    """A `TableSpec.is_of`: whether an object has some fields."""

    fields: frozenset[str]

    def __call__(self, row: Mapping[str, Any]) -> bool:
        """Return True if an object has them all."""
        return row.keys() >= self.fields

    def missing(self, rows: Iterable[Mapping[str, Any]]) -> frozenset[str]:
        """Return which of them the object lacks that has most of them."""
        return min((self.fields - row.keys() for row in rows), key=len, default=self.fields)


def has(*fields: str) -> Has:
    """Return a `TableSpec.is_of`: whether an object has some fields."""
    return Has(frozenset(fields))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """All files of a benchmark.

    Attributes:
        title: what they are, in words, for ``askback check``.
        specs: the kinds; a row is of the first that fits.
        main: the kind whose files in one folder belong together.
        looks_main: whether an object or header is so damaged that it is of no kind, but looks like `main`;
            such a file is read where it is named.
        read_main: how a file of `main` is read to be checked; by default as always.
        check_main: the faults of files that belong together, by path.
        check_other: the faults of a file of another kind.
    """

    title: str
    specs: tuple[TableSpec[Any], ...]
    main: TableSpec[Any]
    looks_main: Callable[[Mapping[str, Any]], bool]
    check_main: Callable[[Mapping[Path, Any]], Sequence[Fault]]
    read_main: Callable[[Path], Any] | None = None
    check_other: Callable[[Path, TableSpec[Any]], Sequence[Fault]] = lambda path, spec: spec.read(path).faults

    def kind_of(self, path: Path) -> TableSpec[Any] | None:
        """Return what most of a file's first rows are; None if it is of no kind, or cannot be read.

        A row that lacks a field may look like one of another kind, so that one row alone tells nothing.
        """
        specs = [spec for spec in self.specs if spec.csv == is_csv(path)]
        fitting = (next((spec.name for spec in specs if spec.is_of(row)), "") for row in head_of(path))
        rows = Counter(fitting)
        best = max(self.specs, key=lambda spec: rows[spec.name])
        return best if rows[best.name] else None

    def why_none(self, path: Path, owner: str) -> str:
        """Return why a file is of no kind: nothing of it can be read, or what it lacks of the nearest."""
        if reason := why_unreadable(path):
            return reason
        rows = [] if is_csv(path) else head_of(path)
        lacking = {
            spec.title: (missing, spec.is_of.fields)
            for spec in self.specs
            if isinstance(spec.is_of, Has) and not spec.csv and (missing := spec.is_of.missing(rows))
        }
        near = {
            title: missing for title, (missing, fields) in lacking.items() if 2 * len(missing) < len(fields)
        }
        if near:
            title = min(near, key=lambda title: (len(near[title]), -len(lacking[title][1])))
            lacks = " and ".join(f"`{field}`" for field in sorted(near[title]))
            return f"is none of {owner}'s files; it is most like {title}, but without {lacks}"
        kinds = ", ".join(dict.fromkeys(spec.title for spec in self.specs if spec.csv == is_csv(path)))
        return f"is none of {owner}'s files; looked for were, by their fields: {kinds}"

    def files_of(self, path: Path) -> dict[Path, TableSpec[Any]]:
        """Return the files of all kinds in a folder and below, sorted; a file itself if it is one."""
        kinds = ((file, self.kind_of(file)) for file in files_below(path))
        return {file: kind for file, kind in kinds if kind is not None}

    def main_files(self, path: Path) -> tuple[Path, ...]:
        """Return the files of `main`; a file that is named is one also if it only looks like one."""
        kinds = self.files_of(path)
        if not kinds and path.is_file() and self.main.csv == is_csv(path):
            looks = any(map(self.looks_main, head_of(path))) or other_separator(header_of(path))
            return (path,) if looks else ()
        return tuple(file for file, kind in kinds.items() if kind is self.main)

    def find(self, path: Path) -> tuple[Path, ...]:
        """Return the files of a folder and those below; a file itself if it is one, or looks like `main`."""
        return tuple(self.files_of(path)) or self.main_files(path)

    def read_all(
        self, paths: Iterable[Path], problems: Problems, duplicates: Duplicates = "refuse", *, owner: str
    ) -> dict[str, dict[Path, Any]]:
        """Return the contents of the files among paths and in folders, by kind and file."""
        held: dict[str, dict[Path, Any]] = {}
        for file, kind in self._kinds(paths, problems, owner):
            try:
                contents = kind.read(file, duplicates)
            except InputError as error:
                problems.unreadable.append(str(error))
                continue
            problems.faults += contents.faults
            if not contents.rows:
                problems.unreadable.append(f"{file}: no row of it can be read")
            held.setdefault(kind.name, {})[file] = contents
        return held

    def _kinds(
        self, paths: Iterable[Path], problems: Problems, owner: str
    ) -> Iterator[tuple[Path, TableSpec[Any]]]:
        """Yield each file among paths and in folders once, with its kind; tell of the others."""
        seen: set[Path] = set()
        for path in dict.fromkeys(paths):
            files, held = files_below(path), 0
            if not path.exists():
                problems.unreadable.append(f"{path}: there is no such file or folder")
                continue
            for file in files:
                kind, named = self.kind_of(file), file == path
                held += kind is not None
                if kind is not None and file not in seen:
                    yield file, kind
                elif kind is None and (reason := why_unreadable(file)) and (named or _may_be_data(file)):
                    problems.unreadable.append(f"{file}: {reason}")
                elif kind is None and named:
                    problems.unreadable.append(f"{file}: {self.why_none(file, owner)}")
                elif kind is None and _may_be_data(file):
                    problems.passed_over.append(file)
                seen.add(file)
            if path.is_dir() and not held:
                problems.unreadable.append(f"{path}: holds no file of {owner}'s")

    def check(self, files: Sequence[Path], *, one_set: bool = False) -> tuple[Fault, ...]:
        """Return all faults of such files.

        An error is a row that cannot be read or that contradicts another file; a warning deserves a look.

        `one_set`: whether all files of `main` belong together; by default those in one folder do.
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
        return (*faults, *(fault for held in sets.values() for fault in self.check_main(held)))

    def checker(self) -> Checker:
        """Return what `askback check` does with these files."""
        return Checker(self.title, self.find, self.check)


def _may_be_data(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES


def why_unreadable(path: Path) -> str:
    """Return why nothing of a file can be read, whatever it holds; empty if something may be."""
    try:
        with path.open("rb") as file:
            if not file.read(1):
                return "is empty"
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    marks = other_separator(header_of(path)) if is_csv(path) else ""
    return f"{marks} stand between its columns; save it as CSV with commas" if marks else ""


def is_csv(path: Path) -> bool:
    """Return True if a file is a table of cells by its name."""
    return path.suffix.lower() == ".csv"


def head_of(path: Path) -> tuple[Mapping[str, Any], ...]:
    """Return the first objects of a JSON file, or the columns of a CSV file; empty if it is neither."""
    if is_csv(path):
        header = header_of(path)
        if mark := SEPARATORS.get(other_separator(header)):  # is known, and refused by whoever reads it
            header = tuple(name.strip(' "') for name in header[0].split(mark))
        return (dict.fromkeys(header, ""),) if header else ()
    if path.suffix.lower() not in SUFFIXES:
        return ()
    try:
        with path.open("rb") as file:
            text = file.read(_HEAD).removeprefix(_BOM).decode("utf-8", "ignore").strip()
    except OSError:
        return ()
    return tuple(islice(first_objects(text), _ROWS))


def files_below(path: Path) -> tuple[Path, ...]:
    """Return the files in a folder and below, sorted, without hidden ones; a file itself if it is one."""
    if path.is_file():
        return (path,)
    below = (file for file in path.rglob("*") if not _is_hidden(file.relative_to(path)))
    return tuple(sorted(file for file in below if file.is_file()))


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in path.parts)
