"""The response cache: answers on disk by request key, and one call for identical requests in flight."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from logs.rows import now
from simulator.errors import InputError
from simulator.models.base import Completion, Request, TokenLogprob, Usage
from simulator.models.errors import Malformed
from simulator.models.keys import request_key
from simulator.models.layers import Backend, Layer
from simulator.models.schema import parse

_T = TypeVar("_T")
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

    async def put(self, key: str, model: str, completion: Completion) -> None:
        """Store an answer, whole or not at all."""
        await self._in_thread(lambda: self._put(key, model, encode(completion)))

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
    )


def decode(stored: str) -> Completion:
    """The completion that `encode` wrote, marked as cached: no request was sent, nothing was paid."""
    content: dict[str, Any] = json.loads(stored)
    return Completion(
        text=content["text"],
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


@dataclass(slots=True)
class _Flight:
    """A call under way and how many wait for it."""

    task: asyncio.Task[Completion]
    waiting: int = 0


class Cached(Layer):
    """Answers from the cache; identical requests at the same time make one call.

    Coalescing needs the cache to be sound: with it, a second identical request gets the first one's
    answer whether it comes during or after the first. Only parsed answers are stored, never failures.
    """

    def __init__(self, inner: Backend, cache: ResponseCache) -> None:
        super().__init__(inner)
        self.cache = cache
        self._flights: dict[str, _Flight] = {}
        self._tasks: set[asyncio.Task[Completion]] = set()

    async def complete(self, request: Request) -> Completion:
        """Answer `request`, from the cache if it has been answered before."""
        key = request_key(self.identity, request)
        flight = self._flights.get(key)
        if flight is not None:
            return shared(await self._wait(key, flight))
        task = asyncio.create_task(self._answer(key, request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        flight = self._flights[key] = _Flight(task)
        return await self._wait(key, flight)

    async def close(self) -> None:
        """Give up what is under way, close the cache and what it wraps."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.cache.close()
        await super().close()

    async def _answer(self, key: str, request: Request) -> Completion:
        stored = await self.cache.get(key)
        if stored is not None:
            try:
                return _parsed(stored, request)
            except Malformed:
                pass  # the schema's own checks have changed since; ask anew
        completion = await self.inner.complete(request)
        await self.cache.put(key, self.name, completion)
        return completion

    async def _wait(self, key: str, flight: _Flight) -> Completion:
        """Wait for a flight; it is given up when nobody waits for it any more."""
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if flight.waiting == 0:
                self._flights.pop(key, None)
                if not flight.task.done():
                    flight.task.cancel()


def shared(completion: Completion) -> Completion:
    """An answer that another caller's request brought."""
    return replace(completion, cached=True, attempts=0, cost=0.0)


def _parsed(completion: Completion, request: Request) -> Completion:
    if request.schema is None:
        return completion
    return replace(completion, parsed=parse(completion.text, request.schema))
