"""JSON lines that people bring: every row that is good is kept, every other one is a fault with its line.

A reader of a format gives a function from a `Row` to its own value; the row's accessors say which field is
wrong and what it should be.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, NamedTuple, TypeVar

from simulator.errors import InputError
from simulator.fields import shortened
from simulator.whole import write_whole
from trees.faults import Fault, json_problem

T = TypeVar("T")
_MISSING: Final = object()


def finite(value: Any) -> float | None:
    """Return a value as a number; None if it is true or false, not finite, or larger than numbers can be."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


class FieldError(Exception):
    """A row cannot be read; the message names the field and what it should be."""


class Read(NamedTuple, Generic[T]):
    """The contents of a file.

    Attributes:
        rows: the good ones, in the file's order.
        lines: the line of each, from 1.
        faults: what is wrong with the others.
    """

    rows: tuple[T, ...]
    lines: tuple[int, ...]
    faults: tuple[Fault, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One object of a file, read field by field.

    Attributes:
        where: stands before the names of its fields in messages (``disambiguations[1].``).
    """

    data: Mapping[str, Any]
    where: str = ""

    def text(self, name: str, *, empty: bool = False) -> str:
        """Return a text field; blank ones are refused unless `empty`."""
        value = self.get(name, _MISSING)
        if not isinstance(value, str):
            raise self.wrong(name, self._describe_value(value, "a text"))
        if not value.strip() and not empty:
            raise self.wrong(name, "is empty")
        return value

    def key(self, name: str) -> str:
        """Return an id, a text also where the file has a number."""
        value = self.get(name, _MISSING)
        if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
            raise self.wrong(name, self._describe_value(value, "a text or a whole number"))
        return str(value)

    def one_of(self, name: str, allowed: tuple[T, ...]) -> T:
        """Return one of some values."""
        value = self.get(name, _MISSING)
        for choice in allowed:
            if value == choice and type(value) is type(choice):
                return choice
        raise self.wrong(name, self._describe_value(value, f"one of {', '.join(map(str, allowed))}"))

    def parsed(self, name: str, parse: Callable[[Any], T], value: Any = _MISSING) -> T:
        """Return a field (or `value` in it) read by a function that raises `InputError` or `ValueError`."""
        raw = self.get(name, _MISSING) if value is _MISSING else value
        if raw is _MISSING:
            raise self.wrong(name, "is missing")
        try:
            return parse(raw)
        except (InputError, ValueError) as error:
            raise self.wrong(name, f": {error}") from error

    def get(self, name: str, default: Any = None) -> Any:
        """Return a field as it is."""
        return self.data.get(name, default)

    def wrong(self, name: str, problem: str) -> FieldError:
        """Return the error that says what is wrong with a field."""
        return FieldError(f"{self.where}{name}{'' if problem.startswith(':') else ' '}{problem}")

    @staticmethod
    def _describe_value(value: Any, kind: str) -> str:
        if value is _MISSING:
            return "is missing"
        return f"is {shortened(value)}, not {kind}"


def read_lines(path: str | Path, parse: Callable[[Row], T]) -> Read[T]:
    """Return the rows of a file of JSON lines.

    Raises:
        InputError: if the file cannot be read at all.
    """
    return read_rows(path, raw_lines(path), parse, name="id")


def read_rows(
    path: str | Path, entries: Iterable[tuple[int, Any]], parse: Callable[[Row], T], *, name: str
) -> Read[T]:
    """Return rows out of the objects of a file, each with its line; a text tells why there is none."""
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
        faults.append(Fault(str(path), "", 0, "format", "holds no rows"))
    return Read(tuple(rows), tuple(lines), tuple(faults))


def _row_id(value: Any, name: str) -> str:
    """Return a row's id; empty if it has none that could name it."""
    try:
        return Row(value).key(name) if isinstance(value, dict) else ""
    except FieldError:
        return ""


def raw_lines(path: str | Path) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Yield number and object of each line that is not blank; in place of an object what is wrong with it.

    Raises:
        InputError: if the file cannot be read at all.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    # Not splitlines: U+2028 may stand in a JSON string, and ends no line.
    for number, raw in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if raw.strip():
            try:
                yield number, _object(raw)
            except FieldError as error:
                yield number, str(error)


def write_lines(path: str | Path, lines: Iterable[str]) -> None:
    """Write lines of text; the file is there whole or not at all.

    Raises:
        InputError: if it cannot be written.
    """
    write_whole(path, (f"{line}\n" for line in lines))


def without_lines(path: str | Path, numbers: Collection[int]) -> bool:
    """Empty some lines of a file, counted from 1, so that the others keep their numbers.

    Returns:
        Whether anything is left.
    """
    lines = Path(path).read_bytes().split(b"\n")
    kept = [b"" if number in numbers else line for number, line in enumerate(lines, start=1)]
    Path(path).write_bytes(b"\n".join(kept))
    return any(line.strip() for line in kept)


def _object(raw: bytes) -> dict[str, Any]:
    try:
        value = json.loads(raw.decode("utf-8"), object_pairs_hook=_once_each)
        if b"\\u" in raw:
            # Half a character can be escaped in JSON, but never be written again.
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeDecodeError as error:
        raise FieldError(f"is not UTF-8 (byte {error.start + 1} of the line)") from error
    except UnicodeEncodeError as error:
        raise FieldError("holds half of a surrogate pair, which is no character") from error
    except (ValueError, RecursionError) as error:
        raise FieldError(json_problem(error, line=True)) from error
    if not isinstance(value, dict):
        raise FieldError("is not an object")
    return value


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in fields if names.count(name) > 1)
        raise FieldError(f"{twice} stands there twice")
    return fields
