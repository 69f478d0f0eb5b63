"""`askback study bots`: participants that are programs, over real HTTP, with what people do to a server.

A bot opens the study's link and sends what a page sends. What it says is what the built-in player of its seat
would say: it reads that from the server's log, but every word goes over HTTP and counts only once the server
has said so. Bots think, leave in the middle, load their page again and send a turn twice.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final
from urllib.parse import urlparse

import httpx

from logs import LogReader, load_key
from logs.rows import Episode, Turn
from simulator import catalog
from simulator.errors import AskbackError, InputError
from simulator.models import ModelOptions
from simulator.runner.build import Models
from simulator.runner.finding import load_room
from simulator.runner.lobby import PERSON
from simulator.runner.rooms import ActiveEpisode
from simulator.runner.turns import task_turns
from simulator.seats import Reply
from simulator.seeds import derive_seed
from simulator.studies.files import Study
from simulator.studies.links import personal_link
from simulator.studies.questions import Question
from ui.server import move_call_of
from ui.study.actions import MoveCall
from ui.study.pages import ASKED

_CALL: Final = "/gradio_api/component_server/"
_STATE: Final = re.compile(r'data-(episode|number|stage|my-turn|ended)="([^"]*)"')
_NOTICE: Final = re.compile(r'<p class="ab-notice[^>]*>([^<]*)<')
_SAID: Final = {"consent": "yes", "instructions": "ready", "debriefing": "read", "comment": "A bot was here."}
_PATIENCE: Final = 60.0
"""Seconds that a bot goes on trying to reach a server that does not answer."""
_POLL: Final = 0.5
_STARTS: Final = 90.0


@dataclass(frozen=True, kw_only=True)
class Habits:
    """Habits of bots.

    Attributes:
        think: seconds before each turn, on average.
        leave: chance, at each turn, that a bot leaves for good.
        reload: chance that it loads its page again first.
        twice: chance that it sends its turn twice at the same moment.
    """

    think: float = 5.0
    leave: float = 0.002
    reload: float = 0.05
    twice: float = 0.05


@dataclass
class Tally:
    """Outcomes of all bots.

    Attributes:
        seconds: from sending a turn to its answer, of each.
        acknowledged: episode and key of each turn that counted.
        ends: how many bots ended how.
        errors: what ended bots before their time, in words.
        elapsed: seconds from the first bot's beginning to the last one's end.
    """

    seconds: list[float] = field(default_factory=list)
    acknowledged: list[tuple[str, str]] = field(default_factory=list)
    ends: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    elapsed: float = 0.0


@dataclass(frozen=True)
class _Page:
    """The state of an episode, as its page has it."""

    html: str
    episode: str
    number: int
    stage: str
    my_turn: bool
    ended: bool

    @classmethod
    def read(cls, html: str) -> _Page | None:
        """Return it; None of a page that belongs to no episode."""
        # The page itself comes first; lines of a dialogue have numbers, too.
        state = dict(reversed(_STATE.findall(html)))
        if "episode" not in state:
            return None
        return cls(
            html,
            state["episode"],
            int(state["number"]),
            state.get("stage", ""),
            state.get("my-turn") == "1",
            state.get("ended") == "1",
        )


class _Reached(Exception):
    def __init__(self, reply: Reply, knows: Any) -> None:
        self.reply = reply
        self.knows = knows


class _Overheard:
    """A built-in player in the seat of a bot: what it says ends the playing, and nothing is written."""

    def __init__(self, seat: Any) -> None:
        self._seat = seat

    def __getattr__(self, name: str) -> Any:
        return getattr(self._seat, name)

    async def reply(self, view: Any) -> Reply:
        raise _Reached(await self._seat.reply(view), view.task)


class Player:
    """The words of a study's participants, according to the built-in player of their seat.

    Args:
        study: whose participants they are.
        reader: of the log that the server writes.
    """

    def __init__(self, study: Study, reader: LogReader) -> None:
        self._study = study
        self._reader = reader
        self._room: Any = load_room(study.benchmark)
        self._models = Models(options=ModelOptions())
        self._people_alone: set[str] = set()
        self._calls: type[MoveCall] = move_call_of(study.benchmark)
        if study.seats:
            raise InputError(f"study {study.id!r} pairs people: bots take part alone, and play no such study")
        benchmark = catalog.find(study.benchmark)
        self._usual = {seat.name: seat.usual for seat in benchmark.seats}
        if self._usual[study.seat] == PERSON:
            raise InputError(f"study {study.id!r}: {study.benchmark} has no built-in player for {study.seat}")

    async def fields(self, page: _Page, random: Random) -> dict[str, Any]:
        """Return what a page would send as the next turn."""
        stage = page.stage.removesuffix("_again")
        if stage in ASKED:
            asked = [question for question in self._study.questions if question.when == ASKED[stage]]
            return {"text": "", "answers": {question.id: _answer(question, random) for question in asked}}
        if stage in _SAID:
            return {"text": _SAID[stage]}
        episode = self._reader.episode(page.episode)
        turns = task_turns(self._reader.turns(episode.id))
        willing = self._calls.fields_at(stage, episode.options, turns)
        if willing is not None:
            self._people_alone.add(stage)
            return willing
        of_all = [turn for turn in turns if turn.payload.get("kind") not in self._people_alone]
        reached = await self._builtin(episode, of_all)
        return self._calls.fields_of(reached.reply, reached.knows)

    async def _builtin(self, episode: Episode, turns: Sequence[Turn]) -> _Reached:
        # Only the participant's is asked anything.
        seats = {
            seat: self._room.seat_for(seat, self._usual[seat], self._models, episode.options)
            for seat in self._room.seated(episode.options)
        }
        seats[self._study.seat] = _Overheard(seats[self._study.seat])
        live = ActiveEpisode(
            episode=episode,
            item=self._room.read_item(self._reader.item(episode.item_hash)),
            seats=seats,
            record=_stop,
        )
        try:
            await self._room.advance(live, self._room.rebuild(turns))
        except _Reached as reached:
            return reached
        raise InputError(f"{episode.id}: the built-in {self._study.seat} has nothing to say")


async def _stop(turn: Turn) -> None:
    raise _Reached(Reply(text=turn.text, move=turn.payload), None)


def _answer(question: Question, random: Random) -> str | list[str]:
    if question.right is not None:
        return question.right
    if question.kind in ("choice", "choices"):
        chosen = random.choice([*question.choices])
        return [chosen] if question.kind == "choices" else chosen
    if question.kind == "scale":
        return str(random.randint(1, question.points))
    if question.kind == "number":
        return str(question.least if question.least is not None else question.most or 30)
    return "A bot was here."


class Bot:
    """One participant.

    Args:
        site: the server.
        link: of the study, for them alone.
        player: says what they say.
        habits: of all bots.
        tally: of all bots.
        seed: of everything that they do by chance.
    """

    def __init__(
        self, site: Site, link: str, player: Player, habits: Habits, tally: Tally, seed: int
    ) -> None:
        self._site = site
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

    async def _set(self, at: Mapping[str, str]) -> _Page | str:
        """Play a set; return its last page, or how the bot ended instead."""
        html = (await self._site.call("page", at))["html"]
        habits, random = self._habits, self._random
        while True:
            page = _Page.read(html)
            if page is None:
                return "sent away"
            if page.ended:
                return page
            if not page.my_turn:
                await asyncio.sleep(_POLL)
                html = (await self._site.call("page", at))["html"]
                continue
            await asyncio.sleep(random.expovariate(1 / habits.think) if habits.think else 0.0)
            if random.random() < habits.leave:
                return "left"
            if random.random() < habits.reload:
                html = (await self._site.call("page", at))["html"]
                continue
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
            if answer["accepted"]:
                self._tally.acknowledged.append((page.episode, f"{page.number}.{turn['render']}"))
            else:
                why = " ".join(_NOTICE.findall(answer["html"])) or "no reason is given"
                raise InputError(f"turn {page.number}, {page.stage or 'the task'}, was not taken: {why}")
            html = answer["html"]


class Site:
    """A server as a browser calls it; one that is away is asked again, with the same turn."""

    def __init__(self, address: str, client: httpx.AsyncClient) -> None:
        self._address = address
        self._client = client
        self._component: int | None = None

    async def call(self, name: str, data: Mapping[str, Any]) -> dict[str, Any]:
        """Call a function of the pages.

        Raises:
            InputError: if the server refuses the call.
            httpx.HTTPError: if it cannot be reached for a minute.
        """
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                if self._component is None:
                    config = (await self._client.get(f"{self._address}/config")).json()
                    (self._component,) = [
                        each["id"] for each in config["components"] if each["type"] == "html"
                    ]
                body = {
                    "session_hash": "bot",
                    "component_id": self._component,
                    "fn_name": f"call_{name}",
                    "data": data,
                }
                response = await self._client.post(f"{self._address}{_CALL}", json=body)
                answer = response.json() if response.status_code == 200 else {"failed": True}
                if not answer.get("failed"):
                    return dict(answer)
            except (httpx.TransportError, ValueError):
                if time.monotonic() > until:
                    raise
            if time.monotonic() > until:
                raise InputError(f"the server does not take the call {name}")
            await asyncio.sleep(1.0)


async def play(address: str, study: Study, log: Path, n: int, habits: Habits, seed: int) -> Tally:
    """Let bots take part in a study, all at once.

    Args:
        address: of the server.
        study: that it serves.
        log: that the server writes.
        n: bots.
        habits: theirs.
        seed: of what they do by chance; another one makes other participants.
    """
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    tally, key = Tally(), load_key(log)
    # A model may sit opposite: it takes its time.
    async with httpx.AsyncClient(limits=limits, timeout=120.0) as client:
        with LogReader(log) as reader:
            site, player = Site(address, client), Player(study, reader)
            links = (personal_link(study, key, address, f"bot-{seed}-{number}") for number in range(n))
            bots = [
                Bot(site, link, player, habits, tally, derive_seed(seed, "bot", number))
                for number, link in enumerate(links)
            ]
            began = time.perf_counter()
            await asyncio.gather(*(bot.take_part() for bot in bots))
            tally.elapsed = time.perf_counter() - began
    return tally
