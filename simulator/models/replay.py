"""``replay/<run>``: answers out of the model calls of a logged run, without any model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from logs import LogReader
from logs.replay import find_response
from simulator.models.base import Capabilities, Completion, Request, TokenLogprob
from simulator.models.errors import NotRecorded
from simulator.models.keys import Identity, combined_key, content_key
from simulator.models.sampling import singles, together
from simulator.models.scoring import Likelihood, Position, Scored, ScoreRequest

_Answer = TypeVar("_Answer", Completion, Scored)


class Recordings(Protocol):
    """Where logged answers are found."""

    def identities(self, run_id: str) -> Sequence[Identity]:
        """The models that were asked in `run_id`."""
        ...

    def find_response(self, run_id: str, request_key: str) -> Mapping[str, Any] | None:
        """The response (`ModelCall.response`) that `run_id` logged under a `request_key`, or None."""
        ...


class LogRecordings:
    """The recordings in a log file. The file is opened for each look-up, so there is nothing to close."""

    def __init__(self, path: Path) -> None:
        """Read from the log at `path`, which need not be there before the first look-up."""
        self.path = path

    def identities(self, run_id: str) -> tuple[Identity, ...]:
        """The models that were asked in `run_id`, in the order of their first call.

        Raises:
            LogError: if the log cannot be read.
        """
        asked = (
            "SELECT model, json_extract(asked, '$.base_url'), json_extract(asked, '$.extra'), "
            "min(seq) AS first FROM "
            "(SELECT c.model, c.seq, whole_request(c.id, c.request, c.request_key) AS asked "
            "FROM model_calls c JOIN episodes e ON e.id = c.episode_id "
            "WHERE e.run_id = ? AND c.request_key IS NOT NULL) GROUP BY 1, 2, 3 ORDER BY first"
        )
        with LogReader(self.path) as reader, reader.connection() as connection:
            found = connection.execute(asked, [run_id]).fetchall()
        return tuple(_identity(model, base_url, extra) for model, base_url, extra, _ in found)

    def find_response(self, run_id: str, request_key: str) -> Mapping[str, Any] | None:
        """The first answer that `run_id` logged under `request_key`, or None.

        Raises:
            LogError: if the log cannot be read.
        """
        with LogReader(self.path) as reader:
            call = find_response(reader, run_id, request_key)
        return None if call is None else call.response


class ReplayModel:
    """``replay/<run>``: the logged answer to the same messages, parameters, schema and repeat index.

    A text is scored with the logged numbers of the same text, offsets and length of tables.

    Which of the run's models had been asked does not matter, so one replayed run serves all seats; only
    where two of them were asked the very same and answered differently, nothing can be replayed.
    """

    def __init__(self, run_id: str, recordings: Recordings) -> None:
        self.run_id = run_id
        self.identity = Identity("replay", run_id)
        self.name = self.identity.name
        self.capabilities = Capabilities(
            logprobs=True, schema=True, seed=True, scoring=True, plain=True, samples=True
        )
        self.ignored: frozenset[str] = frozenset()
        self._recordings = recordings
        self._asked: Sequence[Identity] | None = None

    async def complete(self, request: Request) -> Completion:
        """The logged answer.

        Raises:
            NotRecorded: if the run has none, or two that differ.
        """
        try:
            return self._found(request, completion_of)
        except NotRecorded:
            if request.samples == 1:
                raise
        # Whoever answered could not draw several at once.
        return together([self._found(one, completion_of) for one in singles(request)])

    async def score(self, request: ScoreRequest) -> Scored:
        """The logged numbers.

        Raises:
            NotRecorded: if the run has none, or two that differ.
        """
        return self._found(request, scored_of)

    def _found(
        self, request: Request | ScoreRequest, read: Callable[[Mapping[str, Any]], _Answer]
    ) -> _Answer:
        if self._asked is None:
            self._asked = self._recordings.identities(self.run_id)
        content = content_key(request)
        keys = {each.name: combined_key(each, content) for each in self._asked}
        found = {name: self._recordings.find_response(self.run_id, key) for name, key in keys.items()}
        answers = {name: read(response) for name, response in found.items() if response is not None}
        if not answers:
            raise NotRecorded(self._missing(request))
        first, *others = answers.values()
        if any(_said(other) != _said(first) for other in others):
            raise NotRecorded(
                f"run {self.run_id!r} has different answers of {' and '.join(answers)} to one request"
            )
        return first

    async def close(self) -> None:
        """Nothing to give back."""

    def _missing(self, request: Request | ScoreRequest) -> str:
        if not self._asked:
            return f"no model was asked in run {self.run_id!r}, so there is nothing to replay; check its name"
        return (
            f"run {self.run_id!r} has no answer to this request (purpose {request.purpose!r}, episode "
            f"{request.episode_id!r}, turn {request.turn_number}): its messages or parameters differ from "
            "the logged ones. Replay with the seed, data, prompts and options of that run."
        )


def _said(answer: Completion | Scored) -> object:
    if isinstance(answer, Scored):
        return answer.positions, answer.likelihoods
    return answer.text, answer.samples


def _identity(name: str, base_url: str | None, extra: str | None) -> Identity:
    provider, _, model = name.partition("/")
    return Identity(provider, model, base_url or "", json.loads(extra or "{}"))


def completion_of(response: Mapping[str, Any]) -> Completion:
    """The completion that `record.response_row` wrote down; its object is parsed anew from the text."""
    return Completion(
        text=response["text"],
        samples=tuple(response.get("samples", ())),
        thought=response.get("thought", ""),
        finish_reason=response.get("finish_reason", "stop"),
        logprobs=tuple(
            TokenLogprob(token, logprob, tuple((other, value) for other, value in top))
            for token, logprob, top in response.get("logprobs", ())
        ),
    )


def scored_of(response: Mapping[str, Any]) -> Scored:
    """The scored text that `record.scored_row` wrote down."""
    return Scored(
        positions=tuple(
            Position(offset=offset, token=token, logprob=logprob, top=tuple((each, n) for each, n in top))
            for offset, token, logprob, top in response["positions"]
        ),
        likelihoods=tuple(Likelihood(*each) for each in response.get("likelihoods", ())),
    )
