from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # task_files


@pytest.fixture(scope="session")
def clarq_folder() -> Path:
    """The published data, which are not part of the repository."""
    beside = Path(__file__).resolve().parents[2].parent / "shared"
    folder = Path(os.environ.get("ASKBACK_SHARED", beside)) / "data" / "clarq"
    if not folder.is_dir():
        pytest.skip(f"no published data in {folder}; ASKBACK_SHARED names the folder that holds data/clarq")
    return folder
