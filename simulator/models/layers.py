"""Base of the layers around a backend.

A `Backend` talks to one model. Layers wrap it, have the same interface, and treat completions and scored
texts the same way. From the outside in (`load.load_model` builds the stack)::

    Decoded     applies the run's decoding options; asks again if reasoning left no room for an answer
    Recorded    writes every call to the log, failed ones included
    Cached      answers from the response cache; identical requests in flight become one
    Retried     parses the answer and retries what may succeed
    Metered     prices the answer and guards the budget
    Limited     waits for a free slot at the provider
    backend     sends the request

For a model on a fleet of servers, `fleet_model.FleetModel` replaces the last two.
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
"""Sends a request to the wrapped backend."""


class Backend(ChatModel, Protocol):
    """A chat model with an identity for keys; it may leave `Completion.parsed` to `Retried`."""

    @property
    def identity(self) -> Identity:
        """Return the model's identity."""

    @property
    def ignored(self) -> frozenset[str]:
        """Return the request parameters that the model does not take, which are not sent."""


_FIELDS: dict[type[Answer], tuple[str, ...]] = {
    kind: tuple(field.name for field in fields(kind)) for kind in (Completion, Scored)
}


def amend(answer: AnswerT, **changes: Any) -> AnswerT:
    """Return a copy of an answer with some fields changed, as `dataclasses.replace` does.

    Skips `Completion.__post_init__`: the reasoning has been removed already, and searching the text again
    at every layer would take longer than everything else that the layers do.
    """
    new = object.__new__(type(answer))
    for name in _FIELDS[type(answer)]:
        object.__setattr__(new, name, changes[name] if name in changes else getattr(answer, name))
    return new


class Layer:
    """A backend around another backend; most layers only override `intercept`."""

    def __init__(self, inner: Backend) -> None:
        self.inner = inner
        self.name = inner.name
        self.capabilities = inner.capabilities
        self.identity = inner.identity
        self.ignored = inner.ignored

    async def complete(self, request: Request) -> Completion:
        """Answer `request`."""
        return await self.intercept(request, lambda: self.inner.complete(request))

    async def score(self, request: ScoreRequest) -> Scored:
        """Score the text of `request`."""
        return await self.intercept(request, lambda: self.inner.score(request))

    async def intercept(self, request: Request | ScoreRequest, send: Send[AnswerT]) -> AnswerT:
        """Return the answer of `send`; the hook for a layer's work before and after a call."""
        return await send()

    def draw_singly(self) -> None:
        """Draw samples one by one from now on, since the server does not draw several in one call."""
        self.capabilities = replace(self.capabilities, samples=False)

    def by_server(self) -> tuple[ChatModel, ...]:
        """Return one copy of the model, with this layer, for each of its servers."""
        return tuple(self._wrapping(inner) for inner in by_server(self.inner))

    def _wrapping(self, inner: Any) -> Layer:
        layer = copy(self)
        layer.inner = inner
        return layer

    async def close(self) -> None:
        """Close this layer and the backend it wraps."""
        await self.inner.close()


def by_server(model: ChatModel) -> tuple[ChatModel, ...]:
    """Return one copy of a model per server of its fleet; only the model itself if it has no fleet."""
    split = getattr(model, "by_server", None)
    return split() if split is not None else (model,)
