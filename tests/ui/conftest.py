from __future__ import annotations

import sys
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

sys.path.insert(0, str(Path(__file__).parent))  # fake_sessions

from fake_sessions import FakeSessions

from ui.actions import Actions
from ui.server import create_server
from ui.tokens import Signer


@pytest.fixture
def sessions() -> FakeSessions:
    return FakeSessions()


@pytest.fixture
def actions(sessions: FakeSessions) -> Actions:
    return Actions(sessions, Signer(b"a secret for tests"))


@pytest.fixture
async def client(sessions: FakeSessions, tmp_path: Path) -> TestClient:
    # Asynchronous, because outside a running loop Gradio makes loops that nobody closes.
    return TestClient(create_server(sessions, home=tmp_path), base_url="http://127.0.0.1:7860")
