from __future__ import annotations

from pathlib import Path

import pytest
from shared_data import SHARED


@pytest.fixture(scope="session")
def data() -> Path:
    """Return the folder of published data."""
    folder = SHARED
    if not (folder / "ambient" / "results").is_dir():
        pytest.skip(f"no published results in {folder / 'ambient'}; set ASKBACK_SHARED")
    return folder
