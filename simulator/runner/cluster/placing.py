"""Models whose weights lie on a node: loaded once there, by an actor, and asked by all who play on it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, cast

from simulator.errors import AskbackError
from simulator.models import (
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
from simulator.models.layers import Backend
from simulator.models.load import load_backend
from simulator.runner.cluster.connecting import imported_ray, this_node

_TRIES: Final = 3


class Description(NamedTuple):
    """The facts that a layer needs of a backend (`simulator.models.layers.Backend`)."""

    name: str
    identity: Identity
    capabilities: Capabilities
    ignored: frozenset[str]


class NodeModel:
    """The actor with the weights. What goes wrong is an answer, too: the actor lives on."""

    def __init__(self, name: str, options: ModelOptions, environment: Mapping[str, str]) -> None:
        """Load nothing yet (see `describe`)."""
        os.environ.update(environment)
        self._name, self._options = name, options
        self._backend: Backend | None = None

    async def describe(self) -> Description | AskbackError:
        """Load the model, if it is not loaded, and describe it."""
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
    """A `Backend` that asks a `NodeModel`; when that is lost, another."""

    def __init__(self, head: Any, name: str) -> None:
        """Find or place the actor, and wait until it has loaded the model.

        Raises:
            AskbackError: if it cannot be loaded or placed.
        """
        ray = imported_ray()
        self._lost_error: type[Exception] = ray.exceptions.RayActorError
        self._head, self._asked_for, self._node = head, name, this_node(ray)
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
                self._take(*await self._head.place.remote(self._asked_for, self._node, lost))
                continue
            if isinstance(answer, ModelError):
                raise answer
            return answer
        raise Unavailable(f"{self.name}: the node that computed it was lost {_TRIES} times")

    async def close(self) -> None:
        """Do nothing: others may ask it."""
