from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "ambibench"))  # labelling

from fake_sessions import front
from visiting import no_models

from logs import LogReader, LogWriter
from simulator.ambibench.benchmark import BENCHMARK
from simulator.ambibench.sessions import AmbiBenchSessions
from simulator.studies import Study
from ui.actions import Actions
from ui.declared.actions import DeclaredActions
from ui.tokens import Signer


@pytest.fixture
def make_study() -> Callable[..., Study]:
    """A study of one question, of three sets."""

    def make(**more: Any) -> Study:
        given = {
            "id": "three",
            "title": "The three",
            "benchmark": "ambibench",
            "seat": "participant",
            "settings": {"setting": "instruction", "languages": ["en", "zh"]},
            "participants": 24,
            "sets_per_participant": 3,
            "pay": {"amount": 0.5, "currency": "USD", "minutes": 2},
            "completion_codes": {"complete": "DONE", "screened_out": "SCREEN", "returned": "BACK"},
        }
        return Study.model_validate(given | more)

    return make


@pytest.fixture
def serve(log: tuple[LogWriter, LogReader]) -> Callable[..., Actions]:
    """The actions of an app that holds these studies; None: those that come with Askback."""

    def make(*studies: Study) -> Actions:
        sessions = AmbiBenchSessions(BENCHMARK, *log, no_models, studies=studies or None)
        signer = Signer(b"a secret for tests")
        return Actions(signer, {**front(signer), "ambibench": DeclaredActions(sessions, signer)})

    return make
