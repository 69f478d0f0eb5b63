"""Readers of users' JSON files, mostly JSON lines: valid rows are kept, the others become faults by line.

The reader of a format is a function from a `Row` to a value, whose accessors report which field is wrong and
what it should be; or a `Codec` of a type: a dataclass with pydantic annotations (`simulator.fields`), or a
union of dataclasses distinguished by a field. Only outside data are validated, not values that Askback makes.

Duplicate rows would silently distort results, so every reader looks for them. By default the first row counts
and the others are faults; with ``keep`` all count, with warnings.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final, Generic, Literal, NamedTuple, Protocol, TypeVar

import typer
from pydantic import Field, TypeAdapter, ValidationError

from logs.rows import Item, content_hash
from simulator.errors import InputError
from simulator.fields import FieldFault, first_fault, shorten
from simulator.output_files import write_atomically
from trees.faults import Fault, json_problem

T = TypeVar("T")
_MISSING: Final = object()


def finite(value: Any) -> float | None:
    """Return a value as a float; None if it is not a number, not finite, or too large."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


class FieldError(Exception):
    """A row that cannot be read; the message names the field and what it should be."""


class Read(NamedTuple, Generic[T]):
    """The contents of a file.

    Attributes:
        rows: the valid rows, in the file's order.
        lines: the line of each row, from 1.
    """

    rows: tuple[T, ...]
    lines: tuple[int, ...]
    faults: tuple[Fault, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One object of a file, read field by field.

    Attributes:
        where: a prefix of field names in messages (``disambiguations[1].``).
    """

    data: Mapping[str, Any]
    where: str = ""

    def text(self, name: str, *, empty: bool = False) -> str:
        """Return a text field; blank ones are refused unless `empty`."""
        value = self.get(name, _MISSING)
        if not isinstance(value, str):
            raise self.error(name, self._describe_value(value, "a text"))
        if not value.strip() and not empty:
            raise self.error(name, "is empty")
        return value

    def key(self, name: str) -> str:
        """Return an id, as text even if the file has a number."""
        value = self.get(name, _MISSING)
        if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
            raise self.error(name, self._describe_value(value, "a text or a whole number"))
        return str(value)

    def one_of(self, name: str, allowed: tuple[T, ...]) -> T:
        """Return a field that must have one of the allowed values."""
        value = self.get(name, _MISSING)
        for choice in allowed:
            if value == choice and type(value) is type(choice):
                return choice
        raise self.error(name, self._describe_value(value, f"one of {', '.join(map(str, allowed))}"))

    def parse(self, name: str, parse: Callable[[Any], T], value: Any = _MISSING) -> T:
        """Return `parse` of a field (or its part `value`); it may raise `InputError` or `ValueError`."""
        raw = self.get(name, _MISSING) if value is _MISSING else value
        if raw is _MISSING:
            raise self.error(name, "is missing")
        try:
            return parse(raw)
        except (InputError, ValueError) as error:
            raise self.error(name, f": {error}") from error

    def get(self, name: str, default: Any = None) -> Any:
        """Return a field without checks."""
        return self.data.get(name, default)

    def error(self, name: str, problem: str) -> FieldError:
        """Return the error for a problem with a field."""
        return FieldError(f"{self.where}{name}{'' if problem.startswith(':') else ' '}{problem}")

    @staticmethod
    def _describe_value(value: Any, kind: str) -> str:
        if value is _MISSING:
            return "is missing"
        return f"is {shorten(value)}, not {kind}"


def read_lines(path: str | Path, parse: Callable[[Row], T]) -> Read[T]:
    """Return the rows of a file of JSON lines.

    Raises:
        InputError: if the file cannot be read at all.
    """
    return read_rows(path, raw_lines(path), parse, name="id")


def read_rows(
    path: str | Path, entries: Iterable[tuple[int, Any]], parse: Callable[[Row], T], *, name: str
) -> Read[T]:
    """Parse the objects of a file, given with their lines; an entry that is a text is a fault."""
    rows: list[T] = []
    lines: list[int] = []
    faults: list[Fault] = []
    for line, value in entries:
        try:
            if not isinstance(value, dict):
                raise FieldError(str(value) or "is not an object")
            rows.append(parse(Row(value)))
            lines.append(line)
        except FieldError as error:
            faults.append(Fault(str(path), _row_id(value, name), line, "format", str(error)))
    if not rows and not faults:
        faults.append(Fault(str(path), "", 0, "format", "has no rows"))
    return Read(tuple(rows), tuple(lines), tuple(faults))


def _row_id(value: Any, name: str) -> str:
    """Return a row's id; empty if it has no usable id."""
    try:
        return Row(value).key(name) if isinstance(value, dict) else ""
    except FieldError:
        return ""


def raw_lines(path: str | Path) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Yield number and object of each non-blank line; a text in place of the object describes a fault.

    Raises:
        InputError: if the file cannot be read at all.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    # Not splitlines: it would also split at U+2028, which JSON strings may contain.
    for number, raw in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if raw.strip():
            try:
                yield number, _object(raw)
            except FieldError as error:
                yield number, str(error)


def write_lines(path: str | Path, lines: Iterable[str]) -> None:
    """Write lines of text atomically.

    Raises:
        InputError: if it cannot be written.
    """
    write_atomically(path, (f"{line}\n" for line in lines))


def without_lines(path: str | Path, numbers: Collection[int]) -> bool:
    """Blank out lines of a file, counted from 1, so that the others keep their numbers.

    Returns:
        True if any line is left.
    """
    lines = Path(path).read_bytes().split(b"\n")
    kept = [b"" if number in numbers else line for number, line in enumerate(lines, start=1)]
    Path(path).write_bytes(b"\n".join(kept))
    return any(line.strip() for line in kept)


def _object(raw: bytes) -> dict[str, Any]:
    try:
        value = json.loads(raw.decode("utf-8"), object_pairs_hook=_unique_keys)
        if b"\\u" in raw:
            # JSON can escape half of a surrogate pair, which cannot be written as UTF-8.
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeDecodeError as error:
        raise FieldError(f"is not UTF-8 (byte {error.start + 1} of the line)") from error
    except UnicodeEncodeError as error:
        raise FieldError("contains half of a surrogate pair, which is not a character") from error
    except (ValueError, RecursionError) as error:
        raise FieldError(json_problem(error, line=True)) from error
    if not isinstance(value, dict):
        raise FieldError("is not an object")
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in fields if names.count(name) > 1)
        raise FieldError(f"{twice} occurs twice")
    return fields


# ---- duplicate rows


Duplicates = Literal["refuse", "keep"]
CODE: Final = "duplicate"
RowT = TypeVar("RowT")

DuplicatesOption = Annotated[
    Duplicates,
    typer.Option(help="duplicate rows of a file: refuse (leave out the later ones, and report) or keep"),
]


def report_duplicates(
    path: str | Path,
    read: Read[RowT],
    key: Callable[[RowT], tuple[str, Hashable]],
    duplicates: Duplicates = "refuse",
    *,
    code: str = CODE,
    message: str = "repeats line {line}",
) -> Read[RowT]:
    """Report rows that have the key of an earlier row, and leave them out if duplicates are refused.

    `message`: the message of the faults, with ``{line}`` for the line of the first row.
    """
    first: dict[tuple[str, Hashable], int] = {}
    faults: list[Fault] = []
    kept: list[tuple[RowT, int]] = []
    # By position: the records of a JSON list may share one line.
    for position, (row, line) in enumerate(zip(read.rows, read.lines, strict=True)):
        row_key = key(row)
        earlier = first.setdefault(row_key, position)
        if earlier == position:
            kept.append((row, line))
            continue
        sentence = message.format(line=read.lines[earlier])
        if duplicates == "keep":
            kept.append((row, line))
            faults.append(Fault(str(path), row_key[0], line, CODE, f"{sentence}; counted again", "warning"))
        else:
            faults.append(Fault(str(path), row_key[0], line, code, sentence))
    rows, lines = tuple(row for row, _ in kept), tuple(line for _, line in kept)
    return Read(rows, lines, tuple(sorted([*read.faults, *faults], key=lambda fault: fault.line)))


def describe_duplicates(faults: Sequence[Fault]) -> str:
    """Return a sentence on the number of duplicate rows and how they were handled."""
    counted = not count_left_out(faults)
    return f"{len(faults)} {'row repeats' if len(faults) == 1 else 'rows repeat'} an earlier one: " + (
        "counted again" if counted else "left out (--duplicates keep counts them)"
    )


def count_left_out(faults: Iterable[Fault]) -> int:
    """Count the rows that were left out; duplicates that are kept do not count."""
    return sum(fault.severity == "error" for fault in faults)


# ---- codecs


ValueT = TypeVar("ValueT")


class Codec(Generic[ValueT]):
    """A reader and writer of values of a type as JSON objects.

    `kinds`: the field that distinguishes the members of a union.
    """

    def __init__(self, type: Any, *, kinds: str = "") -> None:
        self._type: Any = Annotated[type, Field(discriminator=kinds)] if kinds else type
        self._head = 1 if kinds else 0

    @cached_property
    def adapter(self) -> TypeAdapter[ValueT]:
        """Pydantic's adapter, built on first use since that takes milliseconds."""
        return TypeAdapter(self._type)

    def read(self, record: Any, place: str) -> ValueT:
        """Read a value from a JSON object.

        Raises:
            InputError: if a field is missing or wrong; names it.
        """
        return self._validate(record, lambda fault: InputError(f"{place}: {fault}"))

    def read_row(self, row: Row) -> ValueT:
        """Read a value from an object of a file.

        Raises:
            FieldError: names the field that is missing or wrong.
        """
        return self._validate(row.data, lambda fault: FieldError(f"{row.where}{fault}"))

    def read_field(self, row: Row, name: str) -> ValueT:
        """Read a value from a field of an object of a file.

        Raises:
            FieldError: if the field is missing or wrong.
        """
        if name not in row.data:
            raise row.error(name, "is missing")

        def wrong(fault: FieldFault) -> FieldError:
            return FieldError(f"{row.where}{fault._replace(path=(name, *fault.path))}")

        return self._validate(row.data[name], wrong)

    def _validate(self, value: Any, wrong: Callable[[FieldFault], Exception]) -> ValueT:
        try:
            return self.adapter.validate_python(value)
        except ValidationError as error:
            raise wrong(first_fault(error, value, head=self._head)) from error

    def write(self, value: ValueT) -> dict[str, Any]:
        """Return a value as a JSON object."""
        record: dict[str, Any] = self.adapter.dump_python(value, mode="json", by_alias=True)
        return record


class Named(Protocol):
    """An item with an id."""

    @property
    def id(self) -> str:
        """The item's id."""


NamedT = TypeVar("NamedT", bound=Named)


class ItemCodec(Codec[NamedT]):
    """A reader and writer of a benchmark's items as rows of the log, which contain the complete item."""

    def __init__(self, type: Any, benchmark: str, *, kinds: str = "") -> None:
        super().__init__(type, kinds=kinds)
        self._benchmark = benchmark

    def write(self, value: NamedT) -> dict[str, Any]:
        """Return an item as a JSON object, including its id."""
        return {"id": value.id, **super().write(value)}

    def row(self, item: NamedT) -> Item:
        """Return an item as a row of the log."""
        data = self.write(item)
        return Item(
            hash=content_hash(data),
            benchmark=self._benchmark,
            name=item.id,
            # The language of the texts, not of the pages around them.
            language=getattr(item, "language", "en"),
            data=data,
        )

    def read_item(self, row: Item) -> NamedT:
        """Return the item of a row.

        Raises:
            InputError: if the row contains something else.
        """
        return self.read(row.data, f"item {row.name}")


def without_none(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that are not None, so that the others get the type's defaults."""
    return {name: value for name, value in record.items() if value is not None}
