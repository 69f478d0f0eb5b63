"""The published data: where they are, for every test that needs them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

# The folder `data` of the folder that ASKBACK_SHARED names, or of `shared` beside the repository.
SHARED: Final = Path(os.environ.get("ASKBACK_SHARED", Path(__file__).parents[3] / "shared")) / "data"


def shared_path(*parts: str) -> Path:
    """Return a published file or folder; skip the test that asks where it is missing."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"no published data at {path}; ASKBACK_SHARED names the folder that holds data/")
    return path
