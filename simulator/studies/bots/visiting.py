"""Bots of `askback study bots`: simulated participants that load a server over real HTTP, as people do.

A bot opens the study's link and sends what a page would send. It says what the built-in player of its seat
would say: it reads the episode from the server's log, but every turn goes over HTTP and counts only once the
server acknowledges it. Bots think, leave early, reload their page and send turns twice; in studies that pair
people, they wait for each other.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final
from urllib.parse import parse_qs, urlparse

import httpx

from logs import LogReader, load_key
from simulator.errors import AskbackError, InputError
from simulator.seeds import derive_seed
from simulator.studies.bots.player import Page, Player
from simulator.studies.files import Study
from simulator.studies.pairs import LOST
from simulator.studies.people import personal_link

_CALL: Final = "/api/call/"
_NOTICE: Final = re.compile(r'<p class="ab-notice[^>]*>([^<]*)<')
_PATIENCE: Final = 60.0
"""Seconds that a bot keeps asking a server that refuses a call."""
_AWAY: Final = 300.0
"""Seconds that a bot waits for a server that is down: a busy machine takes long to restart it."""
_AS_BROWSERS: Final = httpx.Limits(keepalive_expiry=60.0)
_POLL: Final = 1.5
"""Seconds between two requests of a waiting page (``play.js``)."""


@dataclass(frozen=True, kw_only=True)
class Habits:
    """Habits of bots.

    Attributes:
        think: mean seconds before each turn.
        leave: chance per turn that a bot leaves for good.
        reload: chance per turn that it reloads its page first.
        twice: chance per turn that it sends the turn twice concurrently.
    """

    think: float = 5.0
    leave: float = 0.002
    reload: float = 0.05
    twice: float = 0.05


@dataclass
class Tally:
    """Outcomes of all bots.

    Attributes:
        seconds: response time of each turn.
        acknowledged: episode id and key of each acknowledged turn.
        ends: number of bots by outcome.
        errors: messages of the errors that stopped bots, with counts.
        elapsed: seconds from the first bot's start to the last one's end.
    """

    seconds: list[float] = field(default_factory=list)
    acknowledged: list[tuple[str, str]] = field(default_factory=list)
    ends: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    elapsed: float = 0.0


class Bot:
    """One simulated participant."""

    def __init__(
        self, site: Site, study: Study, link: str, player: Player, habits: Habits, tally: Tally, seed: int
    ) -> None:
        self._site = site
        self._study = study
        self._query = f"study={urlparse(link).path.rpartition('/')[2]}&{urlparse(link).query}"
        self._player = player
        self._habits = habits
        self._tally = tally
        self._random = Random(seed)
        self._key = secrets.token_urlsafe(18)

    async def take_part(self) -> None:
        """Take part until there is no further set, the bot leaves, or something goes wrong."""
        try:
            end = await self._sets()
        except (AskbackError, httpx.HTTPError, LookupError, ValueError) as error:
            end = "failed"
            self._tally.errors[f"{type(error).__name__}: {error}"[:200]] += 1
        self._tally.ends[end] += 1

    async def _sets(self) -> str:
        welcome = {"path": "/study", "query": self._query, "language": "en"}
        await self._site.call("page", welcome)
        answer = await self._site.call("enter_study", {**welcome, "participant_key": self._key})
        done = 0
        while "go" in answer:
            at = {"path": "/play", "query": urlparse(answer["go"]).query, "language": "en"}
            last = await self._set(at)
            if isinstance(last, str):
                return last
            done += 1
            if 'data-act="st-next"' not in last.html:
                return "done"
            answer = await self._site.call("next_set", at)
        if "problem" in answer:
            raise InputError(answer["problem"])
        return "done" if done else "no place"

    async def _set(self, at: Mapping[str, str]) -> Page | str:
        """Play a set; return its last page, or the bot's outcome if it stopped early."""
        html = await self._page(at)
        while True:
            page = Page.read(html)
            if isinstance(page, str) or page.ended:
                return page
            if page.stage == LOST:
                html = (await self._site.call("wait_again", at))["html"]
            elif not page.my_turn:
                html = await self._wait(page, at)
            elif (html := await self._move(page, at)) == "":
                return "left"

    async def _wait(self, page: Page, at: Mapping[str, str]) -> str:
        """Poll the episode's state until it has moved on, and return its page."""
        until = time.monotonic() + self._longest_wait
        while time.monotonic() < until:
            await asyncio.sleep(min(_POLL, self._habits.think + 0.1))
            if page.is_behind(await self._site.state(at["query"])):
                return await self._page(at)
        raise InputError(f"nothing happened for {self._longest_wait:.0f} s, {page.stage or 'in the task'}")

    @property
    def _longest_wait(self) -> float:
        thinking, pairing = 20 * self._habits.think + _PATIENCE, self._study.pairing
        if not self._study.seats:
            return thinking
        # Silence is noticed a beat after the grace period, at the latest.
        return thinking + max(60 * pairing.wait_minutes, 1.25 * pairing.grace_seconds)

    async def _move(self, page: Page, at: Mapping[str, str]) -> str:
        """Think and send a turn; return the resulting page, or an empty text if the bot has left."""
        habits, random = self._habits, self._random
        await asyncio.sleep(random.expovariate(1 / habits.think) if habits.think else 0.0)
        if random.random() < habits.leave:
            if self._study.seats and random.random() < 0.5:
                await self._site.call("leave", at)
            return ""
        if random.random() < habits.reload:
            return await self._page(at)
        turn = {
            **at,
            "render": secrets.token_urlsafe(12),
            "number": page.number,
            "seconds": habits.think,
            **await self._player.fields(page, random),
        }
        began = time.perf_counter()
        times = 2 if random.random() < habits.twice else 1
        answer, *_ = await asyncio.gather(*(self._site.call("send", turn) for _ in range(times)))
        self._tally.seconds.append(time.perf_counter() - began)
        html = str(answer["html"])
        if answer["accepted"]:
            self._tally.acknowledged.append((page.episode, f"{page.number}.{turn['render']}"))
        elif not self._is_parted(page, html):
            why = " ".join(_NOTICE.findall(html)) or "no reason given"
            raise InputError(f"turn {page.number}, {page.stage or 'the task'}, was not accepted: {why}")
        return html

    def _is_parted(self, page: Page, html: str) -> bool:
        """Return True if a partner left while a turn was being sent."""
        now = Page.read(html)
        return bool(self._study.seats) and (isinstance(now, str) or now.stage != page.stage)

    async def _page(self, at: Mapping[str, str]) -> str:
        return str((await self._site.call("page", at))["html"])


class Site:
    """A server, called as a browser calls it; failed calls are repeated with the same turn."""

    def __init__(self, address: str, client: httpx.AsyncClient) -> None:
        self._address = address
        self._client = client

    async def call(self, name: str, data: Mapping[str, Any]) -> dict[str, Any]:
        """Call a function of the pages.

        Raises:
            InputError: if the server refuses the call for `_PATIENCE`.
            httpx.HTTPError: if the server cannot be reached for `_AWAY`.
        """
        address = f"{self._address}{_CALL}{name}"
        return await self._insist(name, lambda: self._client.post(address, json=data))

    async def state(self, query: str) -> dict[str, Any]:
        """Return the state of the episode of the page with this query."""
        headers = {"X-Askback-Seat": parse_qs(query)["t"][0]}
        address = f"{self._address}/api/state"
        return await self._insist("state", lambda: self._client.get(address, headers=headers))

    async def _insist(self, name: str, ask: Callable[[], Awaitable[httpx.Response]]) -> dict[str, Any]:
        until, away = time.monotonic() + _PATIENCE, time.monotonic() + _AWAY
        while True:
            try:
                response = await ask()
                answer = response.json() if response.status_code == 200 else {"failed": True}
                if not answer.get("failed"):
                    return dict(answer)
            except httpx.TransportError:
                if time.monotonic() > away:
                    raise
                until = time.monotonic() + _PATIENCE
            except ValueError:  # an error page: the server is not ready yet
                pass
            if time.monotonic() > until:
                raise InputError(f"the server does not accept the call {name}")
            await asyncio.sleep(1.0)


async def play(address: str, study: Study, log: Path, n: int, habits: Habits, seed: int) -> Tally:
    """Let bots take part in a study concurrently."""
    tally, key = Tally(), load_key(log)
    secure = httpx.create_ssl_context()
    async with AsyncExitStack() as stack:
        reader = stack.enter_context(LogReader(log))
        player, bots = Player(study, reader), list[Bot]()
        for number in range(n):
            # Each bot has its own client, as each browser does: a client scans all its connections at each
            # request. The long timeout is for slow models.
            client = await stack.enter_async_context(
                httpx.AsyncClient(verify=secure, timeout=120.0, limits=_AS_BROWSERS)
            )
            link = personal_link(study, key, address, f"bot-{seed}-{number}")
            chance = derive_seed(seed, "bot", number)
            bots.append(Bot(Site(address, client), study, link, player, habits, tally, chance))
        began = time.perf_counter()
        await asyncio.gather(*(bot.take_part() for bot in bots))
        tally.elapsed = time.perf_counter() - began
    return tally
