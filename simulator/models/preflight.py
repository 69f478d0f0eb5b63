"""Preflight checks before a run: one request per model and need.

A server's abilities show only when it is asked: many with OpenAI's API omit log-probabilities, or draw one
sample whatever the request says. The abilities of models in this process are known.
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
"""Prefixes of models that may run on the user's own server."""
BY_LIBRARY: Final = ("azure/", "bedrock/", "gemini/", "mistral/", "litellm/")
"""Prefixes of models reached through LiteLLM."""
REMOTE: Final = (*SERVED, *BY_LIBRARY)
"""Prefixes of models reached over a network."""
_ABSENT: Final = (RateLimited, ServerDown, TimedOut, Unavailable)
"""Errors of a server that may come back."""
_SCHEMA: Final[dict[str, Any]] = {
    "title": "Ready",
    "type": "object",
    "properties": {"ready": {"type": "boolean"}},
    "required": ["ready"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """A run's demands on a model besides text. Abilities that the backend rules out are not checked.

    Attributes:
        top_logprobs: alternatives per token; None for no log-probabilities.
        samples: several samples for one request; they are drawn one by one if the server returns only one.
        schema: answers that follow a schema.
        plain: continuations of plain texts; all check requests are then plain.
        scoring: probabilities of a given text.
    """

    top_logprobs: int | None = None
    samples: bool = False
    schema: bool = False
    plain: bool = False
    scoring: bool = False

    def __or__(self, other: Needs) -> Needs:
        """Return the combined needs of two seats with one model."""
        tops = [top for top in (self.top_logprobs, other.top_logprobs) if top is not None]
        return Needs(
            top_logprobs=max(tops, default=None),
            samples=self.samples or other.samples,
            schema=self.schema or other.schema,
            plain=self.plain or other.plain,
            scoring=self.scoring or other.scoring,
        )


async def run_preflight(model: ChatModel, needs: Needs | None = None, *, fresh: bool = False) -> None:
    """Send `model` one request for each need, or for a plain answer if it has none.

    Afterwards `decoding.sample` knows whether to draw samples one by one. Every server of a fleet is checked
    (its number is the repeat index), and one must answer. `fresh` avoids cached answers.

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
    """Check a model at one server; return its fault, if any."""
    can = model.capabilities
    # All benchmarks treat a model that continues texts but follows no schema as one without chat.
    if can.plain and not can.schema:
        needs = replace(needs, plain=True)
    checks: list[Awaitable[object]] = []
    if needs.top_logprobs is not None and can.logprobs:
        checks.append(_ask_logprobs(model, needs, repeat))
    if needs.schema and can.schema:
        checks.append(_ask_schema(model, repeat))
    if needs.scoring and can.scoring:
        checks.append(model.score(ScoreRequest(text="yes", continuations=(" no",), top=0, purpose=PURPOSE)))
    try:
        await asyncio.gather(*(checks or [model.complete(_request(needs, repeat=repeat))]))
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
            f"{model.name} was asked for log-probabilities and returned no alternative tokens; "
            "use another server or model"
        )


async def _ask_schema(model: ChatModel, repeat: int) -> None:
    request = Request(
        messages=(Message("user", 'Answer with the JSON object {"ready": true} and nothing else.'),),
        schema=_SCHEMA,
        repeat=repeat,
        purpose=PURPOSE,
    )
    try:
        await model.complete(request)
    except Malformed as error:
        # An object that does not match is the model's fault, not the server's; each answer is checked anyway.
        if not any(isinstance(value, dict) for value in candidates(error.text)):
            raise Unsupported(
                f"{model.name} was asked for an answer that follows a JSON schema and returned none; "
                "use another server or model"
            ) from error


async def _ask_samples(model: ChatModel, needs: Needs, repeat: int) -> None:
    try:
        await model.complete(_request(needs, repeat=repeat, temperature=1.0, samples=2))
    except (TooFewSamples, BadRequest, Malformed):
        draw_singly(model)


def _request(needs: Needs, **settings: Any) -> Request:
    """Return a request for one word, with the default token limit so that reasoning models can answer."""
    text = "One word: ready" if needs.plain else "Answer with the word: ready"
    return Request(messages=(Message("user", text),), plain=needs.plain, purpose=PURPOSE, **settings)
