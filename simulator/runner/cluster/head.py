"""The head of a run on a cluster: an actor on the command's node that owns log, budget and cache.

Players send it rows and get an answer once these are committed. Each plays under a lease: when a player is
lost, its lease is revoked, and anything it still sends (after a network partition) is rejected. So the log of
an episode cannot change under the next player that continues it.

Models with weights are loaded once per node, by an actor (`NodeModel`) that all players on the node use.
"""

from __future__ import annotations

import itertools
import os
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, cast

from logs import LogConflict, LogWriter
from logs.relay import Outcome, Sent
from simulator.errors import AskbackError, InputError
from simulator.models import (
    Budget,
    BudgetExceeded,
    Capabilities,
    Completion,
    Identity,
    ModelError,
    ModelOptions,
    Request,
    ScoreRequest,
    Unavailable,
)
from simulator.models.base import Scored
from simulator.models.cache import ResponseCache
from simulator.models.layers import Backend
from simulator.models.load import load_backend
from simulator.runner.cluster.connecting import (
    actor_options,
    import_ray,
    living_nodes,
    on_node,
    places_for,
    this_node,
)
from simulator.runner.options import tune_collector

_INLINED: Final = 90_000
"""Bytes of an argument; see `pack`."""


class Head:
    """The actor, one per command, which ends with the command."""

    def __init__(
        self,
        path: Path,
        models: ModelOptions,
        environment: Mapping[str, str],
        resources: Mapping[str, Mapping[str, float]],
    ) -> None:
        """Open the log.

        Args:
            path: the log's file, on this machine.
            models: the run's model options, with its budget and cache.
            environment: environment variables for models on nodes.
            resources: a seat's occupant -> resources of the actor that runs its model.

        Raises:
            LogError: if the log cannot be opened.
        """
        self._log = LogWriter(path, durable=False, group_seconds=0.0)  # players send groups of rows
        self._budget = models.budget
        self._cache = None if models.cache_path is None else ResponseCache(models.cache_path)
        self._environment, self._resources = environment, resources
        self._backend_options = replace(models, budget=None, cache_path=None, recorder=None)
        self._numbers = itertools.count()
        self._leases: dict[str, int] = {}
        self._reserved: dict[tuple[str, int], float] = {}
        self._models: dict[tuple[str, str], Any] = {}
        self._turn = itertools.count()
        tune_collector()

    async def join(self, player: str) -> int:
        """Return a new lease for `player`, and revoke the previous one."""
        await self.expel(player)
        self._leases[player] = next(self._numbers)
        return self._leases[player]

    async def expel(self, player: str) -> None:
        """Revoke a lease. When this returns, all rows ever accepted under it are in the log."""
        lease = self._leases.pop(player, None)
        if lease is not None and self._budget is not None:
            # Reserved calls may have been billed.
            reserved = self._reserved.pop((player, lease), 0.0)
            self._budget.settle(reserved, reserved)
        await self._log.aflush()

    async def write(self, player: str, lease: int, *packed: bytes) -> bytes:
        """Write rows, and return the outcome of each, pickled, once they are committed.

        `packed`: the rows of `Link.send`, by `pack`.
        """
        rows: Sequence[Sent] = unpack(packed)
        if self._leases.get(player) != lease:
            conflict = LogConflict("these episodes were assigned to another player; nothing was written")
            return pickle.dumps([conflict] * len(rows))
        return pickle.dumps(await self._log.write_all(rows))

    async def reserve(self, player: str, lease: int, amount: float) -> str:
        """Reserve an amount of the budget; return an error message if it is exceeded, else an empty text."""
        assert self._budget is not None
        try:
            await self._budget.reserve(amount)
        except BudgetExceeded as error:
            return str(error)
        self._reserved[player, lease] = self._reserved.get((player, lease), 0.0) + amount
        return ""

    async def settle(self, player: str, lease: int, reserved: float, cost: float) -> None:
        """Settle a call; those of an expelled player are settled already."""
        if self._budget is not None and self._leases.get(player) == lease:
            self._reserved[player, lease] -= reserved
            self._budget.settle(reserved, cost)

    async def cached(self, key: str) -> Completion | Scored | None:
        """Return the answer stored under `key`."""
        return None if self._cache is None else await self._cache.get(key)

    async def keep(self, key: str, model: str, answer: Completion | Scored) -> None:
        """Store an answer."""
        if self._cache is not None:
            await self._cache.put(key, model, answer)

    async def place(self, name: str, node: str, lost: bytes) -> tuple[Any, Any]:
        """Return the actor that runs a model for players on `node`, and its description or a `ModelError`.

        Every node with the model's resources has one such actor; the other nodes share these.

        `lost`: id of the actor that ran it and is gone; empty at first.
        """
        ray = import_ray()
        nodes = living_nodes(ray)
        needed = next(
            (needed for who, needed in self._resources.items() if name in who), _default_resources(nodes)
        )
        suitable = [each["NodeID"] for each in nodes if places_for(needed, each)]
        if name.startswith("replay/"):
            needed, suitable = {"num_cpus": 0}, [this_node(ray)]  # the log is here
        if not suitable:
            missing = ", ".join(f"{resource} {amount:g}" for resource, amount in needed.items())
            return None, InputError(f"{name}: no node of the cluster has {missing} (see --resources)")
        at = node if node in suitable else suitable[next(self._turn) % len(suitable)]
        if lost and (actor := self._models.get((name, at))) and actor._actor_id.binary() == lost:
            del self._models[name, at]
        if (name, at) not in self._models:
            make = ray.remote(NodeModel).options(**actor_options(needed), **on_node(at))
            self._models[name, at] = make.remote(name, self._backend_options, self._environment)
        actor = self._models[name, at]
        try:
            return actor, await actor.describe.remote()
        except ray.exceptions.RayActorError as error:
            del self._models[name, at]
            return None, ModelError(f"{name} cannot run on node {at}: {error}")

    async def close(self) -> None:
        """Commit everything and close the log."""
        self._log.close()
        if self._cache is not None:
            await self._cache.close()


def pack(value: object) -> Iterator[bytes]:
    """Yield `value` as arguments of a call that cost Ray the least.

    Ray copies bytes without pickling them, and sends arguments of less than 100 KiB with the call, up to
    10 MiB altogether; others are stored as objects that the other process has to fetch.
    """
    pickled = pickle.dumps(value)
    for start in range(0, len(pickled), _INLINED):
        yield pickled[start : start + _INLINED]


def unpack(packed: Sequence[bytes]) -> Any:
    """Return the value of `pack`."""
    return pickle.loads(b"".join(packed))


def _default_resources(nodes: Sequence[Mapping[str, Any]]) -> Mapping[str, float]:
    """Return a model's default resources: a GPU if the cluster has any, else a processor."""
    return {"num_gpus": 1} if any(node["Resources"].get("GPU") for node in nodes) else {"num_cpus": 1}


@dataclass(frozen=True)
class Link:
    """One player's connection to the head; can be pickled."""

    head: Any
    player: str
    lease: int

    async def send(self, rows: Sequence[Sent]) -> Sequence[Outcome]:
        """Send rows to be written (`logs.relay.Send`)."""
        outcomes: Sequence[Outcome] = pickle.loads(
            await self.head.write.remote(self.player, self.lease, *pack(rows))
        )
        return outcomes

    def share(self, models: ModelOptions) -> ModelOptions:
        """Return model options that share the run's budget, cache and weights."""
        return replace(
            models,
            budget=None if models.budget is None else RemoteBudget(self, models.budget.limit),
            cache=None if models.cache_path is None else RemoteCache(self),
            placed=self.place,
        )

    def place(self, name: str) -> PlacedModel:
        """Return a model that runs on this node or another.

        Raises:
            InputError: if no node has its resources.
            ModelError: if it cannot be loaded.
        """
        return PlacedModel(self.head, name)


class RemoteBudget(Budget):
    """The budget that the head keeps."""

    def __init__(self, link: Link, limit: float) -> None:
        """Use the head's budget through `link`."""
        super().__init__(limit)
        self._link = link

    async def reserve(self, amount: float) -> None:
        """Reserve `amount`.

        Raises:
            BudgetExceeded: if it is more than the run has left.
        """
        link = self._link
        if refusal := await link.head.reserve.remote(link.player, link.lease, amount):
            raise BudgetExceeded(refusal)

    def settle(self, reserved: float, cost: float) -> None:
        """Replace the reservation of a call with its actual cost."""
        link = self._link
        link.head.settle.remote(link.player, link.lease, reserved, cost)


class RemoteCache(ResponseCache):
    """The cache that the head keeps."""

    def __init__(self, link: Link) -> None:
        """Use the head's cache through `link`."""
        self._link = link

    async def get(self, key: str) -> Completion | Scored | None:
        """Return the answer stored under `key`, or None."""
        answer: Completion | Scored | None = await self._link.head.cached.remote(key)
        return answer

    async def put(self, key: str, model: str, answer: Any) -> None:
        """Store an answer."""
        await self._link.head.keep.remote(key, model, answer)

    async def close(self) -> None:
        """Do nothing: the head closes it."""


_TRIES: Final = 3


class Description(NamedTuple):
    """The attributes of a backend that layers need (`simulator.models.layers.Backend`)."""

    name: str
    identity: Identity
    capabilities: Capabilities
    ignored: frozenset[str]


class NodeModel:
    """The actor with a model's weights. It returns errors instead of raising them, so that it survives."""

    def __init__(self, name: str, options: ModelOptions, environment: Mapping[str, str]) -> None:
        """Set up the environment; `describe` loads the model."""
        os.environ.update(environment)
        self._name, self._options = name, options
        self._backend: Backend | None = None

    async def describe(self) -> Description | AskbackError:
        """Load the model if necessary, and describe it."""
        if self._backend is None:
            try:
                self._backend = load_backend(self._name, self._options)
            except AskbackError as error:
                return error
        backend = self._backend
        return Description(backend.name, backend.identity, backend.capabilities, backend.ignored)

    async def ask(
        self, method: Literal["complete", "score"], request: Any
    ) -> Completion | Scored | ModelError:
        """Answer a request, or score a text."""
        assert self._backend is not None
        try:
            answer: Completion | Scored = await getattr(self._backend, method)(request)
        except ModelError as error:
            return error
        return answer


class PlacedModel:
    """A `Backend` that asks a `NodeModel`, and another one if that is lost."""

    def __init__(self, head: Any, name: str) -> None:
        """Find or place the actor, and wait until it has loaded the model.

        Raises:
            AskbackError: if it cannot be loaded or placed.
        """
        ray = import_ray()
        self._lost_error: type[Exception] = ray.exceptions.RayActorError
        self._head, self._full_name, self._node = head, name, this_node(ray)
        self._take(*ray.get(head.place.remote(name, self._node, b"")))

    def _take(self, actor: Any, description: Description | AskbackError) -> None:
        if isinstance(description, AskbackError):
            raise description
        self._actor = actor
        self.name, self.identity, self.capabilities, self.ignored = description

    async def complete(self, request: Request) -> Completion:
        """Answer `request`."""
        return cast(Completion, await self._ask("complete", request))

    async def score(self, request: ScoreRequest) -> Scored:
        """Score a text."""
        return cast(Scored, await self._ask("score", request))

    async def _ask(self, method: str, request: Request | ScoreRequest) -> Completion | Scored:
        for _ in range(_TRIES):
            actor = self._actor
            try:
                answer: Completion | Scored | ModelError = await actor.ask.remote(method, request)
            except self._lost_error:
                lost = actor._actor_id.binary()
                self._take(*await self._head.place.remote(self._full_name, self._node, lost))
                continue
            if isinstance(answer, ModelError):
                raise answer
            return answer
        raise Unavailable(f"{self.name}: its node was lost {_TRIES} times")

    async def close(self) -> None:
        """Do nothing: others may use the actor."""
