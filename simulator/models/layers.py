"""What the layers around a backend have in common.

A `Backend` talks to one model; layers wrap it one around the other and look like it; what a
layer does for an answer it does for a scored text, too. From the outside in
(`load.load_model` puts them together)::

    Decoded     replaces decoding options by those of the run, if it has any
    Recorded    writes every call, failed ones too, to the log
    Cached      answers from the response cache; identical requests in flight become one
    Retried     parses the answer, tries again what is worth it
    Metered     prices the answer, guards the budget
    Limited     waits for a free place at the provider
    backend     sends the request

Where a fleet of servers has the model, `fleet_model.FleetModel` takes the place of the last two.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from copy import copy
from dataclasses import fields, replace
from typing import Any, Protocol, TypeVar

from simulator.models.base import Answer, ChatModel, Completion, Request, Scored, ScoreRequest
from simulator.models.keys import Identity

AnswerT = TypeVar("AnswerT", bound=Answer)
Send = Callable[[], Awaitable[AnswerT]]
"""Sends a request to what a layer wraps."""


class Backend(ChatModel, Protocol):
    """A chat model that knows who it is; `Completion.parsed` may be left to `Retried`."""

    @property
    def identity(self) -> Identity:
        """Return who answers."""

    @property
    def ignored(self) -> frozenset[str]:
        """Parameters of a request that this model does not take and that are therefore not sent."""


_FIELDS: dict[type[Answer], tuple[str, ...]] = {
    kind: tuple(field.name for field in fields(kind)) for kind in (Completion, Scored)
}


def amended(answer: AnswerT, **changes: Any) -> AnswerT:
    """Return an answer with other values in some fields, as `dataclasses.replace` does.

    Its text has been parted from the reasoning already. To look for that again at every layer would take more
    time than all else that they do.
    """
    new = object.__new__(type(answer))
    for name in _FIELDS[type(answer)]:
        object.__setattr__(new, name, changes[name] if name in changes else getattr(answer, name))
    return new


class Layer:
    """A backend around another backend. Most layers do the same around every call (`around`)."""

    def __init__(self, inner: Backend) -> None:
        self.inner = inner
        self.name = inner.name
        self.capabilities = inner.capabilities
        self.identity = inner.identity
        self.ignored = inner.ignored

    async def complete(self, request: Request) -> Completion:
        """Answer `request`."""
        return await self.around(request, lambda: self.inner.complete(request))

    async def score(self, request: ScoreRequest) -> Scored:
        """Score a given text."""
        return await self.around(request, lambda: self.inner.score(request))

    async def around(self, request: Request | ScoreRequest, send: Send[AnswerT]) -> AnswerT:
        """Return the answer of `send`, with whatever this layer does before and after."""
        return await send()

    def draw_singly(self) -> None:
        """Have samples drawn one by one from now on, since the server does not draw several at once."""
        self.capabilities = replace(self.capabilities, samples=False)

    def by_server(self) -> tuple[ChatModel, ...]:
        """Return the model, with this layer, at each of the servers that it has."""
        return tuple(self._around(inner) for inner in by_server(self.inner))

    def _around(self, inner: Any) -> Layer:
        layer = copy(self)
        layer.inner = inner
        return layer

    async def close(self) -> None:
        """Close this layer and what it wraps."""
        await self.inner.close()


def by_server(model: ChatModel) -> tuple[ChatModel, ...]:
    """Return a model at each of its servers: itself alone, unless a fleet has it."""
    split = getattr(model, "by_server", None)
    return split() if split is not None else (model,)
