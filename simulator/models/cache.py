"""The response cache: answers on disk by request key, and one call for identical requests in flight."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from logs.rows import now
from simulator.errors import InputError
from simulator.models.base import Completion, Request, TokenLogprob, Usage
from simulator.models.checked import checked
from simulator.models.errors import Malformed
from simulator.models.keys import request_key
from simulator.models.layers import Backend, Layer
from simulator.models.schema import parse
from simulator.models.scoring import Likelihood, Position, Scored, ScoreRequest

_T = TypeVar("_T")
_Answer = TypeVar("_Answer", Completion, Scored)
_CREATE = """
CREATE TABLE IF NOT EXISTS responses (
    key TEXT PRIMARY KEY,
    model TEXT NOT NULL,
    response TEXT NOT NULL,
    created_at TEXT NOT NULL
) WITHOUT ROWID
"""
_LOCK_SECONDS = 60.0


class ResponseCache:
    """Answers by request key in an SQLite file that several processes may use at once.

    SQLite runs in a thread of the cache's own, so the event loop waits for no lock and no disk.
    """

    def __init__(self, path: Path) -> None:
        """Use the file at `path`, which is made at the first use."""
        self.path = path
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="response-cache")
        self._connection: sqlite3.Connection | None = None

    async def get(self, key: str) -> Completion | None:
        """The answer stored under `key`, as it first came (not parsed), or None."""
        stored = await self._in_thread(lambda: self._get(key))
        return None if stored is None else decode(stored)

    async def get_scored(self, key: str) -> Scored | None:
        """The scored text stored under `key`, or None."""
        stored = await self._in_thread(lambda: self._get(key))
        return None if stored is None else decode_scored(stored)

    async def put(self, key: str, model: str, answer: Completion | Scored) -> None:
        """Store an answer, whole or not at all."""
        content = encode_scored(answer) if isinstance(answer, Scored) else encode(answer)
        await self._in_thread(lambda: self._put(key, model, content))

    async def close(self) -> None:
        """Close the file; the cache cannot be used afterwards."""
        await self._in_thread(self._close)
        self._thread.shutdown()

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _get(self, key: str) -> str | None:
        row = self._open().execute("SELECT response FROM responses WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def _put(self, key: str, model: str, response: str) -> None:
        self._open().execute(
            "INSERT OR REPLACE INTO responses (key, model, response, created_at) VALUES (?, ?, ?, ?)",
            (key, model, response, now()),
        )

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            try:
                self._connection = _connect(self.path)
            except (OSError, sqlite3.Error) as error:
                raise InputError(f"cannot use the response cache {self.path}: {error}") from error
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _connect(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=_LOCK_SECONDS, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(_CREATE)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def encode(completion: Completion) -> str:
    """A completion as JSON text, without what belongs to the one call (cost, attempts)."""
    usage = completion.usage
    return json.dumps(
        {
            "text": completion.text,
            "finish_reason": completion.finish_reason,
            "usage": [usage.input_tokens, usage.output_tokens, usage.cached_input_tokens],
            "logprobs": [[each.token, each.logprob, each.top] for each in completion.logprobs],
        }
        | ({"samples": completion.samples} if completion.samples else {})
        | ({"thought": completion.thought} if completion.thought else {})
    )


def decode(stored: str) -> Completion:
    """The completion that `encode` wrote, marked as cached: no request was sent, nothing was paid."""
    content: dict[str, Any] = json.loads(stored)
    return Completion(
        text=content["text"],
        samples=tuple(content.get("samples", ())),
        thought=content.get("thought", ""),
        finish_reason=content["finish_reason"],
        usage=Usage(*content["usage"]),
        logprobs=tuple(
            TokenLogprob(token, logprob, tuple((other, value) for other, value in top))
            for token, logprob, top in content["logprobs"]
        ),
        cost=0.0,
        cached=True,
        attempts=0,
    )


def encode_scored(scored: Scored) -> str:
    """A scored text as JSON text, without what belongs to the one call (cost, attempts)."""
    usage = scored.usage
    return json.dumps(
        {
            "positions": [[each.offset, each.token, each.logprob, each.top] for each in scored.positions],
            "usage": [usage.input_tokens, usage.output_tokens, usage.cached_input_tokens],
        }
        | ({"likelihoods": scored.likelihoods} if scored.likelihoods else {})
    )


def decode_scored(stored: str) -> Scored:
    """What `encode_scored` wrote, marked as cached: no request was sent, nothing was paid."""
    content: dict[str, Any] = json.loads(stored)
    return Scored(
        positions=tuple(
            Position(offset=offset, token=token, logprob=logprob, top=tuple((each, n) for each, n in top))
            for offset, token, logprob, top in content["positions"]
        ),
        likelihoods=tuple(Likelihood(*each) for each in content.get("likelihoods", ())),
        usage=Usage(*content["usage"]),
        cost=0.0,
        cached=True,
        attempts=0,
    )


@dataclass(slots=True)
class _Flight(Generic[_Answer]):
    """A call under way and how many wait for it."""

    task: asyncio.Task[_Answer]
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class _Flights(Generic[_Answer]):
    """All calls of one kind under way."""

    by_key: dict[str, _Flight[_Answer]] = field(default_factory=dict)
    tasks: set[asyncio.Task[_Answer]] = field(default_factory=set)

    async def join(self, key: str, start: Callable[[], Coroutine[Any, Any, _Answer]]) -> _Answer:
        """The answer of the call under way for `key`, or of one that is begun now."""
        flight = self.by_key.get(key)
        if flight is not None:
            return shared(await self._wait(key, flight))
        task = asyncio.create_task(start())
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        flight = self.by_key[key] = _Flight(task)
        return await self._wait(key, flight)

    async def give_up(self) -> None:
        """Cancel them all."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def _wait(self, key: str, flight: _Flight[_Answer]) -> _Answer:
        """Wait for a flight; it is given up when nobody waits for it any more."""
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if flight.waiting == 0:
                self.by_key.pop(key, None)
                if not flight.task.done():
                    flight.task.cancel()


class Cached(Layer):
    """Answers from the cache; identical requests at the same time make one call.

    Coalescing needs the cache to be sound: with it, a second identical request gets the first one's
    answer whether it comes during or after the first. Only parsed answers are stored, never failures.
    """

    def __init__(self, inner: Backend, cache: ResponseCache) -> None:
        super().__init__(inner)
        self.cache = cache
        self._completing: _Flights[Completion] = _Flights()
        self._scoring: _Flights[Scored] = _Flights()

    async def complete(self, request: Request) -> Completion:
        """Answer `request`, from the cache if it has been answered before."""
        key = request_key(self.identity, request)
        return await self._completing.join(key, lambda: self._answer(key, request))

    async def score(self, request: ScoreRequest) -> Scored:
        """Score a text, from the cache if it has been scored before."""
        key = request_key(self.identity, request)
        return await self._scoring.join(key, lambda: self._score(key, request))

    async def close(self) -> None:
        """Give up what is under way, close the cache and what it wraps."""
        await self._completing.give_up()
        await self._scoring.give_up()
        await self.cache.close()
        await super().close()

    async def _answer(self, key: str, request: Request) -> Completion:
        stored = await self.cache.get(key)
        if stored is not None:
            try:
                return _parsed(checked(self.name, stored), request)
            except Malformed:
                pass  # the checks have changed since; ask anew
        completion = await self.inner.complete(request)
        await self.cache.put(key, self.name, completion)
        return completion

    async def _score(self, key: str, request: ScoreRequest) -> Scored:
        stored = await self.cache.get_scored(key)
        if stored is not None:
            with suppress(Malformed):
                return checked(self.name, stored)
        scored = await self.inner.score(request)
        await self.cache.put(key, self.name, scored)
        return scored


def shared(answer: _Answer) -> _Answer:
    """An answer that another caller's request brought."""
    return replace(answer, cached=True, attempts=0, cost=0.0)


def _parsed(completion: Completion, request: Request) -> Completion:
    if request.schema is None:
        return completion
    return replace(completion, parsed=parse(completion.text, request.schema))
