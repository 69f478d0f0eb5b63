"""Files of records, a JSON list or JSON lines: each record with the line on which it begins."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from simulator.errors import InputError
from simulator.jsonlines import FieldError, Read, Row, raw_lines
from trees.faults import Fault

T = TypeVar("T")
_SPACE: Final = re.compile(r"[ \t\n\r]*")


class Entry(NamedTuple):
    """One record.

    Attributes:
        line: its first in the file, from 1; of what cannot be read the one where that shows.
        value: what it is.
        problem: why it has no value; empty if it has.
    """

    line: int
    value: Any
    problem: str = ""


def read_entries(path: str | Path) -> tuple[Entry, ...]:
    """The records of a file: JSON lines, or a JSON list.

    Of a list that breaks off or cannot be read on, the records before that are kept, and the last entry tells
    where it is.

    Raises:
        InputError: if the file cannot be read, or is no such list.
    """
    if is_lines(path):
        return tuple(
            Entry(line, None, value) if isinstance(value, str) else Entry(line, value)
            for line, value in raw_lines(path)
        )
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 (byte {error.start + 1})") from error
    place = _skip(text, 0)
    if text[place : place + 1] != "[":
        raise InputError(
            f"{path}: is not a JSON list: it does not begin with [; records belong in a list, or one in each "
            "line of a file that ends in .jsonl"
        )
    return tuple(_entries(text, _skip(text, place + 1)))


def is_lines(path: str | Path) -> bool:
    """Whether a file has a record in each line, whatever its suffix; a list of records begins with [.

    A file that ends in ``.json`` and is one object alone is neither.
    """
    try:
        with Path(path).open("rb") as file:
            lines = (line.removeprefix(b"\xef\xbb\xbf").strip() for line in file)
            first, second = islice(chain(filter(None, lines), (b"", b"")), 2)
    except OSError:
        return Path(path).suffix.lower() == ".jsonl"
    if Path(path).suffix.lower() == ".jsonl":
        return not first.startswith(b"[")
    return bool(second) and _is_object(first)


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def read_records(
    path: str | Path, parse: Callable[[Row], T], key: Callable[[T], str], *, name: str
) -> Read[T]:
    """The good records of a file; every other one is a fault, and so is a repeated one.

    Args:
        path: the file.
        parse: makes a value of a record; raises `FieldError`.
        key: what names a value; no two of a file have the same.
        name: the field in which it stands.

    Raises:
        InputError: if the file cannot be read at all.
    """
    good: dict[str, tuple[T, int]] = {}
    faults: list[Fault] = []
    for line, value, problem in read_entries(path):
        try:
            if problem or not isinstance(value, dict):
                raise FieldError(problem or "is not an object")
            found = parse(Row(value))
            if key(found) in good:
                raise FieldError(f"{name}: the record in line {good[key(found)][1]} has the same")
            good[key(found)] = found, line
        except FieldError as error:
            called = str(value.get(name, "")) if isinstance(value, dict) else ""
            faults.append(Fault(str(path), called, line, "format", str(error)))
    if not good and not faults:
        faults.append(Fault(str(path), "", 0, "format", "holds no records"))
    return Read(
        tuple(one for one, _ in good.values()), tuple(line for _, line in good.values()), tuple(faults)
    )


def _entries(text: str, place: int) -> Iterator[Entry]:
    """The elements of a list, the first of which, or the closing bracket, is at `place`."""
    decoder = json.JSONDecoder()
    line, counted, first = 1, 0, True
    try:
        while text[place : place + 1] != "]":
            if not first:
                if text[place : place + 1] != ",":
                    raise json.JSONDecodeError("a comma or ] is missing", text, place)
                place = _skip(text, place + 1)
            line, counted, first = line + text.count("\n", counted, place), place, False
            value, end = decoder.raw_decode(text, place)
            yield Entry(line, value)
            place = _skip(text, end)
        rest = _skip(text, place + 1)
        if rest < len(text):
            raise json.JSONDecodeError("something follows the list", text, rest)
    except json.JSONDecodeError as error:
        problem = f"is not a whole JSON list: {error.msg}, column {error.colno}; nothing after it is read"
        yield Entry(error.lineno, None, problem)
    except (ValueError, RecursionError):
        yield Entry(line, None, "is not JSON: cannot be parsed; nothing after it is read")


def _skip(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return place if match is None else match.end()
