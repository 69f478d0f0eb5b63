"""Limits per client on the size, duration and frequency of requests.

The players' pages send a few hundred bytes per call and rarely start an episode. A client that sends more,
more slowly or more often than any page is refused before it costs memory or a row in the log.
"""

from __future__ import annotations

import asyncio
import ipaddress
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from typing import Any, Final, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.auto import AutoHTTPProtocol

MAX_BODY: Final = 256 * 1024
"""Maximum bytes of a request body; the longest form of a page takes about 60 KB."""
BODY_SECONDS: Final = 20.0
"""Seconds within which the body must arrive."""
HEAD_SECONDS: Final = 20.0
"""Seconds within which a request's head must arrive, from the connection or the last response."""
MAX_HEAD: Final = 64 * 1024
"""Maximum bytes of a request's head, approximately: received data is counted in chunks."""
STARTS_PER_MINUTE: Final = 60
_BURST: Final = 60
_KEPT_CLIENTS: Final = 10_000
_LONGEST_WAIT: Final = 300.0
T = TypeVar("T")


@lru_cache(maxsize=1024)
def ip_address(text: str) -> IPv4Address | IPv6Address | None:
    """Parse an IP address; return None if `text` is not one. IPv4 inside IPv6 is unwrapped."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def client_group(address: str) -> str:
    """Return what counts as one client: an IPv4 address, or the /64 network of an IPv6 address."""
    parsed = ip_address(address)
    if isinstance(parsed, IPv6Address):
        return str(IPv6Network((parsed, 64), strict=False))
    return address if parsed is None else str(parsed)


class Starts:
    """Rate limits (token buckets) on how often clients and participants may start something.

    Args:
        per_minute: sustained starts per minute of a client; 0 for no limit. A participant has a sixth of it.
        burst: starts that a client may make at once, as when a class opens its links.
        clock: returns the current time in seconds.
    """

    def __init__(
        self,
        per_minute: int = STARTS_PER_MINUTE,
        burst: int = _BURST,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rate = per_minute / 60
        self._burst = burst
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str, participant: str = "") -> float:
        """Count one start, unless it must wait; return the seconds until it is allowed."""
        if self._rate <= 0:
            return 0.0
        keys: list[tuple[str, float, float]] = [(f"client {client_group(client)}", self._rate, self._burst)]
        if participant:
            keys.append((f"participant {participant}", self._rate / 6, self._burst / 3))
        now = self._clock()
        left = {}
        for key, rate, burst in keys:
            tokens, since = self._left.get(key, (burst, now))
            left[key] = min(burst, tokens + (now - since) * rate)
        wait = max(0.0, *((1 - left[key]) / rate for key, rate, _ in keys))
        if wait:
            # A refusal costs no tokens, so that retries do not use up those of others.
            return wait
        for key, amount in left.items():
            self._left[key] = (amount - 1, now)
            self._left.move_to_end(key)
        while len(self._left) > _KEPT_CLIENTS:
            self._left.popitem(last=False)
        return 0.0


class Arrivals:
    """Gives turns priority over arrivals: only a few arrivals are processed at a time.

    When hundreds of people open their links in the same second, the server is busy for some seconds. Without
    a limit every turn sent meanwhile would wait for all of them.

    Args:
        slots: arrivals at a time.
        patience: seconds after which an arrival gives up its slot before it has ended: it is waiting for
            something, such as a model, rather than computing.
    """

    def __init__(self, slots: int = 4, patience: float = 0.1) -> None:
        self._slots = asyncio.Semaphore(slots)
        self._patience = patience

    async def admit(self, arrival: Coroutine[Any, Any, T]) -> T:
        """Await `arrival` when a slot is free, and return its result."""
        task: asyncio.Task[T] | None = None
        try:
            async with self._slots:
                task = asyncio.create_task(arrival)
                await asyncio.wait([task], timeout=self._patience)
            return await task
        finally:
            if task is None:
                arrival.close()
            else:
                task.cancel()


class Throttle:
    """Exponential back-off for a client (or a name) after failures, beyond `free` failures."""

    def __init__(self, free: int = 5, clock: Callable[[], float] = time.monotonic) -> None:
        self._free = free
        self._clock = clock
        self._lock = threading.Lock()
        self._failures: dict[str, tuple[int, float]] = {}

    def wait(self, client: str) -> float:
        """Return the seconds until `client` may try again; 0 if it may do so now."""
        with self._lock:
            failures, since = self._failures.get(client, (0, 0.0))
        if failures < self._free:
            return 0.0
        pause = min(float(2 ** (failures - self._free)), _LONGEST_WAIT)
        return max(0.0, since + pause - self._clock())

    def record_failure(self, client: str) -> None:
        """Count a failure."""
        with self._lock:
            failures, _ = self._failures.pop(client, (0, 0.0))
            self._failures[client] = (failures + 1, self._clock())
            while len(self._failures) > _KEPT_CLIENTS:
                del self._failures[next(iter(self._failures))]

    def record_success(self, client: str) -> None:
        """Forget the failures."""
        with self._lock:
            self._failures.pop(client, None)


class Bodies:
    """Middleware that refuses bodies that are too slow (408), and passes on the others in one piece.

    Starlette's `RequestBodyLimitMiddleware` around it refuses those that are too large (413).
    """

    def __init__(self, app: ASGIApp, *, seconds: float = BODY_SECONDS) -> None:
        self.app = app
        self.seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body and pass the request on, or answer 408."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self.app(scope, receive, send)
            return
        try:
            body = await asyncio.wait_for(Request(scope, receive).body(), self.seconds)
        except TimeoutError:
            # Unread bytes must not be taken for the next request.
            answer = PlainTextResponse("the request took too long", 408, {"Connection": "close"})
            await answer(scope, receive, send)
            return
        except ClientDisconnect:
            await Response(status_code=400)(scope, receive, send)  # nobody reads it
            return
        unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return unread.pop() if unread else await receive()

        await self.app(scope, replay, send)


class PatientProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """Uvicorn's HTTP protocol with a time and size limit for the head of a request.

    Uvicorn itself waits for the rest of a head forever, and httptools reads heads of any size.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._deadline: asyncio.TimerHandle | None = None
        self._unfinished = 0

    def connection_made(self, transport: Any) -> None:
        """Start waiting for a request."""
        super().connection_made(transport)
        self._deadline = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def data_received(self, data: bytes) -> None:
        """Pass data on; stop waiting once a request is being answered."""
        super().data_received(data)
        if self._answering():
            self._unfinished = 0
            self._stop_waiting()
            return
        self._unfinished += len(data)
        if self._unfinished > MAX_HEAD:
            self._give_up()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def shutdown(self) -> None:
        """Finish an answer, but end a begun stream: an open page's would keep the server from stopping."""
        if self.cycle is not None and self.cycle.response_started:
            self.transport.close()
        else:
            super().shutdown()

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: the app has no WebSockets, and Uvicorn would advise to install a library."""

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._stop_waiting()
        if not self._answering() and not self.transport.is_closing():
            self.transport.close()
