"""``replay/<run>``: answers out of the model calls of a logged run, without any model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from simulator.models.base import Capabilities, Completion, Request, TokenLogprob, Usage
from simulator.models.errors import NotRecorded
from simulator.models.keys import Identity, content_key


class Recordings(Protocol):
    """Where logged answers are found."""

    def find_response(self, run_id: str, request_key: str) -> Mapping[str, Any] | None:
        """The response (`ModelCall.response`) that `run_id` logged for a request, or None.

        Args:
            run_id: the run.
            request_key: the request's `content_key`, logged as ``ModelCall.request["content"]``. It does
                not depend on which model answered, so one replayed run serves all seats.
        """
        ...


class ReplayModel:
    """``replay/<run>``: the logged answer to the same messages, parameters, schema and repeat index."""

    def __init__(self, run_id: str, recordings: Recordings) -> None:
        self.run_id = run_id
        self.identity = Identity("replay", run_id)
        self.name = self.identity.name
        self.capabilities = Capabilities(logprobs=True, schema=True, seed=True)
        self.ignored: frozenset[str] = frozenset()
        self._recordings = recordings

    async def complete(self, request: Request) -> Completion:
        """The logged answer.

        Raises:
            NotRecorded: if the run has none.
        """
        response = self._recordings.find_response(self.run_id, content_key(request))
        if response is None:
            raise NotRecorded(
                f"run {self.run_id!r} has no answer to this request (purpose {request.purpose!r}, episode "
                f"{request.episode_id!r}, turn {request.turn_number}): its messages or parameters differ "
                "from the logged ones. Replay with the seed, data, prompts and options of that run."
            )
        return completion_of(response)

    async def close(self) -> None:
        """Nothing to give back; the recordings belong to whoever made them."""


def completion_of(response: Mapping[str, Any]) -> Completion:
    """The completion that `record.response_row` wrote down; its object is parsed anew from the text."""
    return Completion(
        text=response["text"],
        finish_reason=response.get("finish_reason", "stop"),
        usage=Usage(),
        logprobs=tuple(
            TokenLogprob(token, logprob, tuple((other, value) for other, value in top))
            for token, logprob, top in response.get("logprobs", ())
        ),
    )
