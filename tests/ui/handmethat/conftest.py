from __future__ import annotations

import pytest
from fake_sessions import front
from visiting import no_models

from logs import LogReader, LogWriter
from simulator.handmethat.data import list_episodes, load_episode
from simulator.handmethat.sessions import HandMeThatSessions
from simulator.handmethat.task import Task
from ui.actions import Actions
from ui.handmethat.actions import HouseholdActions
from ui.tokens import Signer


@pytest.fixture
def sessions(log: tuple[LogWriter, LogReader]) -> HandMeThatSessions:
    """The built-in episodes, on a log of their own; the built-in human and robots, no models."""
    return HandMeThatSessions(*log, no_models, env={})


@pytest.fixture
def actions(sessions: HandMeThatSessions) -> Actions:
    signer = Signer(b"a secret for tests")
    rooms = {**front(signer), "handmethat": HouseholdActions(sessions, signer)}
    return Actions(signer, rooms, "/research")


@pytest.fixture(scope="session")
def task() -> Task:
    """A built-in episode of level 4."""
    name = next(one.name for one in list_episodes("builtin") if one.level == 4)
    return load_episode("builtin", name)
