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
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from simulator.models.base import Capabilities, Completion, Request
from simulator.models.keys import Identity
from simulator.models.scoring import Scored, ScoreRequest


class Backend(Protocol):
    """A chat model that knows who it is; see `base.ChatModel` for the rest."""

    @property
    def name(self) -> str:
        """``provider/model``."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""
        ...

    @property
    def identity(self) -> Identity:
        """Who answers."""
        ...

    @property
    def ignored(self) -> frozenset[str]:
        """Parameters of a request that this model does not take and that are therefore not sent."""
        ...

    async def complete(self, request: Request) -> Completion:
        """Answer `request`; `Completion.parsed` may be left to `Retried`."""
        ...

    async def score(self, request: ScoreRequest) -> Scored:
        """The probabilities of a given text; `Unsupported` where there is no such thing."""
        ...

    async def close(self) -> None:
        """Give connections back."""
        ...


class Layer:
    """A backend around another backend; does nothing by itself."""

    def __init__(self, inner: Backend) -> None:
        self.inner = inner
        self.name = inner.name
        self.capabilities = inner.capabilities
        self.identity = inner.identity
        self.ignored = inner.ignored

    async def complete(self, request: Request) -> Completion:
        """Answer `request`."""
        return await self.inner.complete(request)

    async def score(self, request: ScoreRequest) -> Scored:
        """Score a given text."""
        return await self.inner.score(request)

    def draw_singly(self) -> None:
        """Have samples drawn one by one from now on, since the server does not draw several at once."""
        self.capabilities = replace(self.capabilities, samples=False)

    async def close(self) -> None:
        """Close this layer and what it wraps."""
        await self.inner.close()
