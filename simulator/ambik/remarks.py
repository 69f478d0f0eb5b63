"""Sentences that stand beside numbers (`remarks.yaml`), and what the paper prints (`paper.yaml`)."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml


@cache
def _read(name: str) -> dict[str, Any]:
    held: dict[str, Any] = yaml.safe_load((Path(__file__).parent / name).read_text(encoding="utf-8"))
    return held


def remark(group: str, name: str) -> Any:
    """Return a sentence, or several, by group and name."""
    return _read("remarks.yaml")[group][name]


def paper() -> dict[str, Any]:
    """Return all that the paper prints of its results."""
    return _read("paper.yaml")
