"""Drafts that annotators make pairs of: JSON lines, as `askback generate ambik` writes, or a JSON list."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simulator.ambik.files.jsonlist import read_records
from simulator.ambik.pairs import Draft
from simulator.ambik.rows import read_draft_record
from simulator.jsonlines import Read


def is_draft(record: Mapping[str, Any]) -> bool:
    """Whether an object has the fields that only drafts have together."""
    return {"clear", "candidates", "objects"} <= record.keys()


def read_drafts(path: str | Path) -> Read[Draft]:
    """The drafts of a file; every one that is not good is a fault, and so is one whose id occurred before.

    Raises:
        InputError: if the file cannot be read at all.
    """
    return read_records(path, read_draft_record, lambda draft: draft.id, name="id")
