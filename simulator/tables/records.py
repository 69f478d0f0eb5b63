"""Files of records, as JSON lines or a JSON list, read with the line number of each record."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Hashable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from simulator.errors import InputError
from simulator.jsonlines import (
    CODE,
    Duplicates,
    Read,
    Row,
    raw_lines,
    read_rows,
    report_duplicates,
    without_lines,
)
from simulator.output_files import write_atomically
from trees.faults import json_problem

T = TypeVar("T")
_SPACE: Final = re.compile(r"[ \t\n\r]*")


class Entry(NamedTuple):
    """One record.

    Attributes:
        line: the line it begins on, from 1; if it cannot be parsed, the line of the error.
        problem: why the record has no value; empty if it has one.
    """

    line: int
    value: Any
    problem: str = ""


def read_text(path: str | Path) -> str:
    """Return the text of a file in UTF-8, without its byte order mark.

    Raises:
        InputError: if it cannot be read.
    """
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 (byte {error.start + 1})") from error


def read_json(path: str | Path) -> Any:
    """Return the JSON value in a file.

    Raises:
        InputError: if it cannot be read, or is not JSON.
    """
    try:
        return json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: {json_problem(error)}") from error


def read_entries(path: str | Path) -> tuple[Entry, ...]:
    """Return the records of a file of JSON lines, or of a JSON list.

    If a list is cut off or malformed, the records before the error are returned, and a last entry describes
    the error.

    Raises:
        InputError: if the file cannot be read, or is neither.
    """
    if is_lines(path):
        return tuple(
            Entry(line, None, value) if isinstance(value, str) else Entry(line, value)
            for line, value in raw_lines(path)
        )
    text = read_text(path)
    place = _skip(text, 0)
    if text[place : place + 1] != "[":
        raise InputError(
            f"{path}: is not a JSON list: it does not begin with [; put the records in a list, or write one "
            "per line in a .jsonl file"
        )
    return tuple(_elements(text, _skip(text, place + 1)))


def is_lines(path: str | Path) -> bool:
    """Return True if a file has a record in each line, even if it ends in ``.json``.

    Not a list of records, which begins with [; nor a ``.json`` file with a single object.
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


def read_records(
    path: str | Path,
    parse: Callable[[Row], T],
    key: Callable[[T], tuple[str, Hashable]] | None = None,
    *,
    name: str = "id",
    duplicates: Duplicates = "refuse",
    code: str = CODE,
    message: str = "repeats line {line}",
) -> Read[T]:
    """Return the good records of a file, and a fault for each faulty or repeated one.

    `parse`: returns the value of a record; raises `FieldError`. `key`: returns a value's id and the rest of
    its key; None if values may be repeated. `name`: the field that names a record in messages. `code` and
    `message` (with ``{line}`` for the line of the first) are those of the faults of repeated records.

    Raises:
        InputError: if the file cannot be read at all.
    """
    entries = (
        (line, value if isinstance(value, dict) else problem) for line, value, problem in read_entries(path)
    )
    read = read_rows(path, entries, parse, name=name)
    return read if key is None else report_duplicates(path, read, key, duplicates, code=code, message=message)


def without_records(path: Path, lines: Collection[int]) -> bool:
    """Remove the records that begin on `lines` from a file; return True if any are left."""
    if is_lines(path):
        return without_lines(path, lines)
    kept = [entry.value for entry in read_entries(path) if entry.line not in lines]
    write_atomically(path, json.dumps(kept, ensure_ascii=False, indent=1))
    return bool(kept)


def first_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects in JSON lines, in a JSON list (which may be cut off), or in a single object."""
    if text.startswith("["):
        decoder, place = json.JSONDecoder(), 1
        while (place := text.find("{", place)) >= 0:
            try:
                value, place = decoder.raw_decode(text, place)
            except (ValueError, RecursionError):
                return
            yield value
        return
    # If the file is a single object, its records, if any, are under its keys.
    content = _value(text)
    if isinstance(content, dict):
        inner = (value if isinstance(value, list) else [value] for value in content.values())
        values = [content, *chain.from_iterable(inner)]
    else:
        values = list(map(_value, text.split("\n")))
    yield from (value for value in values if isinstance(value, dict))


def _value(text: str) -> Any:
    """Return a JSON value; None if the text is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _elements(text: str, place: int) -> Iterator[Entry]:
    """Yield the elements of a list; its first element, or the closing bracket, is at `place`."""
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
    except (ValueError, RecursionError) as error:
        at = error.lineno if isinstance(error, json.JSONDecodeError) else line
        problem = json_problem(error, line=True, expected="a complete JSON list")
        yield Entry(at, None, f"{problem}; nothing after it is read")


def _skip(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return place if match is None else match.end()
