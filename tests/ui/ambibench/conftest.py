from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

sys.path.insert(0, str(Path(__file__).parent))  # labelling

from fake_sessions import FakeSessions, front
from visiting import no_models

from logs import LogReader, LogWriter
from simulator.ambibench.benchmark import BENCHMARK
from simulator.ambibench.sessions import AmbiBenchSessions
from simulator.studies import Study
from ui.actions import Actions
from ui.declared.actions import DeclaredActions
from ui.server import create_server
from ui.tokens import Signer

PAY = {"amount": 1.25, "currency": "USD", "minutes": 6}


def make_study(name: str, setting: str, places: int, *, show: bool = False, **more: Any) -> Study:
    """A study of the setting with so many places."""
    settings = {"setting": setting, "show_result": show, "languages": more.pop("languages", ["en", "zh"])}
    given = {
        "id": name,
        "title": f"The {name}",
        "benchmark": "ambibench",
        "seat": "participant",
        "settings": settings,
        "participants": places,
        "pay": PAY,
        "completion_codes": {"complete": f"DONE-{name}", "returned": f"BACK-{name}"},
    }
    return Study.model_validate(given | more)


STUDIES = (
    make_study("twenty", "multiple", 12, completion_url="https://example.org/done?cc={code}"),
    make_study("one", "instruction", 12, show=True),
    make_study("tiny", "instruction", 6, conditions=["subject/arrow/human"], participants=1, exclude=[]),
    make_study("named", "instruction", 6, require_identity=True, exclude=[]),
    make_study(
        *("own", "multiple", 6),
        exclude=[],
        languages=["zh"],
        texts={"consent": "Ours.\n\n<b>Yes?</b>"},
        contact="lab@example.org",
    ),
)


@pytest.fixture
def letters(log: tuple[LogWriter, LogReader]) -> AmbiBenchSessions:
    """Free play and small studies, on a log of their own; no models."""
    return AmbiBenchSessions(BENCHMARK, *log, no_models, studies=STUDIES)


@pytest.fixture
def actions(letters: AmbiBenchSessions) -> Actions:
    signer = Signer(b"a secret for tests")
    return Actions(signer, {**front(signer), "ambibench": DeclaredActions(letters, signer)})


@pytest.fixture
async def client(letters: AmbiBenchSessions, tmp_path: Path) -> TestClient:
    # Asynchronous, because outside a running loop Gradio makes loops that nobody closes.
    server = create_server([FakeSessions(), letters], home=tmp_path)
    return TestClient(server, base_url="http://127.0.0.1:7860")
