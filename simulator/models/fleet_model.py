"""A model on several servers: each request goes to the server expected to finish it first."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import Protocol
from weakref import WeakKeyDictionary

from simulator.models.base import Completion, Request, Scored, ScoreRequest
from simulator.models.errors import (
    AuthenticationFailed,
    BadRequest,
    ModelError,
    ServerDown,
    TooFewSamples,
    Unavailable,
    Unsupported,
)
from simulator.models.fleet import Fleet, FleetServer
from simulator.models.keys import Identity
from simulator.models.layers import AnswerT, Backend
from simulator.models.limits import log_if_slow
from simulator.models.pool import Member, Pool, shared_member


class ServerBackend(Backend, Protocol):
    """A backend of one server, with a health check."""

    name: str

    async def is_alive(self) -> bool:
        """Return True if the server responds."""


class FleetModel:
    """One model behind several servers; its identity is the fleet's, whichever server answers."""

    def __init__(self, fleet: Fleet, backends: Sequence[ServerBackend], *, concurrency: int) -> None:
        """Combine servers under one name.

        `concurrency`: most requests in flight at a server without a given capacity.
        """
        first = backends[0]
        self.identity = Identity(
            first.identity.provider, first.identity.model, fleet.address, first.identity.extra
        )
        self.name = self.identity.name
        self.capabilities = first.capabilities
        self.ignored = first.ignored
        self._fleet = fleet
        self._backends = {
            server.address: backend for server, backend in zip(fleet.servers, backends, strict=True)
        }
        for address, backend in self._backends.items():
            backend.name = f"{self.name} at {address}"
        self._concurrency = concurrency
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, Pool] = WeakKeyDictionary()
        self._only: FleetServer | None = None

    async def complete(self, request: Request) -> Completion:
        """Send `request` to a server.

        Raises:
            ModelError: see `simulator.models.errors`; `has_alternative` is set if another server may answer.
        """
        return await self._ask(request, lambda backend: backend.complete(request))

    async def score(self, request: ScoreRequest) -> Scored:
        """Score a text on a server."""
        return await self._ask(request, lambda backend: backend.score(request))

    def by_server(self) -> tuple[FleetModel, ...]:
        """Return one copy of this model per server; they share its state, such as servers out of service."""
        return tuple(self._pinned_to(server) for server in self._fleet.servers)

    async def close(self) -> None:
        """Close the connections to all servers."""
        if (pool := self._pools.get(asyncio.get_running_loop())) is not None:
            await pool.close()
        for backend in self._backends.values():
            await backend.close()

    def _pinned_to(self, server: FleetServer) -> FleetModel:
        model = copy(self)
        model._only = server
        return model

    async def _ask(
        self, request: Request | ScoreRequest, ask: Callable[[Backend], Awaitable[AnswerT]]
    ) -> AnswerT:
        pool = self._pool()
        if self._only is not None:
            return await self._send(pool, await self._member_at(pool, self._only), request, ask)
        member = await pool.acquire(request)
        try:
            return await self._send(pool, member, request, ask)
        except TooFewSamples:
            raise
        except (AuthenticationFailed, BadRequest, Unsupported) as error:
            # A server that came back with another model or key fails quickly, and would attract all requests.
            if (other := pool.take_other(member)) is None:
                raise
            try:
                answer = await self._send(pool, other, request, ask)
            except ModelError:
                raise error from None
            pool.take_out(member, error)
            return replace(answer, attempts=2)

    async def _send(
        self,
        pool: Pool,
        member: Member,
        request: Request | ScoreRequest,
        ask: Callable[[Backend], Awaitable[AnswerT]],
    ) -> AnswerT:
        address = member.server.address
        backend = self._backends[address]
        try:
            with log_if_slow(backend.name, member.limiter.circuit):
                async with asyncio.timeout(None) as scope:
                    with pool.sending(member, request, scope):
                        answer = await ask(backend)
        except TimeoutError:
            error = Unavailable(f"{backend.name}: the server does not respond", maybe_billed=True)
            error.server, error.has_alternative = address, pool.has_other(member)
            raise error from None
        except ModelError as error:
            error.server, error.has_alternative = address, pool.has_other(member) and self._only is None
            raise
        finally:
            pool.release(member)
        return replace(answer, server=address)

    async def _member_at(self, pool: Pool, server: FleetServer) -> Member:
        """Return the member for `server`, with a slot reserved."""
        member = next(each for each in pool.members if each.server.address == server.address)
        if not await self._backends[server.address].is_alive():
            why = f"{self._backends[server.address].name}: the server does not respond"
            pool.take_out(member, why)
            raise ServerDown(why)
        return pool.take(member)

    def _pool(self) -> Pool:
        loop = asyncio.get_running_loop()
        if (pool := self._pools.get(loop)) is None:
            provider = self.identity.provider
            members = [shared_member(provider, server, self._concurrency) for server in self._fleet.servers]
            pool = self._pools[loop] = Pool(
                self._fleet.title, members, lambda member: self._backends[member.server.address].is_alive()
            )
        return pool
