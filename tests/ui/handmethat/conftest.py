from __future__ import annotations

import pytest
from fake_sessions import front
from visiting import no_models

from logs import LogReader, LogWriter
from simulator import catalog
from simulator.handmethat.sessions import HandMeThatSessions
from ui.actions import Actions
from ui.declared.actions import DeclaredActions
from ui.tokens import Signer


@pytest.fixture
def sessions(log: tuple[LogWriter, LogReader]) -> HandMeThatSessions:
    """The built-in episodes, on a log of their own; the built-in human and robots, no models."""
    return HandMeThatSessions(catalog.find("handmethat"), *log, no_models, env={})


@pytest.fixture
def actions(sessions: HandMeThatSessions) -> Actions:
    signer = Signer(b"a secret for tests")
    served = {**front(signer), "handmethat": DeclaredActions(sessions, signer)}
    return Actions(signer, served, "/research")
