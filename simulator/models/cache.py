"""The response cache, and the layer that records every call, failed ones included, in the log.

Answers are stored on disk by request key; identical requests in flight become one call.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import secrets
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from logs.rows import ModelCall, now
from simulator.errors import InputError
from simulator.models.answers import IMPOSSIBLE, answer_values, check_answer, completion_of, scored_of
from simulator.models.base import Answer, Completion, Request, Scored, ScoreRequest, Usage
from simulator.models.errors import Malformed, ModelError
from simulator.models.keys import content, request_key
from simulator.models.layers import AnswerT, Backend, Layer, Send, amend
from simulator.models.schema import parse_answer

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
    """Answers by request key in an SQLite file that several processes may share.

    SQLite runs in a separate thread, so the event loop never waits for a lock or the disk.
    """

    def __init__(self, path: Path) -> None:
        """Use the file at `path`, which is created on first use."""
        self.path = path
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="response-cache")
        self._connection: sqlite3.Connection | None = None

    async def get(self, key: str) -> Completion | Scored | None:
        """Return the answer stored under `key`, unparsed, or None."""
        text = await self._in_thread(lambda: self._get(key))
        return None if text is None else decode(text)

    async def put(self, key: str, model: str, answer: Answer) -> None:
        """Store an answer atomically."""
        content = encode(answer)
        await self._in_thread(lambda: self._put(key, model, content))

    async def close(self) -> None:
        """Close the file; the cache cannot be used any more."""
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


def encode(answer: Answer) -> str:
    """Return an answer as JSON text."""
    usage = answer.usage
    tokens = [usage.input_tokens, usage.output_tokens, usage.cached_input_tokens]
    server = {"server": answer.server} if answer.server else {}
    return json.dumps({**answer_values(answer), "usage": tokens, **server})


def decode(text: str) -> Completion | Scored:
    """Return the answer that `encode` wrote, marked as cached: with no attempts and no cost."""
    row: dict[str, Any] = json.loads(text)
    answer = scored_of(row) if "positions" in row else completion_of(row)
    return amend(
        answer, usage=Usage(*row["usage"]), cost=0.0, cached=True, attempts=0, server=row.get("server", "")
    )


@dataclass(slots=True)
class _Flight:
    """A call in flight and the number of its waiters."""

    task: asyncio.Task[Any]
    waiting: int = 0


class Cached(Layer):
    """Answers from the cache; identical concurrent requests become one call.

    Coalescing makes the result independent of timing: a second identical request gets the first one's
    answer whether it comes during or after the first. Only parsed answers are stored, never failures.
    """

    def __init__(self, inner: Backend, cache: ResponseCache) -> None:
        super().__init__(inner)
        self.cache = cache
        self._flights: dict[str, _Flight] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    async def intercept(self, request: Request | ScoreRequest, send: Send[AnswerT]) -> AnswerT:
        """Return the stored answer, that of an identical call in flight, or that of a new call."""
        key = request_key(self.identity, request)
        if (flight := self._flights.get(key)) is not None:
            answer: AnswerT = await self._wait(key, flight)
            return amend(answer, cached=True, attempts=0, cost=0.0)
        task = asyncio.create_task(self._answer(key, request, send))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        flight = self._flights[key] = _Flight(task)
        answer = await self._wait(key, flight)
        return answer

    async def close(self) -> None:
        """Cancel calls in flight, and close the cache and the wrapped backend."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.cache.close()
        await super().close()

    async def _wait(self, key: str, flight: _Flight) -> Any:
        """Wait for a call in flight; it is cancelled when its last waiter is."""
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if flight.waiting == 0:
                self._flights.pop(key, None)
                if not flight.task.done():
                    flight.task.cancel()

    async def _answer(self, key: str, request: Request | ScoreRequest, send: Send[AnswerT]) -> Any:
        cached = await self.cache.get(key)
        if cached is not None:
            with suppress(Malformed):  # the checks have changed since: ask again
                return parse_answer(check_answer(self.name, cached), request)
        answer = await send()
        await self.cache.put(key, self.name, answer)
        return answer


Recorder = Callable[[ModelCall], object]


class Recorded(Layer):
    """Passes a `ModelCall` to `recorder` after every call."""

    def __init__(
        self, inner: Backend, recorder: Recorder, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(inner)
        self._recorder = recorder
        self._clock = clock
        self._extra = dict(self.identity.extra)
        self._ignored = sorted(self.ignored)
        # A random start, then a counter: a random id per call would cost more than the rest.
        start = secrets.token_hex(12)
        self._ids = (f"{start}{number:08x}" for number in itertools.count())

    async def intercept(self, request: Request | ScoreRequest, send: Send[AnswerT]) -> AnswerT:
        """Return the answer, and record the call even if it fails."""
        start = self._clock()
        try:
            answer = await send()
        except ModelError as error:
            response = {"text": error.text, "message": str(error), **_server(error)}
            self._record(request, start, error, response, error=type(error).__name__)
            raise
        self._record(request, start, answer, response_row(answer), cached=answer.cached)
        return answer

    def _record(
        self,
        request: Request | ScoreRequest,
        start: float,
        outcome: Answer | ModelError,
        response: dict[str, Any],
        **more: Any,
    ) -> None:
        entry = content(request)
        entry["key"] = request_key(self.identity, request)
        entry["base_url"] = self.identity.base_url
        entry["extra"] = self._extra
        entry["ignored"] = self._ignored
        self._recorder(
            ModelCall(
                id=next(self._ids),
                episode_id=request.episode_id,
                turn_number=request.turn_number,
                purpose=request.purpose,
                model=self.name,
                prompt_version=request.prompt_version,
                request=entry,
                response=response,
                input_tokens=outcome.usage.input_tokens,
                output_tokens=outcome.usage.output_tokens,
                cost=outcome.cost,
                seconds=self._clock() - start,
                attempts=outcome.attempts,
                **more,
            )
        )


def response_row(answer: Answer) -> dict[str, Any]:
    """Return an answer as the log stores it (`ModelCall.response`)."""
    row = answer_values(answer, least=IMPOSSIBLE)
    if isinstance(answer, Completion):
        is_typed = isinstance(answer.parsed, BaseModel)
        row["parsed"] = answer.parsed.model_dump(mode="json") if is_typed else answer.parsed
    return {**row, "cached_input_tokens": answer.usage.cached_input_tokens, **_server(answer)}


def _server(outcome: Answer | ModelError) -> dict[str, str]:
    return {"server": outcome.server} if outcome.server else {}
