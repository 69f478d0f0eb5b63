"""Which of AmbiEnt's files a file is, told by the fields of its first object (spec 1, 3, 5.2, 10, 11)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from simulator.ambient.files.categories import read_categories_file
from simulator.ambient.files.dataset import read_dataset
from simulator.ambient.rows import EXAMPLE_FIELDS
from simulator.jsonlines import Read

SUFFIXES: Final = (".jsonl", ".json")
# Enough for the first line of any of these files.
_HEAD: Final = 1 << 20
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file.

    Attributes:
        name: short; ``dataset``, ``crowd``, …
        title: in words.
        fields: those that the first object of such a file has, at least.
        read: the rows of a file of this kind, with a fault for each that is none.
        fits: whether the object is of this kind, where the fields alone do not tell.
    """

    name: str
    title: str
    fields: frozenset[str]
    read: Callable[[Path], Read[Any]]
    fits: Callable[[Mapping[str, Any]], bool] = lambda _: True


def kind_of(path: Path) -> Kind | None:
    """The kind of a file; None if it is none of AmbiEnt's, or cannot be read."""
    found = first_object(path) if path.suffix in SUFFIXES else None
    if found is None:
        return None
    return next((kind for kind in KINDS if kind.fields <= found.keys() and kind.fits(found)), None)


def first_object(path: Path) -> Mapping[str, Any] | None:
    """The first object of a file: of JSON lines, a JSON object, or a JSON list; None if there is none."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD).removeprefix(_BOM).decode("utf-8", "ignore")
    except OSError:
        return None
    text = head.lstrip().removeprefix("[").lstrip() if head.lstrip().startswith("[") else head.lstrip()
    try:
        value, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def files_of(path: Path) -> dict[Path, Kind]:
    """The files of AmbiEnt in a folder and the folders below, sorted; a file itself if it is one."""
    if path.is_file():
        candidates = [path]
    else:
        below = (file for file in path.rglob("*") if not _hidden(file.relative_to(path)))
        candidates = sorted(file for file in below if file.is_file())
    kinds = ((file, kind_of(file)) for file in candidates)
    return {file: kind for file, kind in kinds if kind is not None}


def _is_dataset(first: Mapping[str, Any]) -> bool:
    """Other files have more fields, and none has fewer."""
    return first.keys() <= set(EXAMPLE_FIELDS)


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in path.parts)


KINDS: Final[tuple[Kind, ...]] = (
    Kind(
        "categories",
        "examples with kinds of ambiguity",
        frozenset(("id", "premise", "hypothesis", "category")),
        read_categories_file,
        lambda first: isinstance(first.get("disambiguations"), str),
    ),
    Kind("dataset", "examples", frozenset(("id", "premise", "hypothesis")), read_dataset, _is_dataset),
)
"""In this order: the first that fits is it."""
