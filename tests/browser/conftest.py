"""Chromium and servers, once per worker, for the tests that drive the app as people do."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # playing

from household import write_episodes
from serving import PASSWORD, Server, free_port

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
# Everything that a page is waited for: a machine may be busy with other things.
PATIENCE_MS = 180_000


def chromium_path() -> str | None:
    """The Chromium to drive: ``$ASKBACK_CHROMIUM`` or one on the path."""
    named = os.environ.get("ASKBACK_CHROMIUM")
    return (
        named or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    )


# What a profile keeps, but for the cache: a page that was loaded before costs a third of a first load.
KEPT = "cookies,local_storage,indexeddb,cache_storage,service_workers,file_systems,shared_storage"


@dataclass
class Chromium:
    """A running Chromium, the event loop in which Playwright drives it, and profiles that nobody uses now."""

    browser: Any
    loop: asyncio.AbstractEventLoop
    idle: dict[tuple[Any, ...], list[Any]] = field(default_factory=dict)

    def lend(self, **options: Any) -> Any:
        """Return a blank page in a profile that knows of nothing but what its cache holds."""
        pages = self.idle.setdefault(tuple(options.items()), [])
        return pages.pop() if pages else self.browser.new_context(**options).new_page()

    def take_back(self, context: Any, origins: set[str], **options: Any) -> None:
        """Forget everything that was done in a profile, and keep it for the next test."""
        for page in context.pages:
            page.close()
        context.clear_cookies()
        blank = context.new_page()
        session = context.new_cdp_session(blank)
        for origin in origins:
            session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": KEPT})
        session.detach()
        self.idle[tuple(options.items())].append(blank)

    @contextmanager
    def driven(self) -> Iterator[Any]:
        """The browser, for as long as asyncio is to take Playwright's loop for the running one.

        At other times tests that are coroutines may run in the same process.
        """
        asyncio._set_running_loop(self.loop)
        try:
            yield self.browser
        finally:
            asyncio._set_running_loop(None)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """A running Chromium."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed: pip install askback[dev]"
    )
    path = chromium_path()
    if path is None:
        pytest.skip("no Chromium found: apt-get install chromium fonts-noto-cjk, or set ASKBACK_CHROMIUM")
    running = playwright.sync_playwright().start()
    made = Chromium(
        running.chromium.launch(executable_path=path, args=list(FLAGS), timeout=PATIENCE_MS),
        asyncio.get_running_loop(),
    )
    asyncio._set_running_loop(None)
    yield made
    with made.driven() as browser:
        browser.close()
        running.stop()


def _started(home: Path) -> Iterator[Server]:
    """A server that plays the episodes of `household.episodes`, for as long as it is needed."""
    made = Server(home, free_port(), write_episodes(home / "episodes"))
    made.start()
    yield made
    made.kill()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server on which people play and take part: each with names and a browser of their own."""
    yield from _started(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server of the researchers: what is in its log, each file of tests puts there."""
    yield from _started(tmp_path_factory.mktemp("desk"))


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[Server]:
    """A server that a test may kill."""
    yield from _started(tmp_path)


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
def open_page(chromium: Chromium) -> Iterator[Callable[..., Watched]]:
    """Opens pages in blank profiles (`width`, `scheme`, `locale`); afterwards none may have gone astray."""
    opened: list[tuple[dict[str, Any], Any, Watched]] = []
    origins: set[str] = set()

    def make(*, width: int = 1280, height: int = 900, scheme: str = "light", locale: str = "en") -> Watched:
        options: dict[str, Any] = {"color_scheme": scheme, "locale": locale, "reduced_motion": "reduce"}
        page = chromium.lend(**options)
        page.set_viewport_size({"width": width, "height": height})
        page.context.set_default_timeout(PATIENCE_MS)
        watched = Watched(page)
        _log_in_before_research(page.context, page)

        def note(request: Any) -> None:
            if request.url.startswith("http://127.0.0.1:"):
                origins.add("/".join(request.url.split("/")[:3]))
            elif not request.url.startswith(("data:", "blob:")):
                watched.strangers.append(request.url)

        page.on("request", note)
        page.on("pageerror", lambda error: watched.errors.append(str(error)))
        opened.append((options, page.context, watched))
        return watched

    with chromium.driven():
        yield make
        for options, context, _ in opened:
            chromium.take_back(context, origins, **options)
    for _, _, watched in opened:
        assert watched.strangers == []
        assert watched.errors == []
