"""Adaptive concurrency limits of servers, and circuit breakers.

A server gets as many concurrent requests as it takes without complaining. Like TCP, the limit increases
additively and decreases multiplicatively: it doubles per round until the first complaint (429 or overloaded),
is halved at each complaint, and then grows by one per round. A complaint with Retry-After also holds back all
further requests to that server for that time. A server that is broken, silent, or asks for a longer pause
than we wait is given up; otherwise every episode of a run would wait for the same silent server in turn. All
models of one server share one `Limiter` and its `Circuit`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final
from weakref import WeakKeyDictionary

from simulator.models.base import Request, ScoreRequest
from simulator.models.errors import ModelError, RateLimited, ServerDown, TimedOut, Unavailable
from simulator.models.layers import AnswerT, Backend, Layer, Send

START = 16
_SAY_AFTER = 10.0  # seconds of waiting before a message
MOST_WAIT: Final = 300.0
"""Longest pause, in seconds, that is granted to a server that asks for one."""

_TIMED_OUT: Final = 3  # consecutive time-outs after which a server is given up
_FAILED: Final = 6  # consecutive failures of any kind after which it is given up,
_FAILED_SECONDS: Final = 60.0  # if they have lasted this long: servers restart
_COOLING: Final = 30.0  # seconds until the next attempt
_SAY_EVERY: Final = 30.0

_log = logging.getLogger(__name__)


class Circuit:
    """A circuit breaker for one server; while it is open, nothing is sent."""

    def __init__(self, server: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Start with a closed circuit for the server of this name."""
        self.server = server
        self._clock = clock
        self._failures = 0
        self._timed_out = 0
        self._failing_since: float | None = None
        self._open_until = float("-inf")
        self._why = ""
        self._said_at = float("-inf")

    def require_closed(self) -> None:
        """Check that requests may be sent.

        Raises:
            ServerDown: if the server was given up recently; says why.
        """
        if self._clock() < self._open_until:
            raise ServerDown(self._why)

    def record_success(self) -> None:
        """Record an answer."""
        self._failures = self._timed_out = 0
        self._failing_since = None

    def record_failure(self, error: ModelError, since: float) -> None:
        """Record the failure of a request sent at `since`.

        Raises:
            ServerDown: if the server is now given up.
        """
        pause = error.retry_after
        if pause is not None and pause > MOST_WAIT:
            self._give_up(
                f"{self.server} asks for a pause of {duration(pause)}, longer than the limit of "
                f"{duration(MOST_WAIT)} ({error})",
                error,
                pause,
            )
        if isinstance(error, RateLimited) or not isinstance(error, TimedOut | Unavailable):
            # The server responds, even if with an error.
            return self.record_success()
        self._failures += 1
        self._timed_out = self._timed_out + 1 if isinstance(error, TimedOut) else 0
        self._failing_since = since if self._failing_since is None else min(self._failing_since, since)
        lasting = self._clock() - self._failing_since
        if self._timed_out >= _TIMED_OUT or (self._failures >= _FAILED and lasting >= _FAILED_SECONDS):
            self._give_up(
                f"{self.server} has not answered for {duration(lasting)} "
                f"({self._failures} requests failed; last error: {error})",
                error,
                _COOLING,
            )

    def say(self, message: str) -> None:
        """Log a message about the server, at most once every `_SAY_EVERY` seconds."""
        if self._clock() - self._said_at >= _SAY_EVERY:
            self._said_at = self._clock()
            _log.warning("%s: %s", self.server, message)

    def _give_up(self, why: str, error: ModelError, seconds: float) -> None:
        self._open_until = self._clock() + min(seconds, MOST_WAIT)
        self._why = why
        self.record_success()  # after the pause, requests may show whether it is back
        raise ServerDown(why) from error


def duration(seconds: float) -> str:
    """Return seconds in readable form: ``5 s``, ``3 min``, ``24 h``."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


class Limiter:
    """Slots for requests at one provider, for one event loop.

    Attributes:
        limit: how many requests may be in flight now (rounded down).
        maximum: upper bound of `limit`.
        circuit: the server's circuit breaker.
        closed_until: end of a pause that the server has asked for.
    """

    def __init__(
        self,
        maximum: int,
        *,
        start: int = START,
        server: str = "the server",
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Make a limiter for the named server; `clock` and `sleep` are for tests."""
        self.circuit = Circuit(server, clock=clock)
        self.maximum = maximum
        self.limit = float(min(start, maximum))
        self.active = 0
        self._slow_start = True
        self._cut_at = float("-inf")
        self.closed_until = float("-inf")
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._clock = clock
        self._sleep = sleep

    @property
    def has_place(self) -> bool:
        """Return True if another request may be sent."""
        return self.active < int(self.limit)

    async def acquire(self) -> float:
        """Wait for a slot; return the time at which it was assigned, for `record_complaint`."""
        if not self.has_place or self._waiting:
            await self._queue()
        else:
            self.active += 1
        try:
            while (pause := self.closed_until - self._clock()) > 0:
                await self._sleep(pause)
        except BaseException:
            self.release()
            raise
        return self._clock()

    def release(self) -> None:
        """Release a slot."""
        self.active -= 1
        self._admit()

    def record_success(self) -> None:
        """Raise the limit after an answer, unless too few requests are in flight to test it."""
        if self.active >= self.limit / 2 or self._waiting:
            step = 1.0 if self._slow_start else 1.0 / self.limit
            self.limit = min(float(self.maximum), self.limit + step)

    def record_complaint(self, since: float, retry_after: float | None = None) -> None:
        """Halve the limit after a complaint about a request sent at `since`.

        Complaints about requests sent before the last cut do not count against the new limit.
        """
        now = self._clock()
        if retry_after is not None:
            self.closed_until = max(self.closed_until, now + retry_after)
        if since >= self._cut_at:
            self._slow_start = False
            self._cut_at = now
            self.limit = max(1.0, self.limit / 2)

    def lower(self, maximum: int) -> None:
        """Lower the maximum from now on."""
        self.maximum = min(self.maximum, maximum)
        self.limit = min(self.limit, float(self.maximum))

    def restart(self) -> None:
        """Start again with one slot, as for an unknown server."""
        self.limit, self._slow_start = 1.0, True

    async def _queue(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.release()  # the slot came at the same moment
            raise

    def _admit(self) -> None:
        while self._waiting and self.has_place:
            waiter = self._waiting.popleft()
            if not waiter.done():
                self.active += 1
                waiter.set_result(None)


class Limited(Layer):
    """Sends a request when the provider has a free slot."""

    def __init__(self, inner: Backend, maximum: int, limiter: Limiter | None = None) -> None:
        """Wrap `inner`; without a `limiter`, use the one shared by all models of its server."""
        super().__init__(inner)
        self._maximum = maximum
        self._limiter = limiter

    async def intercept(self, request: Request | ScoreRequest, send: Send[AnswerT]) -> AnswerT:
        """Send `request` once a slot is free.

        Raises:
            ServerDown: if the server has been given up.
        """
        identity = self.identity
        limiter = self._limiter or shared_limiter(identity.provider, identity.base_url, self._maximum)
        circuit = limiter.circuit
        circuit.require_closed()
        since = await limiter.acquire()
        try:
            circuit.require_closed()  # the server may have been given up in the meantime
            with log_if_slow(self.name, circuit):
                answer = await send()
            limiter.record_success()
            circuit.record_success()
        except ModelError as error:
            pause = error.retry_after
            if isinstance(error, RateLimited):
                limiter.record_complaint(since, None if pause is None else min(pause, MOST_WAIT))
            if pause is not None and _SAY_AFTER < pause <= MOST_WAIT:
                circuit.say(f"asks for a pause of {duration(pause)}; waiting")
            circuit.record_failure(error, since)
            raise
        finally:
            limiter.release()
        return answer


@contextmanager
def log_if_slow(name: str, circuit: Circuit) -> Iterator[None]:
    """Log a message now and then while an answer is slow."""
    loop = asyncio.get_running_loop()
    start = loop.time()

    timers: list[asyncio.TimerHandle] = []

    def say() -> None:
        circuit.say(f"still waiting for an answer from {name}, after {duration(loop.time() - start)}")
        timers[:] = [loop.call_later(_SAY_AFTER, say)]

    timers.append(loop.call_later(_SAY_AFTER, say))
    try:
        yield
    finally:
        timers[0].cancel()


# One set per event loop: futures must not cross loops, and the app's loop runs next to a batch's.
_shared: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, str], Limiter]] = WeakKeyDictionary()


def shared_limiter(provider: str, base_url: str, maximum: int) -> Limiter:
    """Return the running loop's limiter for a provider's server; the smallest requested maximum applies."""
    limiters = _shared.setdefault(asyncio.get_running_loop(), {})
    limiter = limiters.get((provider, base_url))
    if limiter is None:
        server = f"the server {base_url}" if base_url else provider
        limiter = limiters[provider, base_url] = Limiter(maximum, server=server)
    elif maximum < limiter.maximum:
        limiter.lower(maximum)
    return limiter
