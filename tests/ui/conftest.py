from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

sys.path.insert(0, str(Path(__file__).parent))  # fake_sessions, over_http, texts, visiting

from fake_sessions import FakeSessions, front

from logs import LogReader, LogWriter
from ui.actions import Actions
from ui.server import create_server
from ui.tokens import Signer


@pytest.fixture
def log(tmp_path: Path) -> Iterator[tuple[LogWriter, LogReader]]:
    path = tmp_path / "log.sqlite"
    with LogWriter(path, durable=False, group_seconds=0.001) as writer, LogReader(path) as reader:
        yield writer, reader


@pytest.fixture
def sessions() -> FakeSessions:
    return FakeSessions()


@pytest.fixture
def actions(sessions: FakeSessions) -> Actions:
    signer = Signer(b"a secret for tests")
    return Actions(signer, front(signer, sessions))


@pytest.fixture
async def client(sessions: FakeSessions, tmp_path: Path) -> TestClient:
    # Asynchronous, because outside a running loop Gradio makes loops that nobody closes.
    return TestClient(create_server([sessions], home=tmp_path), base_url="http://127.0.0.1:7860")
