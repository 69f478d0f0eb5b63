from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(os.environ.get("ASKBACK_SHARED", Path(__file__).parents[5] / "shared" / "data"))


@pytest.fixture(scope="session")
def published() -> Path:
    """The folder of published results of multilabel NLI."""
    folder = SHARED / "ambient" / "results" / "multilabel"
    if not folder.is_dir():
        pytest.skip(f"published data not found at {folder}; set ASKBACK_SHARED")
    return folder


@pytest.fixture(scope="session")
def expected(published: Path) -> dict[str, dict[str, Any]]:
    """The reference values by id."""
    checks = json.loads((SHARED / "expected_examples.json").read_text(encoding="utf-8"))
    return {check["id"]: check for check in checks}
