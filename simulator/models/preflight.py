"""One request per model and need before a run: is the model there, does its server do what is needed?

What a server can do shows only when it is asked: many that speak OpenAI's language leave out
log-probabilities, or draw one sample however many are wanted. What models in this process can do is known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from secrets import randbits
from typing import Any, Final

from simulator.models.base import ChatModel, Message, Request, ScoreRequest
from simulator.models.decoding import draw_singly
from simulator.models.errors import (
    BadRequest,
    Malformed,
    ModelError,
    PreflightFailed,
    RateLimited,
    ServerDown,
    TimedOut,
    TooFewSamples,
    Unavailable,
    Unsupported,
)
from simulator.models.layers import by_server
from simulator.models.schema import candidates

PURPOSE: Final = "preflight"
SERVED: Final = ("openai/", "completions/", "anthropic/")
"""The beginnings of the names of models that may be on a server of one's own."""
BY_LIBRARY: Final = ("azure/", "bedrock/", "gemini/", "mistral/", "litellm/")
"""The beginnings of the names of models of other providers."""
REMOTE: Final = (*SERVED, *BY_LIBRARY)
"""The beginnings of the names of models that are asked over a network."""
_ABSENT: Final = (RateLimited, ServerDown, TimedOut, Unavailable)
"""Errors of a server that may be there later."""
_SCHEMA: Final[dict[str, Any]] = {
    "title": "Ready",
    "type": "object",
    "properties": {"ready": {"type": "boolean"}},
    "required": ["ready"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """A run's demands on a model beside text; what its backend is known not to give is not asked for.

    Attributes:
        top_logprobs: alternatives per token; None for no log-probabilities.
        samples: several answers to one request; where a server gives one, they are drawn one by one.
        plain: the continuation of a plain text; all the requests are plain then.
        scoring: the probabilities of a given text.
    """

    top_logprobs: int | None = None
    samples: bool = False
    schema: bool = False
    plain: bool = False
    scoring: bool = False

    def __or__(self, other: Needs) -> Needs:
        """Return what two seats with one model need."""
        tops = [top for top in (self.top_logprobs, other.top_logprobs) if top is not None]
        return Needs(
            top_logprobs=max(tops, default=None),
            samples=self.samples or other.samples,
            schema=self.schema or other.schema,
            plain=self.plain or other.plain,
            scoring=self.scoring or other.scoring,
        )


async def run_preflight(model: ChatModel, needs: Needs | None = None, *, fresh: bool = False) -> None:
    """Ask `model` for one thing of each kind that is needed, or for a text if nothing special is.

    Afterwards `decoding.sample` knows whether to draw samples one by one. Of a fleet each server is asked, by
    the repeat index that is its number; it may lack servers that do not answer, as long as it has one.

    Raises:
        PreflightFailed: if the model does not answer, or lacks something; says what, and the way out.
    """
    if not model.name.startswith(REMOTE):
        return
    needs = needs or Needs()
    repeat = randbits(31) if fresh else 0
    servers = by_server(model)
    faults = await asyncio.gather(
        *(_fault(server, needs, repeat + number) for number, server in enumerate(servers))
    )
    if any(server.capabilities != model.capabilities for server in servers):
        draw_singly(model)
    lacking = [fault for fault in faults if fault is not None and not isinstance(fault, _ABSENT)]
    if lacking or None not in faults:
        fault = next(each for each in (*lacking, *faults) if each is not None)
        failed = PreflightFailed(f"{str(fault).removesuffix('.')}. Nothing was played.")
        failed.code = fault.code
        raise failed from fault


async def _fault(model: ChatModel, needs: Needs, repeat: int) -> ModelError | None:
    """Ask a model at one server; return what is wrong with it."""
    can = model.capabilities
    # The convention of all benchmarks: who can follow no schema, but continue texts, knows no chats.
    if can.plain and not can.schema:
        needs = replace(needs, plain=True)
    special: list[Awaitable[object]] = []
    if needs.top_logprobs is not None and can.logprobs:
        special.append(_ask_logprobs(model, needs, repeat))
    if needs.schema and can.schema:
        special.append(_ask_schema(model, repeat))
    if needs.scoring and can.scoring:
        special.append(model.score(ScoreRequest(text="yes", continuations=(" no",), top=0, purpose=PURPOSE)))
    try:
        await asyncio.gather(*(special or [model.complete(_request(needs, repeat=repeat))]))
        if needs.samples and can.samples:
            await _ask_samples(model, needs, repeat)
    except ModelError as error:
        return error
    return None


async def _ask_logprobs(model: ChatModel, needs: Needs, repeat: int) -> None:
    answer = await model.complete(
        _request(needs, repeat=repeat, max_tokens=1, top_logprobs=needs.top_logprobs)
    )
    if not answer.logprobs or (needs.top_logprobs and not any(token.top for token in answer.logprobs)):
        raise Unsupported(
            f"{model.name} was asked for log-probabilities and gave none of other tokens; "
            "take another server or model"
        )


async def _ask_schema(model: ChatModel, repeat: int) -> None:
    asked = Request(
        messages=(Message("user", 'Answer with the JSON object {"ready": true} and nothing else.'),),
        schema=_SCHEMA,
        repeat=repeat,
        purpose=PURPOSE,
    )
    try:
        await model.complete(asked)
    except Malformed as error:
        # An object of another form is the model's fault, not the server's: answers are checked one by one.
        if not any(isinstance(value, dict) for value in candidates(error.text)):
            raise Unsupported(
                f"{model.name} was asked for an answer that follows a JSON schema and gave none; "
                "take another server or model"
            ) from error


async def _ask_samples(model: ChatModel, needs: Needs, repeat: int) -> None:
    try:
        await model.complete(_request(needs, repeat=repeat, temperature=1.0, samples=2))
    except (TooFewSamples, BadRequest, Malformed):
        draw_singly(model)


def _request(needs: Needs, **settings: Any) -> Request:
    """Return a request for a word; with the usual limit, so that models that think first can answer, too."""
    text = "One word: ready" if needs.plain else "Answer with the word: ready"
    return Request(messages=(Message("user", text),), plain=needs.plain, purpose=PURPOSE, **settings)
