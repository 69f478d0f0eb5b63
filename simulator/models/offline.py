"""Chat models without a network: scripted (``offline/<name>``) or replayed from a log (``replay/<run>``).

Scripts are for tests, benchmarks and scripted studies.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from logs import LogReader
from simulator.errors import InputError
from simulator.models.answers import answer_values, completion_of, scored_of
from simulator.models.base import Answer, Capabilities, Completion, Request, Scored, ScoreRequest
from simulator.models.decoding import merge_answers, split_samples
from simulator.models.errors import NotRecorded, Refused, cannot_score
from simulator.models.keys import Identity, combined_key, content_key
from simulator.models.layers import AnswerT

ScriptedAnswer = str | Completion | BaseModel | Mapping[str, Any] | Sequence[Any] | BaseException
Script = Callable[[Request], ScriptedAnswer]
Scorer = Callable[[ScoreRequest], Scored | BaseException]
Latency = float | Callable[[Request], float]


class ScriptModel:
    """``offline/<name>``: a model whose answers a function returns.

    The function returns a text, an object (sent as JSON, and checked against the request's schema like any
    answer), a `Completion`, or an exception to raise.
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
            script: returns the answer to a request.
            name: the name after ``offline/``.
            latency: simulated seconds per answer, a number or a function of the request.
            capabilities: the abilities it claims; by default all that it has.
            scorer: returns the scores of a given text; None if the model cannot score.
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
            BaseException: the exception that the script returned or raised.
        """
        latency = self._latency(request) if callable(self._latency) else self._latency
        if latency > 0:
            await asyncio.sleep(latency)
        return _completion(self._script(request), latency)

    async def score(self, request: ScoreRequest) -> Scored:
        """Score a text, without latency.

        Raises:
            Unsupported: if there is no scorer.
            BaseException: the exception that the scorer returned or raised.
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


_ASKED: Final = """
    SELECT model, json_extract(asked, '$.base_url'), json_extract(asked, '$.extra'),
        max(json_extract(asked, '$.parameters.plain') IS NOT NULL),
        max(json_extract(asked, '$.parameters.plain') IS NULL AND json_extract(asked, '$.text') IS NULL),
        max(json_extract(asked, '$.parameters.top_logprobs') IS NOT NULL),
        max(json_extract(asked, '$.text') IS NOT NULL),
        min(json_extract(asked, '$.ignored'))
    FROM (
        SELECT c.model, c.seq, whole_request(c.id, c.request, c.request_key) AS asked
        FROM model_calls c JOIN episodes e ON e.id = c.episode_id
        WHERE e.run_id = ? AND c.request_key IS NOT NULL
    )
    GROUP BY 1, 2, 3 ORDER BY min(seq)
"""
"""By model: did it continue texts, answer chats, give log-probabilities, score texts; what did it ignore?"""
# A refusal is an answer, too.
_ANSWER: Final = """
    SELECT c.response, c.error FROM model_calls c JOIN episodes e ON e.id = c.episode_id
    WHERE e.run_id = ? AND c.request_key = ? AND c.error IN ('', 'Refused') ORDER BY c.seq LIMIT 1
"""


class ReplayModel:
    """``replay/<run>``: the logged answer to the same messages, parameters, schema and repeat index.

    A text is scored with the logged numbers for the same text, offsets and `top`. The model claims the
    abilities that the run used, so that seats send it the same requests.

    All models of the run are searched, so one replayed run serves all seats; only if two of them answered
    an identical request differently, that answer cannot be replayed.
    """

    def __init__(self, run_id: str, log: Path) -> None:
        """Read which models a run used. The log is opened for each look-up, so nothing needs closing.

        Raises:
            InputError: if the run has no model calls.
            LogError: if the log cannot be read.
        """
        with LogReader(log) as reader, reader.connection() as connection:
            rows = connection.execute(_ASKED, [run_id]).fetchall()
        if not rows:
            raise InputError(
                f"run {run_id!r} has no model calls, so there is nothing to replay; check its name"
            )
        self.run_id = run_id
        self.identity = Identity("replay", run_id)
        self.name = self.identity.name
        plain, chats, logprobs, scoring = (any(answers) for answers in list(zip(*rows, strict=True))[3:7])
        # Backends that score can also return log-probabilities and continue texts.
        self.capabilities = Capabilities(
            logprobs=logprobs or scoring,
            schema=chats,
            seed=True,
            scoring=scoring,
            plain=plain or scoring,
            samples=True,
        )
        self.ignored = frozenset.intersection(*(frozenset(json.loads(row[7] or "[]")) for row in rows))
        self._log = log
        self._identities = tuple(_identity(*row[:3]) for row in rows)

    async def complete(self, request: Request) -> Completion:
        """Return the logged answer.

        Raises:
            Refused: if the model declined.
            NotRecorded: if the run has none, or two that differ.
        """
        try:
            return self._logged_answer(request, completion_of)
        except NotRecorded:
            if request.samples == 1:
                raise
        # The original model drew its samples one by one.
        return merge_answers([self._logged_answer(part, completion_of) for part in split_samples(request)])

    async def score(self, request: ScoreRequest) -> Scored:
        """Return the logged numbers.

        Raises:
            NotRecorded: if the run has none, or two that differ.
        """
        return self._logged_answer(request, scored_of)

    def _logged_answer(
        self, request: Request | ScoreRequest, read: Callable[[Mapping[str, Any]], AnswerT]
    ) -> AnswerT:
        content = content_key(request)
        keys = {each.name: combined_key(each, content) for each in self._identities}
        with LogReader(self._log) as reader, reader.connection() as connection:
            rows = {
                name: connection.execute(_ANSWER, [self.run_id, key]).fetchone() for name, key in keys.items()
            }
        responses = {name: (json.loads(row[0]), row[1]) for name, row in rows.items() if row is not None}
        answers = {
            name: Refused(response["message"], text=response["text"]) if error else read(response)
            for name, (response, error) in responses.items()
        }
        if not answers:
            raise NotRecorded(self._describe_missing(request))
        first, *others = answers.values()
        if any(_answer_text(other) != _answer_text(first) for other in others):
            raise NotRecorded(
                f"run {self.run_id!r} has different answers from {' and '.join(answers)} to the same request",
                text=str(_answer_text(first)),
            )
        if isinstance(first, Refused):
            raise first
        return first

    async def close(self) -> None:
        """Do nothing: there is nothing to give back."""

    def _describe_missing(self, request: Request | ScoreRequest) -> str:
        return (
            f"run {self.run_id!r} has no answer to this request (purpose {request.purpose!r}, episode "
            f"{request.episode_id!r}, turn {request.turn_number}): its messages or parameters differ from "
            "the logged ones. Replay with the seed, data, prompts and options of that run."
        )


def _answer_text(answer: Answer | Refused) -> object:
    if isinstance(answer, Refused):
        return str(answer)
    if isinstance(answer, Completion):
        return answer.text, answer.samples
    return answer_values(answer)


def _identity(name: str, base_url: str | None, extra: str | None) -> Identity:
    provider, _, model = name.partition("/")
    return Identity(provider, model, base_url or "", json.loads(extra or "{}"))
