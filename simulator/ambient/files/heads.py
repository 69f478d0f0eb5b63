"""How a file begins; that tells what it holds."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

SUFFIXES: Final = (".jsonl", ".json", ".csv")
# Enough for more good rows than bad ones.
_ROWS: Final = 200
_HEAD: Final = 1 << 20
_BOM: Final = b"\xef\xbb\xbf"

Head = tuple[Mapping[str, Any], ...]
"""The first objects of a file."""


def head_of(path: Path) -> Head:
    """The first objects of JSON lines or of a JSON list, the object that a file is, the first rows of CSV.

    Lines that are no objects are passed over; empty if the file has another suffix or cannot be read.
    """
    if path.suffix not in SUFFIXES:
        return ()
    try:
        with path.open("rb") as file:
            text = file.read(_HEAD).removeprefix(_BOM).decode("utf-8", "ignore").strip()
    except OSError:
        return ()
    if path.suffix == ".csv":
        return _cells(text)
    lines = (value for line in text.split("\n") for value in _objects(line))
    return tuple(islice(lines, _ROWS)) or _objects(text)


def any_row(is_of: Callable[[Mapping[str, Any]], bool], head: Head) -> bool:
    """Whether a row of a head is what a kind of file has."""
    return any(map(is_of, head))


def files_below(path: Path) -> tuple[Path, ...]:
    """The files in a folder and below, sorted, without hidden ones; a file itself if it is one."""
    if path.is_file():
        return (path,)
    below = (file for file in path.rglob("*") if not _hidden(file.relative_to(path)))
    return tuple(sorted(file for file in below if file.is_file()))


def _cells(text: str) -> Head:
    try:
        return tuple(islice(csv.DictReader(io.StringIO(text, newline="")), _ROWS))
    except csv.Error:
        return ()


def _objects(text: str) -> Head:
    """The object that a text is, or those of the list that it is."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    values = value[:_ROWS] if isinstance(value, list) else (value,)
    return tuple(one for one in values if isinstance(one, dict))


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in path.parts)
