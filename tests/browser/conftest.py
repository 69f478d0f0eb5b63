"""Chromium and a server in a process of its own, for the tests that drive the app as people do."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # playing

REPOSITORY = Path(__file__).parents[2]
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)
# Generous: two cores may be shared with other tests.
START_SECONDS = 120.0
PASSWORD = "for the tests"


def chromium_path() -> str | None:
    """The Chromium to drive: ``$ASKBACK_CHROMIUM`` or one on the path."""
    named = os.environ.get("ASKBACK_CHROMIUM")
    return (
        named or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    )


# For a module at a time: while Playwright runs, asyncio takes its loop for a running one, and tests that
# are coroutines could not start.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A running Chromium."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed: pip install askback[dev]"
    )
    path = chromium_path()
    if path is None:
        pytest.skip("no Chromium found: apt-get install chromium fonts-noto-cjk, or set ASKBACK_CHROMIUM")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


@dataclass
class Server:
    """The web app in a process of its own, on a log and a data home of its own.

    Attributes:
        household: HandMeThat's episodes, as ``--handmethat`` takes them.
        studies: study files; none: those that come with Askback.
    """

    home: Path
    port: int
    household: str = "builtin"
    studies: tuple[Path, ...] = ()
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        """Its log."""
        return self.home / "log.sqlite"

    def start(self) -> None:
        """Start it and wait until it answers."""
        options = ["--port", str(self.port), "--log", str(self.log), "--handmethat", self.household]
        options += [part for file in self.studies for part in ("--study", str(file))]
        command = [sys.executable, "app.py", "app", *options]
        self.process = subprocess.Popen(command, cwd=REPOSITORY, env=self.environment)
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with status {self.process.returncode}")
            try:
                urllib.request.urlopen(f"{self.url}/health", timeout=1).close()
            except OSError:
                time.sleep(0.1)
            else:
                return
        self.kill()
        raise TimeoutError(f"the server did not answer within {START_SECONDS:.0f} s")

    def askback(self, *arguments: str, wait: bool = True) -> subprocess.Popen[bytes]:
        """Run an ``askback`` command on the server's log, beside the server."""
        command = [sys.executable, "app.py", *arguments, "--log", str(self.log)]
        process = subprocess.Popen(
            command,
            cwd=REPOSITORY,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        if wait:
            _, said = process.communicate()
            assert process.returncode == 0, said.decode()
        return process

    @property
    def environment(self) -> dict[str, str]:
        """The environment of its processes: a data home and a password of their own."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ASKBACK_")}
        return kept | {
            "ASKBACK_HOME": str(self.home),
            "ASKBACK_RESEARCH_PASSWORD": PASSWORD,
            "OMP_NUM_THREADS": "1",
        }

    def kill(self) -> None:
        """End it as a power cut would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that the tests of a module share."""
    made = Server(tmp_path_factory.mktemp("home"), free_port())
    made.start()
    yield made
    made.kill()


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server as `server`, which plays the episodes of `household.episodes`."""
    from household import write_episodes  # reads the built-in ones, which takes other modules' tests nothing

    home = tmp_path_factory.mktemp("home")
    made = Server(home, free_port(), write_episodes(home / "episodes"))
    made.start()
    yield made
    made.kill()


@dataclass
class Watched:
    """A page, and what it did that it should not have done.

    Attributes:
        page: Playwright's page.
        strangers: requests that would have left the machine.
        errors: what scripts complained of.
    """

    page: Any
    strangers: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def _log_in_before_research(context: Any, page: Any) -> None:
    """Have `page` log in before it first goes to the researchers' pages of a server."""
    visit, known = page.goto, set()

    def goto(url: str, **options: Any) -> Any:
        origin, research, _ = url.partition("/research")
        if research and origin not in known:
            known.add(origin)
            context.request.post(f"{origin}/research/login", form={"password": PASSWORD}, max_redirects=0)
        return visit(url, **options)

    page.goto = goto


@pytest.fixture
def open_page(chromium: Any) -> Iterator[Callable[..., Watched]]:
    """Opens pages in fresh profiles (`width`, `scheme`, `locale`); afterwards none may have gone astray."""
    opened: list[tuple[Any, Watched]] = []

    def make(*, width: int = 1280, height: int = 900, scheme: str = "light", locale: str = "en") -> Watched:
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, locale=locale
        )
        context.set_default_timeout(30_000)
        watched = Watched(context.new_page())
        _log_in_before_research(context, watched.page)
        local = ("http://127.0.0.1:", "data:", "blob:")
        watched.page.on(
            "request", lambda seen: seen.url.startswith(local) or watched.strangers.append(seen.url)
        )
        watched.page.on("pageerror", lambda error: watched.errors.append(str(error)))
        opened.append((context, watched))
        return watched

    yield make
    for context, _ in opened:
        context.close()
    for _, watched in opened:
        assert watched.strangers == []
        assert watched.errors == []


@pytest.fixture(scope="session")
def check_rules() -> Callable[[Any], None]:
    """Checks that a page, as it stands, breaks no rule of accessibility (WCAG 2.2, levels A and AA)."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe is not installed: pip install askback[dev]"
    ).Axe()
    rules = {
        "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
        "resultTypes": ["violations"],
    }

    def check(page: Any) -> None:
        page.wait_for_timeout(350)  # transitions of colour
        found = axe.run(page, options=rules).response["violations"]
        assert [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found] == []

    return check


@pytest.fixture(scope="session")
def fits() -> Callable[[Any], None]:
    """Checks that nothing on a page reaches beyond its right edge."""
    beyond = """() => [...document.querySelectorAll('.ab-page *')].filter(e => e.checkVisibility()
        && !e.closest('.ab-hidden, .ab-skip, svg')
        && e.getBoundingClientRect().right > window.innerWidth + 1).map(e => e.className)"""

    def check(page: Any) -> None:
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
        assert page.evaluate(beyond) == []

    return check
