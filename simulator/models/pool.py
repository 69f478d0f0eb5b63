"""The servers of a fleet at work: which gets the next request, which are out of service, who waits.

A request goes to the server that is expected to be done with it first: few requests under way, quick
answers, a large weight. One that has read the head of the prompt before is preferred unless it is twice as
loaded, since it need not read that again. Where no server has a free place, requests wait together, so that
none is stuck behind a slow one. How many a server takes is found out as for any (`limits.Limiter`), within
its capacity.

A server that fails, or is silent and gives no sign of life, is out of service; what was under way there is
sent elsewhere. It is asked for a sign of life now and then, and gets requests again when it gives one.
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
"""Seconds between two looks at servers that are silent or out of service."""
_SILENT: Final = 5.0  # seconds without any answer after which a sign of life is wanted
_AGAIN: Final = 5.0  # seconds until a server that gives none is asked again
_LONGEST_REST: Final = 60.0  # seconds for which one that is there, but fails again and again, is left alone
_PATIENCE: Final = 60.0  # seconds that requests wait while no server is there at all
_SMOOTHING: Final = 0.2  # weight of the last answer in the average time of one
_STALE: Final = 60.0  # seconds after which the time of an old answer says nothing
_MINUTE: Final = 60.0
_AHEAD: Final = 16  # waiting requests among which one is looked for that a server knows the head of
_BLOCK: Final = 1024  # characters of a prompt that are known or not as a whole
_HEADS: Final = 50_000

_log = logging.getLogger(__name__)


@dataclass(eq=False, kw_only=True)
class Member:
    """A server of a fleet as it is now, on one event loop; shared by all models that are asked there.

    Attributes:
        heard: when it last gave an answer or a sign of life.
        seconds: that an answer takes on average; None if not known.
        measured: when that was last seen.
        failures: how often it has failed since its last answer.
        rests_until: when it may be asked for a sign of life; None if it is in service.
        since: when it was last put into service.
        under_way: what ends the requests that it has.
        sent: when the last requests were sent, where so many a minute are allowed.
        pools: those who may wait for a place of it.
    """

    server: FleetServer
    limiter: Limiter
    heard: float
    seconds: float | None = None
    measured: float = float("-inf")
    failures: int = 0
    rests_until: float | None = None
    since: float = float("-inf")
    under_way: set[asyncio.Timeout] = field(default_factory=set)
    sent: deque[float] = field(default_factory=deque)
    pools: WeakSet[Pool] = field(default_factory=WeakSet)

    @property
    def in_service(self) -> bool:
        """Return True if it is sent requests."""
        return self.rests_until is None

    def opens_at(self, now: float) -> float:
        """Return when it may be sent a request, places aside."""
        limit = self.server.per_minute
        full = limit is not None and len(self.sent) >= limit
        return max(now, self.limiter.closed_until, self.sent[0] + _MINUTE if full else now)

    def is_free(self, now: float) -> bool:
        """Return True if it may be sent a request now."""
        return self.in_service and self.limiter.has_place and self.opens_at(now) <= now

    def take(self, now: float) -> None:
        """Count a request that is sent now."""
        self.limiter.active += 1
        if self.server.per_minute is not None:
            self.sent.append(now)
            if len(self.sent) > self.server.per_minute:
                self.sent.popleft()

    def answered(self, now: float, seconds: float) -> None:
        """Note an answer and the time that it took."""
        known = None if now - self.measured > _STALE else self.seconds
        self.seconds = seconds if known is None else known + _SMOOTHING * (seconds - known)
        self.heard = self.measured = now
        self.failures = 0
        self.limiter.success()

    def expected(self, now: float, usual: float) -> float:
        """Return seconds that an answer takes; `usual` where nothing is known."""
        return usual if self.seconds is None or now - self.measured > _STALE else self.seconds


@dataclass(eq=False)
class _Waiter:
    place: asyncio.Future[Member]
    heads: tuple[int, ...]
    passed_over: int = 0


class Pool:
    """The places at the servers of one model, for which its requests wait on one event loop."""

    def __init__(
        self, name: str, members: Sequence[Member], is_alive: Callable[[Member], Awaitable[bool]]
    ) -> None:
        """Make a pool for the fleet called `name`; `is_alive` asks a server for a sign of life."""
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
        """Wait for a place at a server; give it back with `release`.

        Raises:
            ServerDown: if no server has been there for a while.
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
                    self.release(waiter.place.result())  # the place came at the same moment
                raise
        else:
            self.take(member)
        return member

    def take(self, member: Member) -> Member:
        """Return a server with a place taken, also one that it does not have."""
        self._watch()
        member.take(self._now())
        return member

    def take_other(self, member: Member) -> Member | None:
        """Return another server than `member`, which is asked the same; None if no other is in service."""
        others = [each for each in self.members if each.in_service and each is not member]
        return self.take(min(others, key=lambda each: each.limiter.active)) if others else None

    def release(self, member: Member) -> None:
        """Give a place back."""
        member.limiter.release()
        for pool in tuple(member.pools):
            pool.admit()

    @contextmanager
    def sending(
        self, member: Member, request: Request | ScoreRequest, scope: asyncio.Timeout
    ) -> Iterator[None]:
        """Note what comes of a request that is under way to a server within `scope`."""
        began = self._now()
        if not member.under_way:
            member.heard = began
        member.under_way.add(scope)
        try:
            yield
            member.answered(self._now(), self._now() - began)
            self._remember(member, heads_of(request))
        except ModelError as error:
            self._note_failure(member, error, began)
            raise
        finally:
            member.under_way.discard(scope)

    def has_other(self, member: Member) -> bool:
        """Return True if another server than `member` is in service."""
        return any(each.in_service for each in self.members if each is not member)

    def take_out(self, member: Member, why: object) -> None:
        """Send a server nothing until it has given a sign of life; what it has is sent elsewhere."""
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
        """Give free places to those who wait."""
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
        """Stop looking after the servers."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    def _choose(self, heads: tuple[int, ...]) -> Member | None:
        """Return the free server that is expected to be done first; None if it is better to wait."""
        now = self._now()
        there = [member for member in self.members if member.in_service]
        quickest = self._quickest_seconds()

        def cost(member: Member) -> float:
            return (member.limiter.active + 1) * member.expected(now, quickest) / member.server.weight

        # It waits for the quick ones where these answer it and another before a slow one would.
        longest = 2 * (quickest + self._wait(there, quickest, now))
        free = [
            member for member in there if member.is_free(now) and member.expected(now, quickest) <= longest
        ]
        if not free:
            return None
        # Servers that are equal take turns.
        self._next = (self._next + 1) % len(free)
        best = min((*free[self._next :], *free[: self._next]), key=cost)
        bits = self._servers_knowing(heads)
        preferred = min((member for member in free if bits & self._bits[member]), key=cost, default=best)
        return preferred if cost(preferred) <= 2 * cost(best) else best

    def _quickest_seconds(self) -> float:
        """Return seconds that an answer takes the quickest server."""
        known = (member.seconds for member in self.members if member.in_service)
        return min((seconds for seconds in known if seconds is not None), default=1.0)

    def _wait(self, there: list[Member], quickest: float, now: float) -> float:
        """Return seconds until one of the quick servers, which are all busy, has a place for one more."""
        rate = sum(
            int(member.limiter.limit) / member.expected(now, quickest)
            for member in there
            if member.limiter.active and member.expected(now, quickest) <= 2 * quickest
        )
        return (len(self._waiting) + 1) / rate if rate else float("inf")

    def _next_for(self, member: Member) -> _Waiter:
        """Return the first of those who wait, or the first that `member` knows the head of."""
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
        """Return the servers (a bit for each) that have read the longest known head of a prompt."""
        return next((known for head in reversed(heads) if (known := self._heads.get(head))), 0)

    def _remember(self, member: Member, heads: tuple[int, ...]) -> None:
        bit = self._bits[member]
        for head in heads:
            self._heads[head] = self._heads.get(head, 0) | bit
            self._heads.move_to_end(head)
        while len(self._heads) > _HEADS:
            self._heads.popitem(last=False)

    def _note_failure(self, member: Member, error: ModelError, began: float) -> None:
        now = self._now()
        asked = error.retry_after
        if isinstance(error, RateLimited):
            member.heard = now
            # Whoever refuses is quick about it, and would seem the least loaded.
            wait = max(member.expected(now, self._quickest_seconds()), asked or 0.0)
            member.limiter.complaint(began, min(wait, MOST_WAIT))
        elif isinstance(error, TimedOut | Unavailable):
            # Requests that were sent before the last failure say nothing new.
            if began >= member.since:
                self.take_out(member, error)
                if asked is not None and member.rests_until is not None:
                    member.rests_until = max(member.rests_until, now + min(asked, MOST_WAIT))
        else:
            member.heard = now

    def _schedule(self) -> None:
        """Look again when the first of the servers that want to be left alone may be called."""
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
            self._watching = asyncio.create_task(self._look_after())

    async def _look_after(self) -> None:
        """Ask servers that are silent or out of service for a sign of life, as long as there is work."""
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
        silent = member.under_way and now - member.heard > _SILENT
        if not silent and (member.rests_until is None or now < member.rests_until):
            return
        if await self._is_alive(member):
            member.heard = self._now()
            if not member.in_service:
                member.rests_until, member.since = None, self._now()
                _log.warning("%s: %s is in service again", self._name, member.server.address)
                for pool in tuple(member.pools):
                    pool.admit()
        elif member.in_service:
            self.take_out(member, f"no answer for {duration(self._now() - member.heard)}, nor a sign of life")
            for scope in tuple(member.under_way):
                scope.reschedule(self._now())
        else:
            member.rests_until = self._now() + _AGAIN

    def _give_up(self) -> None:
        """Let nobody wait any longer where no server has been there for a while."""
        if any(member.in_service for member in self.members):
            self._absent_since = None
            return
        now = self._now()
        self._absent_since = now if self._absent_since is None else self._absent_since
        if now - self._absent_since >= _PATIENCE:
            for waiter in self._waiting:
                if not waiter.place.done():
                    waiter.place.set_exception(self.down())
            self._waiting.clear()

    def down(self) -> ServerDown:
        """Return the error that no server is there."""
        return ServerDown(
            f"none of the {len(self.members)} servers of {self._name} is there (the last: {self._last_error})"
        )


def heads_of(request: Request | ScoreRequest) -> tuple[int, ...]:
    """Return a number for each beginning of a prompt, the shortest first: equal ones for equal texts."""
    # They leave this process neither by log nor by key, so that they may be salted.
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


# One event loop, one set, as of limiters.
_shared: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, str], Member]] = WeakKeyDictionary()


def shared_member(provider: str, server: FleetServer, concurrency: int) -> Member:
    """Return the running loop's member for a server; the smallest of several capacities counts."""
    loop = asyncio.get_running_loop()
    members = _shared.setdefault(loop, {})
    maximum = server.capacity or concurrency
    member = members.get((provider, server.address))
    if member is None:
        start = server.capacity or START
        limiter = Limiter(maximum, start=start, server=f"the server {server.address}", clock=loop.time)
        member = members[provider, server.address] = Member(server=server, limiter=limiter, heard=loop.time())
    elif maximum < member.limiter.maximum:
        member.limiter.lower(maximum)
    return member
