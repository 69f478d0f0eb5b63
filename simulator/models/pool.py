"""Load balancing of a fleet: the server for the next request, servers out of service, waiting requests.

A request goes to the server expected to finish it first: few requests in flight, quick answers, a large
weight. A server that has already read the beginning of the prompt (its prefix cache is warm) is preferred
unless it is twice as loaded. If no server has a free slot, requests wait in one queue, so that none is stuck
behind a slow server. The number of requests a server takes is found as for any other (`limits.Limiter`), up
to its capacity.

A server that fails, or is silent and fails a health check, goes out of service, and its requests are sent
elsewhere. It is checked now and then, and gets requests again once a check succeeds.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Final
from weakref import WeakKeyDictionary, WeakSet

from simulator.models.base import Request, ScoreRequest
from simulator.models.errors import ModelError, RateLimited, ServerDown, TimedOut, Unavailable
from simulator.models.fleet import FleetServer
from simulator.models.limits import MOST_WAIT, START, Limiter, duration

CHECK_EVERY: Final = 1.0
"""Seconds between two rounds of health checks."""
_SILENT: Final = 5.0  # seconds without an answer before a busy server is checked
_AGAIN: Final = 5.0  # seconds between a failed check and the next
_LONGEST_REST: Final = 60.0  # longest rest, in seconds, of a server that passes checks but keeps failing
_PATIENCE: Final = 60.0  # seconds that requests wait while no server is in service
_SMOOTHING: Final = 0.2  # weight of the latest answer in the average time
_STALE: Final = 60.0  # seconds after which a measured time is ignored
_MINUTE: Final = 60.0
_AHEAD: Final = 16  # waiting requests searched for one whose prefix a server has read
_BLOCK: Final = 1024  # characters per block of a prompt's prefix
_HEADS: Final = 50_000  # prefixes remembered

_log = logging.getLogger(__name__)


@dataclass(eq=False, kw_only=True)
class Member:
    """The state of a fleet's server on one event loop, shared by all models on that server.

    Attributes:
        last_sign: time of its last answer or successful check.
        seconds: average time of an answer; None if unknown.
        measured_at: time of the last answer in that average.
        failures: failures since its last answer.
        rests_until: time of its next check; None if it is in service.
        in_service_since: time when it was last put into service.
        in_flight: the timeouts of its requests, to end them early.
        sent_at: times of its last requests, if requests per minute are limited.
        pools: the pools whose requests may wait for it.
    """

    server: FleetServer
    limiter: Limiter
    last_sign: float
    seconds: float | None = None
    measured_at: float = float("-inf")
    failures: int = 0
    rests_until: float | None = None
    in_service_since: float = float("-inf")
    in_flight: set[asyncio.Timeout] = field(default_factory=set)
    sent_at: deque[float] = field(default_factory=deque)
    pools: WeakSet[Pool] = field(default_factory=WeakSet)

    @property
    def in_service(self) -> bool:
        """Return True if it gets requests."""
        return self.rests_until is None

    def opens_at(self, now: float) -> float:
        """Return the earliest time for the next request, free slots aside."""
        limit = self.server.per_minute
        full = limit is not None and len(self.sent_at) >= limit
        return max(now, self.limiter.closed_until, self.sent_at[0] + _MINUTE if full else now)

    def is_free(self, now: float) -> bool:
        """Return True if it can take a request now."""
        return self.in_service and self.limiter.has_place and self.opens_at(now) <= now

    def take(self, now: float) -> None:
        """Count a request sent now."""
        self.limiter.active += 1
        if self.server.per_minute is not None:
            self.sent_at.append(now)
            if len(self.sent_at) > self.server.per_minute:
                self.sent_at.popleft()

    def record_answer(self, now: float, seconds: float) -> None:
        """Record an answer that took `seconds`."""
        average = None if now - self.measured_at > _STALE else self.seconds
        self.seconds = seconds if average is None else average + _SMOOTHING * (seconds - average)
        self.last_sign = self.measured_at = now
        self.failures = 0
        self.limiter.record_success()

    def estimate(self, now: float, usual: float) -> float:
        """Return the expected seconds for an answer; `usual` if unknown."""
        return usual if self.seconds is None or now - self.measured_at > _STALE else self.seconds


@dataclass(eq=False)
class _Waiter:
    place: asyncio.Future[Member]
    heads: tuple[int, ...]
    passed_over: int = 0


class Pool:
    """The queue of one model's requests for slots at its servers, on one event loop."""

    def __init__(
        self, name: str, members: Sequence[Member], is_alive: Callable[[Member], Awaitable[bool]]
    ) -> None:
        """Make a pool for the fleet called `name`; `is_alive` checks a server's health."""
        self.members = tuple(members)
        self._bits = {member: 1 << number for number, member in enumerate(members)}
        self._name = name
        self._is_alive = is_alive
        self._waiting: deque[_Waiter] = deque()
        self._heads: OrderedDict[int, int] = OrderedDict()
        self._next = 0
        self._watching: asyncio.Task[None] | None = None
        self._alarm = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._absent_since: float | None = None
        self._last_error = ""
        self._now = asyncio.get_running_loop().time
        for member in members:
            member.pools.add(self)

    async def acquire(self, request: Request | ScoreRequest) -> Member:
        """Wait for a slot at a server; `release` it afterwards.

        Raises:
            ServerDown: if no server has been in service for a while.
        """
        heads = heads_of(request)
        self._watch()
        member = None if self._waiting else self._choose(heads)
        if member is None:
            waiter = _Waiter(asyncio.get_running_loop().create_future(), heads)
            self._waiting.append(waiter)
            self._schedule()
            try:
                member = await waiter.place
            except asyncio.CancelledError:
                if waiter.place.done() and not waiter.place.cancelled() and not waiter.place.exception():
                    self.release(waiter.place.result())  # the slot came at the same moment
                raise
        else:
            self.take(member)
        return member

    def take(self, member: Member) -> Member:
        """Reserve a slot on a server, even above its capacity, and return the server."""
        self._watch()
        member.take(self._now())
        return member

    def take_other(self, member: Member) -> Member | None:
        """Reserve a slot on the least busy other server in service; None if there is no other."""
        others = [each for each in self.members if each.in_service and each is not member]
        return self.take(min(others, key=lambda each: each.limiter.active)) if others else None

    def release(self, member: Member) -> None:
        """Release a slot."""
        member.limiter.release()
        for pool in tuple(member.pools):
            pool.admit()

    @contextmanager
    def sending(
        self, member: Member, request: Request | ScoreRequest, scope: asyncio.Timeout
    ) -> Iterator[None]:
        """Track a request in flight to a server, and record its outcome; ending `scope` ends the request."""
        began = self._now()
        if not member.in_flight:
            member.last_sign = began
        member.in_flight.add(scope)
        try:
            yield
            member.record_answer(self._now(), self._now() - began)
            self._remember(member, heads_of(request))
        except ModelError as error:
            self._note_failure(member, error, began)
            raise
        finally:
            member.in_flight.discard(scope)

    def has_other(self, member: Member) -> bool:
        """Return True if another server than `member` is in service."""
        return any(each.in_service for each in self.members if each is not member)

    def take_out(self, member: Member, why: object) -> None:
        """Take a server out of service until it passes a check."""
        if not member.in_service:
            return
        now = self._now()
        rest = 0.0 if member.failures == 0 else min(2.0 ** (member.failures - 1), _LONGEST_REST)
        member.failures += 1
        member.rests_until, self._last_error = now + rest, str(why)
        if member.failures > 1:
            member.limiter.restart()
        _log.warning("%s: %s is out of service: %s", self._name, member.server.address, why)
        self._alarm.set()

    def admit(self) -> None:
        """Assign free slots to waiting requests."""
        while self._waiting:
            if self._waiting[0].place.done():
                self._waiting.popleft()
                continue
            member = self._choose(self._waiting[0].heads)
            if member is None:
                return self._schedule()
            waiter = self._next_for(member)
            self.take(member)
            waiter.place.set_result(member)

    async def close(self) -> None:
        """Stop checking the servers."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    def _choose(self, heads: tuple[int, ...]) -> Member | None:
        """Return the free server expected to finish first; None if waiting is better."""
        now = self._now()
        in_service = [member for member in self.members if member.in_service]
        quickest = self._quickest_seconds()

        def cost(member: Member) -> float:
            return (member.limiter.active + 1) * member.estimate(now, quickest) / member.server.weight

        # Wait for the quick servers if they would answer two requests before a slow one answers this.
        longest = 2 * (quickest + self._wait(in_service, quickest, now))
        free = [each for each in in_service if each.is_free(now) and each.estimate(now, quickest) <= longest]
        if not free:
            return None
        # Equal servers take turns.
        self._next = (self._next + 1) % len(free)
        best = min((*free[self._next :], *free[: self._next]), key=cost)
        bits = self._servers_knowing(heads)
        preferred = min((member for member in free if bits & self._bits[member]), key=cost, default=best)
        return preferred if cost(preferred) <= 2 * cost(best) else best

    def _quickest_seconds(self) -> float:
        """Return the quickest server's average seconds for an answer."""
        averages = (member.seconds for member in self.members if member.in_service)
        return min((seconds for seconds in averages if seconds is not None), default=1.0)

    def _wait(self, members: list[Member], quickest: float, now: float) -> float:
        """Return the expected seconds until a busy quick server has a slot for one more request."""
        rate = sum(
            int(member.limiter.limit) / member.estimate(now, quickest)
            for member in members
            if member.limiter.active and member.estimate(now, quickest) <= 2 * quickest
        )
        return (len(self._waiting) + 1) / rate if rate else float("inf")

    def _next_for(self, member: Member) -> _Waiter:
        """Remove and return the next request for `member`: one whose prefix it knows, else the first."""
        place = 0
        if self._waiting[0].passed_over < _AHEAD:
            bit = self._bits[member]
            ahead = enumerate(islice(self._waiting, _AHEAD))
            knows = (
                at for at, each in ahead if not each.place.done() and self._servers_knowing(each.heads) & bit
            )
            place = next(knows, 0)
            self._waiting[0].passed_over += place > 0
        waiter = self._waiting[place]
        del self._waiting[place]
        return waiter

    def _servers_knowing(self, heads: tuple[int, ...]) -> int:
        """Return the servers (one bit each) that have read a prompt's longest known prefix."""
        return next((servers for head in reversed(heads) if (servers := self._heads.get(head))), 0)

    def _remember(self, member: Member, heads: tuple[int, ...]) -> None:
        bit = self._bits[member]
        for head in heads:
            self._heads[head] = self._heads.get(head, 0) | bit
            self._heads.move_to_end(head)
        while len(self._heads) > _HEADS:
            self._heads.popitem(last=False)

    def _note_failure(self, member: Member, error: ModelError, began: float) -> None:
        now = self._now()
        pause = error.retry_after
        if isinstance(error, RateLimited):
            member.last_sign = now
            # Refusals are quick, so that the server would seem the least loaded.
            wait = max(member.estimate(now, self._quickest_seconds()), pause or 0.0)
            member.limiter.record_complaint(began, min(wait, MOST_WAIT))
        elif isinstance(error, TimedOut | Unavailable):
            # Requests sent before the last failure are no new evidence.
            if began >= member.in_service_since:
                self.take_out(member, error)
                if pause is not None and member.rests_until is not None:
                    member.rests_until = max(member.rests_until, now + min(pause, MOST_WAIT))
        else:
            member.last_sign = now

    def _schedule(self) -> None:
        """Call `admit` again when the first of the closed servers opens."""
        if self._timer is not None:
            self._timer.cancel()
        now = self._now()
        opening = [member.opens_at(now) for member in self.members if member.in_service]
        at = min((time for time in opening if time > now), default=None)
        loop = asyncio.get_running_loop()
        self._timer = None if at is None or not self._waiting else loop.call_at(at, self.admit)

    def _watch(self) -> None:
        if self._watching is None or self._watching.done():
            self._alarm.set()
            self._watching = asyncio.create_task(self._check_servers())

    async def _check_servers(self) -> None:
        """Check servers that are silent or out of service, as long as there is work."""
        while self._waiting or any(member.limiter.active for member in self.members):
            await asyncio.gather(*(self._check(member) for member in self.members))
            self._give_up()
            self._alarm.clear()
            try:
                async with asyncio.timeout(CHECK_EVERY):
                    await self._alarm.wait()
            except TimeoutError:
                continue

    async def _check(self, member: Member) -> None:
        now = self._now()
        silent = member.in_flight and now - member.last_sign > _SILENT
        if not silent and (member.rests_until is None or now < member.rests_until):
            return
        if await self._is_alive(member):
            member.last_sign = self._now()
            if not member.in_service:
                member.rests_until, member.in_service_since = None, self._now()
                _log.warning("%s: %s is in service again", self._name, member.server.address)
                for pool in tuple(member.pools):
                    pool.admit()
        elif member.in_service:
            silence = duration(self._now() - member.last_sign)
            self.take_out(member, f"no answer for {silence}, and its health check failed")
            for scope in tuple(member.in_flight):
                scope.reschedule(self._now())
        else:
            member.rests_until = self._now() + _AGAIN

    def _give_up(self) -> None:
        """Fail all waiting requests once no server has been in service for a while."""
        if any(member.in_service for member in self.members):
            self._absent_since = None
            return
        now = self._now()
        self._absent_since = now if self._absent_since is None else self._absent_since
        if now - self._absent_since >= _PATIENCE:
            for waiter in self._waiting:
                if not waiter.place.done():
                    tried = f"{len(self.members)} tried; last error: {self._last_error}"
                    why = f"no server of {self._name} can be reached ({tried})"
                    waiter.place.set_exception(ServerDown(why))
            self._waiting.clear()


def heads_of(request: Request | ScoreRequest) -> tuple[int, ...]:
    """Return a hash for each prefix of a prompt, in blocks, the shortest first."""
    # They never leave this process (log, cache key), so the salted built-in hash will do.
    texts = (
        [("", request.text)]
        if isinstance(request, ScoreRequest)
        else [(message.role, message.content) for message in request.messages]
    )
    head, heads = 0, []
    for role, text in texts:
        for start in range(0, len(text), _BLOCK):
            head = hash((head, role, text[start : start + _BLOCK]))
            heads.append(head)
    return tuple(heads)


# One set per event loop, as for limiters.
_shared: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, str], Member]] = WeakKeyDictionary()


def shared_member(provider: str, server: FleetServer, concurrency: int) -> Member:
    """Return the running loop's member for a server; the smallest requested capacity applies."""
    loop = asyncio.get_running_loop()
    members = _shared.setdefault(loop, {})
    maximum = server.capacity or concurrency
    member = members.get((provider, server.address))
    if member is None:
        start = server.capacity or START
        limiter = Limiter(maximum, start=start, server=f"the server {server.address}", clock=loop.time)
        member = Member(server=server, limiter=limiter, last_sign=loop.time())
        members[provider, server.address] = member
    elif maximum < member.limiter.maximum:
        member.limiter.lower(maximum)
    return member
