"""Every call, failed ones too, becomes a row of the log."""

from __future__ import annotations

import itertools
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from pydantic import BaseModel

from logs.rows import ModelCall
from simulator.models import keys
from simulator.models.base import Completion, Request, TokenLogprob
from simulator.models.errors import Malformed, ModelError, Refused
from simulator.models.layers import Backend, Layer
from simulator.models.scoring import Position, Scored, ScoreRequest

# The log holds no infinite numbers; providers write this for tokens that cannot come, too.
_IMPOSSIBLE = -9999.0

_Answer = TypeVar("_Answer", Completion, Scored)

Recorder = Callable[[ModelCall], object]


class Recorded(Layer):
    """Hands a `ModelCall` to `recorder` after every call; the outermost layer."""

    def __init__(
        self, inner: Backend, recorder: Recorder, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(inner)
        self._recorder = recorder
        self._clock = clock
        self._extra = dict(self.identity.extra)
        self._ignored = sorted(self.ignored)
        # Random once, then counted: asking the system for each call's id would cost more than the rest.
        start = secrets.token_hex(12)
        self._ids = (f"{start}{number:08x}" for number in itertools.count())

    async def complete(self, request: Request) -> Completion:
        """Answer `request` and record it."""
        return await self._kept(request, lambda: self.inner.complete(request))

    async def score(self, request: ScoreRequest) -> Scored:
        """Score a text and record it."""
        return await self._kept(request, lambda: self.inner.score(request))

    async def _kept(self, request: Request | ScoreRequest, send: Callable[[], Awaitable[_Answer]]) -> _Answer:
        start = self._clock()
        try:
            answer = await send()
        except ModelError as error:
            self._recorder(self._failed(request, error, self._clock() - start))
            raise
        self._recorder(self._answered(request, answer, self._clock() - start))
        return answer

    def _answered(
        self, request: Request | ScoreRequest, answer: Completion | Scored, seconds: float
    ) -> ModelCall:
        return ModelCall(
            id=next(self._ids),
            episode_id=request.episode_id,
            turn_number=request.turn_number,
            purpose=request.purpose,
            model=self.name,
            prompt_version=request.prompt_version,
            request=self._request(request),
            response=scored_row(answer) if isinstance(answer, Scored) else response_row(answer),
            input_tokens=answer.usage.input_tokens,
            output_tokens=answer.usage.output_tokens,
            cost=answer.cost,
            seconds=seconds,
            attempts=answer.attempts,
            cached=answer.cached,
        )

    def _failed(self, request: Request | ScoreRequest, error: ModelError, seconds: float) -> ModelCall:
        text = error.text if isinstance(error, Malformed | Refused) else ""
        return ModelCall(
            id=next(self._ids),
            episode_id=request.episode_id,
            turn_number=request.turn_number,
            purpose=request.purpose,
            model=self.name,
            prompt_version=request.prompt_version,
            request=self._request(request),
            response={"text": text, "message": str(error)},
            input_tokens=error.usage.input_tokens,
            output_tokens=error.usage.output_tokens,
            cost=error.cost,
            seconds=seconds,
            attempts=error.attempts,
            error=type(error).__name__,
        )

    def _request(self, request: Request | ScoreRequest) -> dict[str, Any]:
        row = keys.content(request)
        row["key"] = keys.request_key(self.identity, request)
        row["base_url"] = self.identity.base_url
        row["extra"] = self._extra
        row["ignored"] = self._ignored
        return row


def response_row(completion: Completion) -> dict[str, Any]:
    """A completion as the log keeps it (`ModelCall.response`)."""
    samples = {"samples": list(completion.samples)} if completion.samples else {}
    return {
        "text": completion.text,
        **samples,
        **({"thought": completion.thought} if completion.thought else {}),
        "parsed": _plain(completion.parsed),
        "logprobs": [_token(each) for each in completion.logprobs],
        "finish_reason": completion.finish_reason,
        "cached_input_tokens": completion.usage.cached_input_tokens,
    }


def scored_row(scored: Scored) -> dict[str, Any]:
    """A scored text as the log keeps it: of each position offset, token, log-probability and table.

    Of each continuation its log-probability and number of tokens.
    """
    found = [[_finite(each.logprob), each.tokens] for each in scored.likelihoods]
    return {
        "positions": [[each.offset, *_token(each)] for each in scored.positions],
        **({"likelihoods": found} if found else {}),
        "cached_input_tokens": scored.usage.cached_input_tokens,
    }


def _token(token: TokenLogprob | Position) -> list[Any]:
    top = [[other, max(logprob, _IMPOSSIBLE)] for other, logprob in token.top]
    return [token.token, max(token.logprob, _IMPOSSIBLE), top]


def _finite(logprob: float | None) -> float | None:
    return None if logprob is None else max(logprob, _IMPOSSIBLE)


def _plain(parsed: Any) -> Any:
    return parsed.model_dump(mode="json") if isinstance(parsed, BaseModel) else parsed
