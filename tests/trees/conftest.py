from __future__ import annotations

import sys
from pathlib import Path

import pytest
from shared_data import shared_path

sys.path.insert(0, str(Path(__file__).parent))  # task_files


@pytest.fixture(scope="session")
def clarq_folder() -> Path:
    """The published data, which are not part of the repository."""
    return shared_path("clarq")
