"""How many requests a server is sent at once, and when it is given up.

As many as it takes without complaining. Additive increase, multiplicative decrease, as TCP does it: the limit
doubles per round until the first complaint (429 or overloaded), is halved at each complaint, and then grows
by one per round. A complaint with Retry-After also holds back every further request to that server for so
long. One that is broken, silent, or asks to be left alone for longer than anybody waits is given up: else
every episode of a run would wait for the same silent server in turn. All models of one server share one
`Limiter` and its `Circuit`.
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
_SAY_AFTER = 10.0  # seconds that nobody needs to be told of
MOST_WAIT: Final = 300.0
"""Seconds that a server is waited for at most when it asks to be."""

_TIMED_OUT: Final = 3  # requests without an answer, one after the other, and no answer to any other
_FAILED: Final = 6  # requests that failed otherwise
_FAILED_SECONDS: Final = 60.0  # and for how long at least: servers restart
_COOLING: Final = 30.0  # seconds until somebody may try again
_SAY_EVERY: Final = 30.0

_log = logging.getLogger(__name__)


class Circuit:
    """The health of one server, as far as it is known. Open means that nothing is sent."""

    def __init__(self, server: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Watch a server."""
        self.server = server
        self._clock = clock
        self._failures = 0
        self._timed_out = 0
        self._failing_since: float | None = None
        self._open_until = float("-inf")
        self._why = ""
        self._said_at = float("-inf")

    def require_closed(self) -> None:
        """Make sure that requests may be sent.

        Raises:
            ServerDown: if the server was given up a moment ago; says why.
        """
        if self._clock() < self._open_until:
            raise ServerDown(self._why)

    def succeeded(self) -> None:
        """Note that the server has answered."""
        self._failures = self._timed_out = 0
        self._failing_since = None

    def failed(self, error: ModelError, since: float) -> None:
        """Note that a request sent at `since` failed.

        Raises:
            ServerDown: if the server is given up for it.
        """
        asked = error.retry_after
        if asked is not None and asked > MOST_WAIT:
            self._give_up(
                f"{self.server} asks not to be called for {duration(asked)}; nobody waits for more than "
                f"{duration(MOST_WAIT)} ({error})",
                error,
                asked,
            )
        if isinstance(error, RateLimited) or not isinstance(error, TimedOut | Unavailable):
            # It is there and answers, if not what one would like to hear.
            return self.succeeded()
        self._failures += 1
        self._timed_out = self._timed_out + 1 if isinstance(error, TimedOut) else 0
        self._failing_since = since if self._failing_since is None else min(self._failing_since, since)
        lasting = self._clock() - self._failing_since
        if self._timed_out >= _TIMED_OUT or (self._failures >= _FAILED and lasting >= _FAILED_SECONDS):
            self._give_up(
                f"{self.server} has not answered for {duration(lasting)} "
                f"({self._failures} requests; the last: {error})",
                error,
                _COOLING,
            )

    def say(self, message: str) -> None:
        """Tell whoever watches the run who is waited for, now and then."""
        if self._clock() - self._said_at >= _SAY_EVERY:
            self._said_at = self._clock()
            _log.warning("%s: %s", self.server, message)

    def _give_up(self, why: str, error: ModelError, seconds: float) -> None:
        self._open_until = self._clock() + min(seconds, MOST_WAIT)
        self._why = why
        self.succeeded()  # after the pause one request may show whether it is back
        raise ServerDown(why) from error


def duration(seconds: float) -> str:
    """Return a time for people: ``5 s``, ``3 min``, ``24 h``."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


class Limiter:
    """Places at one provider, for one event loop.

    Attributes:
        limit: how many requests may be under way now (whole part).
        maximum: what `limit` never exceeds.
        circuit: whether anything is sent at all.
        closed_until: when the server may be called again, if it has asked to be left alone.
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
        """Make a limiter for a server of that name; `clock` and `sleep` are there for tests."""
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
        """Return True if another request may be under way."""
        return self.active < int(self.limit)

    async def acquire(self) -> float:
        """Wait for a place; returns when it was got, which `success` and `complaint` want to know."""
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
        """Give a place back."""
        self.active -= 1
        self._admit()

    def success(self) -> None:
        """Let the limit grow after an answer, unless so few are under way that it says nothing."""
        if self.active >= self.limit / 2 or self._waiting:
            step = 1.0 if self._slow_start else 1.0 / self.limit
            self.limit = min(float(self.maximum), self.limit + step)

    def complaint(self, since: float, retry_after: float | None = None) -> None:
        """Halve the limit, as the provider complained of a request sent at `since`.

        Complaints of requests sent before the last cut say nothing about the limit after it.
        """
        now = self._clock()
        if retry_after is not None:
            self.closed_until = max(self.closed_until, now + retry_after)
        if since >= self._cut_at:
            self._slow_start = False
            self._cut_at = now
            self.limit = max(1.0, self.limit / 2)

    def lower(self, maximum: int) -> None:
        """Make sure that `maximum` is not exceeded from now on."""
        self.maximum = min(self.maximum, maximum)
        self.limit = min(self.limit, float(self.maximum))

    def restart(self) -> None:
        """Begin with one place again, as with a server of which nothing is known."""
        self.limit, self._slow_start = 1.0, True

    async def _queue(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.release()  # the place came at the same moment
            raise

    def _admit(self) -> None:
        while self._waiting and self.has_place:
            waiter = self._waiting.popleft()
            if not waiter.done():
                self.active += 1
                waiter.set_result(None)


class Limited(Layer):
    """Sends a request when the provider has a place for it."""

    def __init__(self, inner: Backend, maximum: int, limiter: Limiter | None = None) -> None:
        """Wrap `inner`; without a `limiter`, the one that all models of its provider share."""
        super().__init__(inner)
        self._maximum = maximum
        self._limiter = limiter

    async def around(self, request: Request | ScoreRequest, send: Send[AnswerT]) -> AnswerT:
        """Send `request` once there is a place.

        Raises:
            ServerDown: if the server has been given up.
        """
        identity = self.identity
        limiter = self._limiter or shared_limiter(identity.provider, identity.base_url, self._maximum)
        circuit = limiter.circuit
        circuit.require_closed()
        since = await limiter.acquire()
        try:
            circuit.require_closed()  # it may have been given up while this request waited
            with watched(self.name, circuit):
                answer = await send()
            limiter.success()
            circuit.succeeded()
        except ModelError as error:
            pause = error.retry_after
            if isinstance(error, RateLimited):
                limiter.complaint(since, None if pause is None else min(pause, MOST_WAIT))
            if pause is not None and _SAY_AFTER < pause <= MOST_WAIT:
                circuit.say(f"asks to be left alone for {duration(pause)}; waiting")
            circuit.failed(error, since)
            raise
        finally:
            limiter.release()
        return answer


@contextmanager
def watched(name: str, circuit: Circuit) -> Iterator[None]:
    """Say who is waited for while an answer takes long."""
    loop = asyncio.get_running_loop()
    start = loop.time()

    timers: list[asyncio.TimerHandle] = []

    def say() -> None:
        circuit.say(f"waiting for an answer of {name}, for {duration(loop.time() - start)} so far")
        timers[:] = [loop.call_later(_SAY_AFTER, say)]

    timers.append(loop.call_later(_SAY_AFTER, say))
    try:
        yield
    finally:
        timers[0].cancel()


# One event loop, one set: futures must not cross loops, and the app runs its own beside a batch's.
_shared: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, str], Limiter]] = WeakKeyDictionary()


def shared_limiter(provider: str, base_url: str, maximum: int) -> Limiter:
    """Return the running loop's limiter for a provider's server; of several maxima, the smallest counts."""
    limiters = _shared.setdefault(asyncio.get_running_loop(), {})
    limiter = limiters.get((provider, base_url))
    if limiter is None:
        server = f"the server {base_url}" if base_url else provider
        limiter = limiters[provider, base_url] = Limiter(maximum, server=server)
    elif maximum < limiter.maximum:
        limiter.lower(maximum)
    return limiter
