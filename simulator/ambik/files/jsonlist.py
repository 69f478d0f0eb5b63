"""Files of records, a JSON list or JSON lines: each record with the line on which it begins."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from simulator.errors import InputError
from simulator.jsonlines import FieldError, Read, Row, raw_lines
from trees.faults import Fault

T = TypeVar("T")
_SPACE: Final = re.compile(r"[ \t\n\r]*")


class Entry(NamedTuple):
    """One record: its first line in the file, from 1, and its value; a text says why it has none."""

    line: int
    value: Any


def read_entries(path: str | Path) -> tuple[Entry, ...]:
    """The records of a file: by its suffix JSON lines, or a JSON list.

    Raises:
        InputError: if the file cannot be read, or is no such list.
    """
    if is_lines(path):
        return tuple(Entry(line, value) for line, value in raw_lines(path))
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        return _entries(text)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 (byte {error.start + 1})") from error
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: is not a JSON list: {error.msg}") from error
    except RecursionError as error:
        raise InputError(f"{path}: is not JSON: cannot be parsed") from error


def is_lines(path: str | Path) -> bool:
    """Whether a file has a record in each line."""
    return Path(path).suffix.lower() == ".jsonl"


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
    for line, value in read_entries(path):
        try:
            if not isinstance(value, dict):
                raise FieldError(value if is_lines(path) else "is not an object")
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


def _entries(text: str) -> tuple[Entry, ...]:
    decoder = json.JSONDecoder()
    place = _skip(text, 0)
    if text[place : place + 1] != "[":
        raise json.JSONDecodeError("it does not begin with [", text, place)
    found: list[Entry] = []
    place = _skip(text, place + 1)
    line, counted = 1, 0
    while text[place : place + 1] != "]":
        if found:
            if text[place : place + 1] != ",":
                raise json.JSONDecodeError("a comma or ] is missing", text, place)
            place = _skip(text, place + 1)
        line, counted = line + text.count("\n", counted, place), place
        value, end = decoder.raw_decode(text, place)
        found.append(Entry(line, value))
        place = _skip(text, end)
    rest = _skip(text, place + 1)
    if rest < len(text):
        raise json.JSONDecodeError("something follows the list", text, rest)
    return tuple(found)


def _skip(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return place if match is None else match.end()
