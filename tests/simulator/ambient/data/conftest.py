"""Examples and files shared by the tests of AmbiEnt's data."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shared_data import SHARED, shared_path

Rows = dict[str, dict[str, Any]]
Write = Callable[..., Path]


@pytest.fixture
def published() -> Path:
    """Return the folder of the published dataset."""
    folder = SHARED / "ambient"
    if not (folder / "ambient_full.jsonl").is_file():
        pytest.skip(f"published AmbiEnt data not found at {folder}; set ASKBACK_SHARED")
    return folder


@pytest.fixture
def checks() -> dict[str, dict[str, Any]]:
    """Return the spec's example checks by id."""
    path = shared_path("expected_examples.json")
    return {check["id"]: check for check in json.loads(path.read_text(encoding="utf-8"))}


@pytest.fixture
def rows() -> Rows:
    """Return one published row of each sort by id."""
    return {
        "1": {
            "id": 1,
            "premise": "The pass is closed in winter.",
            "hypothesis": "No car crosses in January.",
            "premise_ambiguous": True,
            "hypothesis_ambiguous": False,
            "labels": "neutral, entailment",
            "disambiguations": [
                {
                    "premise": "The mountain pass is closed in winter to all.",
                    "hypothesis": "No car crosses in January.",
                    "label": "entailment",
                },
                {
                    "premise": "The ticket is not sold in winter.",
                    "hypothesis": "No car crosses in January.",
                    "label": "neutral",
                },
            ],
        },
        "2_c": {
            "id": "2_c",
            "premise": "The kettle whistles.",
            "hypothesis": "The water boils.",
            "premise_ambiguous": False,
            "hypothesis_ambiguous": False,
            "labels": "neutral",
            "disambiguations": [],
        },
        "3": {
            "id": 3,
            "premise": "They saw her duck.",
            "hypothesis": "The pool was light.",
            "premise_ambiguous": True,
            "hypothesis_ambiguous": True,
            "labels": "contradiction, neutral",
            "disambiguations": [
                {
                    "premise": "They saw a bird of hers.",
                    "hypothesis": "The pool was bright.",
                    "label": "neutral",
                },
                {
                    "premise": "They saw her stoop.",
                    "hypothesis": "The pool weighed little.",
                    "label": "neutral",
                },
                {
                    "premise": "They saw her stoop.",
                    "hypothesis": "The pool was bright.",
                    "label": "contradiction",
                },
            ],
        },
        "4": {"id": 4, "premise": "A lamp fell.", "hypothesis": "It broke."},
    }


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes rows as JSON lines into a folder: `write("dev.jsonl", row, …)`."""

    def write(name: str, *given: dict[str, Any] | str) -> Path:
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in given]
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path

    return write
