"""Chat models without a network: a function answers. For tests, benchmarks and scripted studies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from simulator.models.base import Capabilities, Completion, Request, Scored, ScoreRequest
from simulator.models.errors import cannot_score
from simulator.models.keys import Identity

ScriptedAnswer = str | Completion | BaseModel | Mapping[str, Any] | Sequence[Any] | BaseException
Script = Callable[[Request], ScriptedAnswer]
Scorer = Callable[[ScoreRequest], Scored | BaseException]
Latency = float | Callable[[Request], float]


class ScriptModel:
    """``offline/<name>``: answers what a function of the request returns.

    The function returns the text, an object (it becomes the JSON text of the answer, and is checked
    against the request's schema like any model's answer), a whole `Completion`, or an exception to raise.
    """

    def __init__(
        self,
        script: Script,
        *,
        name: str = "script",
        latency: Latency = 0.0,
        capabilities: Capabilities | None = None,
        scorer: Scorer | None = None,
    ) -> None:
        """Make a scripted model.

        Args:
            script: what to answer.
            name: its name after ``offline/``.
            latency: simulated seconds per answer, a number or a function of the request.
            capabilities: what it claims to be able to do; by default everything it can.
            scorer: how to score a given text; None if it cannot.
        """
        self.identity = Identity("offline", name)
        self.name = self.identity.name
        self.capabilities = capabilities or Capabilities(
            logprobs=True, schema=True, seed=True, scoring=scorer is not None, plain=True
        )
        self.ignored: frozenset[str] = frozenset()
        self._script = script
        self._latency = latency
        self._scorer = scorer

    async def complete(self, request: Request) -> Completion:
        """Answer `request` after the simulated latency.

        Raises:
            BaseException: whatever the script returned or raised.
        """
        latency = self._latency(request) if callable(self._latency) else self._latency
        if latency > 0:
            await asyncio.sleep(latency)
        return _completion(self._script(request), latency)

    async def score(self, request: ScoreRequest) -> Scored:
        """Score a text, at once.

        Raises:
            Unsupported: if there is no scorer.
            BaseException: whatever the scorer returned or raised.
        """
        if self._scorer is None:
            raise cannot_score(self.name)
        scored = self._scorer(request)
        if isinstance(scored, BaseException):
            raise scored
        return scored

    async def close(self) -> None:
        """Do nothing: there is nothing to give back."""


def _completion(answer: ScriptedAnswer, seconds: float) -> Completion:
    if isinstance(answer, str):
        return Completion(text=answer, seconds=seconds)
    if isinstance(answer, Completion):
        return answer
    if isinstance(answer, BaseException):
        raise answer
    if isinstance(answer, BaseModel):
        return Completion(text=answer.model_dump_json(), seconds=seconds)
    return Completion(text=json.dumps(answer, ensure_ascii=False), seconds=seconds)
