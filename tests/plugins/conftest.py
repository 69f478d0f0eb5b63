"""A third-party benchmark, installed by pip and found by its entry point."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "ui"))  # fake_sessions, texts, visiting
sys.path.insert(0, str(Path(__file__).parents[1] / "ui" / "research"))  # markup

from fake_sessions import front
from packages import TWENTY_QUESTIONS, install
from visiting import no_models

from logs import LogReader, LogWriter
from simulator import catalog
from simulator.studies.declared import DeclaredSessions
from ui.actions import Actions
from ui.declared.actions import DeclaredActions
from ui.tokens import Signer

ROSE = 14
WISHES = {
    "benchmark": "twenty_questions",
    "seat": "asker",
    "others": {"answerer": "offline/oracle"},
    "rules": {},
}


def forget() -> None:
    """Clear the caches of installed benchmarks."""
    importlib.invalidate_caches()
    for cached in (catalog._points, catalog._load):
        cached.cache_clear()
    catalog._warned.clear()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the package is installed."""
    target = tmp_path_factory.mktemp("site")
    install(TWENTY_QUESTIONS, target, tmp_path_factory.mktemp("source") / "package")
    return target


@pytest.fixture
def installed(site: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """The package on the path of this process, with an empty home folder."""
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    monkeypatch.syspath_prepend(str(site))
    forget()
    yield site
    forget()


@pytest.fixture
def log(tmp_path: Path) -> Iterator[tuple[LogWriter, LogReader]]:
    """A fresh log."""
    path = tmp_path / "log.sqlite"
    with LogWriter(path, durable=False, group_seconds=0.001) as writer, LogReader(path) as reader:
        yield writer, reader


@pytest.fixture
def served(installed: Path, log: tuple[LogWriter, LogReader]) -> DeclaredActions:
    """The pages of the package's benchmark."""
    sessions = DeclaredSessions(
        catalog.find("twenty_questions"), *log, no_models, env={"OPENAI_API_KEY": "k"}
    )
    return DeclaredActions(sessions, Signer(b"a secret for tests"))


@pytest.fixture
def actions(served: DeclaredActions) -> Actions:
    """The actions that the pages call."""
    signer = Signer(b"a secret for tests")
    return Actions(signer, {**front(signer), served.name: served})


class Player:
    """The page of a seat, as a browser would use it."""

    def __init__(self, actions: Actions, go: str, language: str = "en") -> None:
        self.actions = actions
        self.at = {"path": "/play", "query": go.partition("?")[2], "language": language}
        self.html = ""

    async def look(self) -> str:
        """Return the current page."""
        self.html = (await self.actions.page(self.at))["html"]
        return self.html

    async def say(self, text: str, key: str = "") -> Any:
        """Send a text as the turn that the page shows."""
        number = int(re.search(r'data-number="(\d+)"', await self.look())[1])
        call = self.at | {"render": key or f"render-{number:05}", "number": number, "text": text}
        answer = await self.actions.send(call)
        self.html = answer["html"]
        return answer


async def begin(actions: Actions, **wishes: Any) -> Player:
    """Start an episode of free play."""
    answer = await actions.start(WISHES | wishes)
    return Player(actions, answer["go"])
