from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

sys.path.insert(0, str(Path(__file__).parent))  # seated

from fake_sessions import FakeSessions, front
from visiting import no_models

from logs import LogReader, LogWriter
from simulator.ambik.benchmark import BENCHMARK
from simulator.ambik.sessions import AmbikSessions
from simulator.studies import Study
from ui.actions import Actions
from ui.declared.actions import DeclaredActions
from ui.server import create_server
from ui.tokens import Signer


def make_study(name: str, seat: str, **settings: Any) -> Study:
    """A study in the seat on a few built-in tasks or drafts."""
    task = {"task": "annotate" if seat == "annotator" else "decide", "items": 4, "languages": ["en", "zh"]}
    given = {
        "id": name,
        "title": f"The {name}",
        "benchmark": "ambik",
        "seat": seat,
        "settings": task | settings,
        "judgments_per_item": 2,
        "sets_per_participant": 2,
        "completion_codes": {"complete": f"DONE-{name}", "returned": f"BACK-{name}"},
    }
    return Study.model_validate(given)


STUDIES = (
    make_study("robots", "robot"),
    make_study("shown", "robot", show_result=True),
    make_study("users", "user", opposite="offline/always-asks"),
    make_study("annotators", "annotator"),
)


@pytest.fixture
def kitchen(log: tuple[LogWriter, LogReader]) -> AmbikSessions:
    """Free play and small studies, on a log of their own; no models."""
    return AmbikSessions(BENCHMARK, *log, no_models, studies=STUDIES, env={})


@pytest.fixture
def actions(kitchen: AmbikSessions) -> Actions:
    signer = Signer(b"a secret for tests")
    return Actions(signer, {**front(signer), "ambik": DeclaredActions(kitchen, signer)})


@pytest.fixture
async def client(kitchen: AmbikSessions, tmp_path: Path) -> TestClient:
    # Asynchronous, because outside a running loop Gradio makes loops that nobody closes.
    server = create_server([FakeSessions(), kitchen], home=tmp_path)
    return TestClient(server, base_url="http://127.0.0.1:7860")
