from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

sys.path.insert(0, str(Path(__file__).parent))  # filling

from fake_sessions import FakeSessions, front
from visiting import no_models

from logs import LogReader, LogWriter
from simulator.ambient.benchmark import BENCHMARK
from simulator.ambient.sessions import AmbientSessions
from simulator.studies import Study
from ui.actions import Actions
from ui.declared.actions import DeclaredActions
from ui.server import create_server
from ui.tokens import Signer


def make_study(name: str, task: str, **more: Any) -> Study:
    """Return a study of a task on four built-in examples with two judgments each."""
    settings = {"task": task, "data": "builtin", "items": 4, "languages": more.pop("languages", ["en", "zh"])}
    given = {
        "id": name,
        "title": f"The {name}",
        "benchmark": "ambient",
        "seat": "annotator",
        "settings": settings | more.pop("settings", {}),
        "judgments_per_item": 2,
        "pay": {"amount": 0.4, "currency": "USD", "minutes": 2},
        "completion_codes": {
            "complete": f"DONE-{name}",
            "screened_out": f"OUT-{name}",
            "returned": f"BACK-{name}",
        },
    }
    return Study.model_validate(given | more)


STUDIES = (
    make_study("crowd", "crowd", sets_per_participant=3, settings={"qualification": {"pass": 4}}),
    make_study("shown", "crowd", settings={"show_result": True}, exclude=[]),
    make_study("linguists", "annotate", sets_per_participant=2, languages=["zh"]),
    make_study("statements", "true_false"),
)


@pytest.fixture
def readings(log: tuple[LogWriter, LogReader]) -> AmbientSessions:
    """Return sessions of free play and small studies, on a separate log without models."""
    return AmbientSessions(BENCHMARK, *log, no_models, studies=STUDIES)


@pytest.fixture
def actions(readings: AmbientSessions) -> Actions:
    signer = Signer(b"a secret for tests")
    return Actions(signer, {**front(signer), "ambient": DeclaredActions(readings, signer)})


@pytest.fixture
async def client(readings: AmbientSessions, tmp_path: Path) -> TestClient:
    # Asynchronous, because outside a running loop Gradio makes loops that nobody closes.
    server = create_server([FakeSessions(), readings], home=tmp_path)
    return TestClient(server, base_url="http://127.0.0.1:7860")
