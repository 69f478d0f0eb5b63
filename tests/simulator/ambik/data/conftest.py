"""Rows and files shared by the tests of AmbiK's data; none is from the published data."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shared_data import SHARED, shared_path

from simulator.ambik.files.pairs import COLUMNS

Cells = dict[str, str]
WriteCsv = Callable[..., Path]

ROW: Cells = {
    "id": "7",
    "environment_short": "red mug, blue mug, cocoa, oat milk",
    "environment_full": "a red mug, a blue mug, cocoa, oat milk",
    "unambiguous_direct": "Warm the oat milk and pour it into the red mug.",
    "unambiguous_indirect": "Warm the oat milk and pour it into the mug that is not blue.",
    "ambiguity_type": "preferences",
    "amb_shortlist": "red mug, blue mug",
    "ambiguous_task": "Warm the oat milk and pour it into a mug.",
    "question": "Which mug?",
    "answer": "The red one.",
    "plan_for_clear_task": "1. Warm the oat milk.\n2. Pour it into the red mug.",
    "plan_for_amb_task": "1. Warm the oat milk.\n2. Pour it into a mug.",
    "end_of_ambiguity": "1",
    "user_intent": "red mug",
    "variants": "red mug\nblue mug",
    "take_amb": "",
}


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))


@pytest.fixture
def row() -> Callable[..., Cells]:
    """A row of pairs with some cells changed: `row(id="8", take_amb="1")`."""
    return lambda **changed: {**ROW, **changed}


@pytest.fixture
def write(tmp_path: Path) -> WriteCsv:
    """Writes rows as CSV: `write("a.csv", row, …, columns=…, end="\\r\\n", head=b"…")`."""

    def write(
        name: str,
        *rows: Cells,
        columns: tuple[str, ...] = COLUMNS,
        names: dict[str, str] | None = None,
        end: str = "\n",
        head: bytes = b"",
    ) -> Path:
        out = io.StringIO(newline="")
        writer = csv.writer(out, lineterminator=end)
        writer.writerow([(names or {}).get(column, column) for column in columns])
        writer.writerows([[row.get(column, "") for column in columns] for row in rows])
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(head + out.getvalue().encode())
        return path

    return write


@pytest.fixture
def published() -> Path:
    """The folder of the published data."""
    folder = SHARED / "ambik"
    if not (folder / "ambik_calib_100.csv").is_file():
        pytest.skip(f"published AmbiK data not found at {folder}; set ASKBACK_SHARED")
    return folder


@pytest.fixture
def checks() -> dict[str, dict[str, Any]]:
    """The example checks by id."""
    path = shared_path("expected_examples.json")
    return {check["id"]: check for check in json.loads(path.read_text(encoding="utf-8"))}
