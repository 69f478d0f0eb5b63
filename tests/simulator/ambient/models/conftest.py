from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from shared_data import SHARED


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of published data."""
    folder = SHARED
    if not (folder / "ambient" / "results").is_dir():
        pytest.skip(f"no published results in {folder / 'ambient'}; set ASKBACK_SHARED")
    return folder


@pytest.fixture(scope="session")
def checks(data: Path) -> dict[str, Any]:
    """The reference values by id."""
    found = json.loads((data / "expected_examples.json").read_text(encoding="utf-8"))
    return {check["id"]: check["reproduced"] for check in found}
