"""Chromium and servers, once per worker, for the tests that drive the app as people do."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
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
    # The shell has the same engine without a desktop's windows around it, and takes half the time.
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    return os.environ.get("ASKBACK_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


# What a profile keeps, but for the cache.
STORAGE_TYPES = "cookies,local_storage,indexeddb,cache_storage,service_workers,file_systems,shared_storage"


@dataclass
class Watched:
    """A page, and what it did that it should not have done.

    Attributes:
        page: Playwright's page.
        strangers: requests that would have left the machine.
        errors: what scripts complained of.
        origins: the servers that it went to.
        members: those of them at which it has logged in as a researcher.
        changed: a test asked something of the page that holds for good: no other test is given it.
    """

    page: Any
    strangers: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    origins: set[str] = field(default_factory=set)
    members: set[str] = field(default_factory=set)
    changed: bool = False

    def __post_init__(self) -> None:
        page = self.page
        page.on("request", self._note)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.goto = partial(self._visit, page.goto)
        for name in ("on", "add_init_script"):
            setattr(page, name, partial(self._change, getattr(page, name)))

    def _note(self, request: Any) -> None:
        if request.url.startswith("http://127.0.0.1:"):
            self.origins.add("/".join(request.url.split("/")[:3]))
        elif not request.url.startswith(("data:", "blob:")):
            self.strangers.append(request.url)

    def _change(self, change: Callable[..., Any], *arguments: Any) -> None:
        self.changed = True
        change(*arguments)

    def _visit(self, visit: Callable[..., Any], url: str, **options: Any) -> Any:
        """Go to a page, and log in before the first of the researchers' pages of a server."""
        origin, research, _ = url.partition("/research")
        if research and origin not in self.members:
            self.members.add(origin)
            login, form = f"{origin}/research/login", {"password": PASSWORD}
            self.page.context.request.post(login, form=form, max_redirects=0)
        return visit(url, **options)

    def leave(self) -> None:
        """Forget everything that was done on the page and in its profile."""
        page, context = self.page, self.page.context
        for other in context.pages:
            if other != page:
                other.close()
        page.unroute_all(behavior="ignoreErrors")
        for origin in self.origins:
            page.goto(f"{origin}/health")
            page.evaluate("() => { sessionStorage.clear(); window.name = ''; }")
        page.mouse.move(0, 0)
        context.clear_cookies()
        session = context.new_cdp_session(page)
        for origin in self.origins:
            session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": STORAGE_TYPES})
        session.send("Page.resetNavigationHistory")
        session.detach()
        self.origins.clear()
        self.members.clear()


@dataclass
class Chromium:
    """A running Chromium, the event loop in which Playwright drives it, and pages that nobody uses now.

    The first load in a new process of Chromium costs three times any other: nothing is compiled in it.
    """

    browser: Any
    loop: asyncio.AbstractEventLoop
    idle: dict[str, list[Watched]] = field(default_factory=dict)

    def lend(self, locale: str) -> Watched:
        """Return a page in a profile that knows of nothing but what its cache holds."""
        idle = self.idle.setdefault(locale, [])
        if not idle:
            context = self.browser.new_context(locale=locale, reduced_motion="reduce")
            context.set_default_timeout(PATIENCE_MS)
            return Watched(context.new_page())
        watched = idle.pop()
        watched.strangers.clear()
        watched.errors.clear()
        return watched

    def take_back(self, watched: Watched, locale: str) -> None:
        """Keep a page for the next test, if it can be made to forget this one."""
        from playwright.sync_api import Error

        if not watched.changed:
            with suppress(Error):  # its server is away
                watched.leave()
                self.idle[locale].append(watched)
                return
        watched.page.context.close()

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
        pytest.skip(
            "no Chromium: apt-get install chromium-headless-shell fonts-noto-cjk, or set ASKBACK_CHROMIUM"
        )
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


@pytest.fixture
def open_page(chromium: Chromium) -> Iterator[Callable[..., Watched]]:
    """Opens pages in blank profiles (`width`, `scheme`, `locale`); afterwards none may have gone astray."""
    opened: list[tuple[str, Watched]] = []

    def make(*, width: int = 1280, height: int = 900, scheme: str = "light", locale: str = "en") -> Watched:
        watched = chromium.lend(locale)
        watched.page.set_viewport_size({"width": width, "height": height})
        watched.page.emulate_media(color_scheme=scheme)
        opened.append((locale, watched))
        return watched

    with chromium.driven():
        yield make
        for locale, watched in opened:
            chromium.take_back(watched, locale)
    for _, watched in opened:
        assert watched.strangers == []
        assert watched.errors == []
