"""Every call, failed ones too, becomes a row of the log."""

from __future__ import annotations

import itertools
import secrets
import time
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from logs.rows import ModelCall
from simulator.models.answers import stored
from simulator.models.base import Answer, Completion, Request, ScoreRequest
from simulator.models.errors import ModelError
from simulator.models.keys import content, request_key
from simulator.models.layers import AnswerT, Backend, Layer, Send

# The log holds no infinite numbers; providers write this for tokens that cannot come, too.
_IMPOSSIBLE = -9999.0

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

    async def around(self, request: Request | ScoreRequest, send: Send[AnswerT]) -> AnswerT:
        """Return the answer, and record the call whatever comes of it."""
        start = self._clock()
        try:
            answer = await send()
        except ModelError as error:
            response = {"text": error.text, "message": str(error), **_server(error)}
            self._record(request, start, error, response, error=type(error).__name__)
            raise
        self._record(request, start, answer, response_row(answer), cached=answer.cached)
        return answer

    def _record(
        self,
        request: Request | ScoreRequest,
        start: float,
        outcome: Answer | ModelError,
        response: dict[str, Any],
        **more: Any,
    ) -> None:
        asked = content(request)
        asked["key"] = request_key(self.identity, request)
        asked["base_url"] = self.identity.base_url
        asked["extra"] = self._extra
        asked["ignored"] = self._ignored
        self._recorder(
            ModelCall(
                id=next(self._ids),
                episode_id=request.episode_id,
                turn_number=request.turn_number,
                purpose=request.purpose,
                model=self.name,
                prompt_version=request.prompt_version,
                request=asked,
                response=response,
                input_tokens=outcome.usage.input_tokens,
                output_tokens=outcome.usage.output_tokens,
                cost=outcome.cost,
                seconds=self._clock() - start,
                attempts=outcome.attempts,
                **more,
            )
        )


def response_row(answer: Answer) -> dict[str, Any]:
    """Return an answer as the log keeps it (`ModelCall.response`)."""
    row = stored(answer, least=_IMPOSSIBLE)
    if isinstance(answer, Completion):
        is_typed = isinstance(answer.parsed, BaseModel)
        row["parsed"] = answer.parsed.model_dump(mode="json") if is_typed else answer.parsed
    return {**row, "cached_input_tokens": answer.usage.cached_input_tokens, **_server(answer)}


def _server(outcome: Answer | ModelError) -> dict[str, str]:
    return {"server": outcome.server} if outcome.server else {}
