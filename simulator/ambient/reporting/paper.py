"""What the paper prints of a published file, told by the file's name and its number of rows (spec 11, 12)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import yaml

_PAPER: Final = Path(__file__).parent / "paper.yaml"
_SHOTS: Final = "-n4"
# Files that are called so are named after their folder.
_PLAIN: Final = ("results", "predictions")


@lru_cache(maxsize=1)
def paper() -> Mapping[str, Any]:
    """Return the figures, as `paper.yaml` has them."""
    found: Mapping[str, Any] = yaml.safe_load(_PAPER.read_text(encoding="utf-8"))
    return found


def model_of(file: Path) -> str:
    """Return the model that a results file is of, by its name, or its folder's if it has none of its own."""
    name = file.resolve().parent.name if file.stem in _PLAIN else file.stem
    return name.removesuffix(_SHOTS)


def is_published(kind: str, rows: int) -> bool:
    """Return True if a published file of a kind has so many rows."""
    least, most = paper()["rows"][kind]
    return bool(least <= rows <= most)


def figures(kind: str, name: str, rows: int) -> Mapping[str, Any]:
    """Return the paper's figures for the results of a model; empty if they are none of the published ones."""
    found = next((one for one in paper()["models"] if one["file"] == name), None)
    return found if found is not None and is_published(kind, rows) else {}


def note(found: Mapping[str, Any], key: str) -> str:
    """Return what is to be said of a figure."""
    said: str = found.get("notes", {}).get(key, "")
    return said
