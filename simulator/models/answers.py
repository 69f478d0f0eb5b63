"""Checks of answers as they arrive, and their form in the cache and the log.

Values are checked first, and a bad one makes the answer malformed. Otherwise a log-probability that is not a
number, a text of megabytes or half a surrogate pair would only show up where a retry is impossible: in a
score, in the log or in a run's report.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from simulator.models.base import Answer, Completion, Likelihood, Position, Request, Scored, TokenLogprob
from simulator.models.errors import BadRequest, Malformed
from simulator.models.layers import AnswerT

MOST_CHARACTERS: Final = 1_000_000
"""Longest text of an answer; 128,000 tokens are about half of it."""

MOST_TOKENS: Final = 200_000
"""Most tokens with log-probabilities in one answer."""

IMPOSSIBLE: Final = -9999.0
"""Log-probability of an impossible token, as OpenAI's API writes it; the log has no infinite numbers."""

_MOST_COUNTED: Final = 10**9
# Rounding can lift the log-probability of a certain token slightly above 0.
_ROUNDING: Final = 1e-3


def check_answer(name: str, answer: AnswerT) -> AnswerT:
    """Return `answer` if its values are valid.

    Raises:
        Malformed: if one is not; says which.
    """
    if isinstance(answer, Scored):
        _check_tokens(name, answer.positions)
        for likelihood in answer.likelihoods:
            if likelihood.logprob is not None:
                _check_logprob(name, likelihood.logprob)
    elif isinstance(answer, Completion):
        for text in (answer.text, *answer.samples):
            _check_text(name, text)
        try:
            if not isinstance(answer.finish_reason, str):
                raise Malformed(f"{name}: the finish reason is not a string")
            _check_tokens(name, answer.logprobs)
        except Malformed as error:
            raise Malformed(str(error), text=answer.text, usage=answer.usage) from error
    return answer


def count_of(value: object) -> int | None:
    """Return `value` if it is a plausible number of tokens, else None."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_COUNTED:
        return value
    return None


def is_unicode(text: str) -> bool:
    """Return True if `text` contains no half of a surrogate pair."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def plain_text(request: Request) -> str:
    """Return the text that a plain request asks to continue.

    Raises:
        BadRequest: if it is not a single user message, or has a schema.
    """
    if len(request.messages) != 1 or request.messages[0].role != "user" or request.schema is not None:
        raise BadRequest("a plain request is a single user message, without a schema")
    return request.messages[0].content


def cut_at_stops(text: str, stops: Sequence[str]) -> str:
    """Return `text` up to the first of `stops`, for servers that do not support (all) stop sequences."""
    ends = [at for stop in stops if stop and (at := text.find(stop)) >= 0]
    return text[: min(ends)] if ends else text


def answer_values(answer: Answer, least: float = -math.inf) -> dict[str, Any]:
    """Return an answer's content as plain values, without facts of the single call (cost, attempts).

    `least`: the log-probability written for tokens with a lower one, such as impossible tokens.
    """
    if isinstance(answer, Scored):
        positions = [[position.offset, *_stored_token(position, least)] for position in answer.positions]
        likelihoods = [
            [None if logprob is None else max(logprob, least), tokens]
            for logprob, tokens in answer.likelihoods
        ]
        return {"positions": positions} | ({"likelihoods": likelihoods} if likelihoods else {})
    assert isinstance(answer, Completion)
    return {
        "text": answer.text,
        **({"samples": list(answer.samples)} if answer.samples else {}),
        **({"thought": answer.thought} if answer.thought else {}),
        "logprobs": [_stored_token(token, least) for token in answer.logprobs],
        "finish_reason": answer.finish_reason,
    }


def completion_of(row: Mapping[str, Any]) -> Completion:
    """Return the completion that `answer_values` wrote; its object is not stored and must be parsed again."""
    return Completion(
        text=row["text"],
        samples=tuple(row.get("samples", ())),
        thought=row.get("thought", ""),
        finish_reason=row.get("finish_reason", "stop"),
        logprobs=tuple(
            TokenLogprob(token, logprob, _table(top)) for token, logprob, top in row.get("logprobs", ())
        ),
    )


def scored_of(row: Mapping[str, Any]) -> Scored:
    """Return the scored text that `answer_values` wrote."""
    return Scored(
        positions=tuple(
            Position(offset, token, logprob, _table(top)) for offset, token, logprob, top in row["positions"]
        ),
        likelihoods=tuple(Likelihood(*likelihood) for likelihood in row.get("likelihoods", ())),
    )


def _stored_token(token: TokenLogprob | Position, least: float) -> list[Any]:
    top = [[other, max(logprob, least)] for other, logprob in token.top]
    return [token.token, max(token.logprob, least), top]


def _table(top: Iterable[Sequence[Any]]) -> tuple[tuple[str, float], ...]:
    return tuple((token, logprob) for token, logprob in top)


def _check_text(name: str, text: object) -> None:
    if not isinstance(text, str):
        kind = type(text).__name__
        raise Malformed(f"{name}: the answer's text is a {kind}, not a string", text=repr(text))
    if len(text) > MOST_CHARACTERS:
        raise Malformed(
            f"{name}: the answer has {len(text):,} characters; the limit is {MOST_CHARACTERS:,}", text=text
        )
    if not is_unicode(text):
        raise Malformed(f"{name}: the answer contains half a surrogate pair", text=text)


def _check_tokens(name: str, tokens: Sequence[TokenLogprob | Position]) -> None:
    if len(tokens) > MOST_TOKENS:
        raise Malformed(f"{name}: the answer has log-probabilities of {len(tokens):,} tokens, too many")
    for token in tokens:
        for text, logprob in ((token.token, token.logprob), *token.top):
            if not isinstance(text, str):
                raise Malformed(f"{name}: a token is a {type(text).__name__}, not a string")
            _check_logprob(name, logprob)


def _check_logprob(name: str, value: object) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    # Minus infinity marks an impossible token.
    if not number or math.isnan(value) or value > _ROUNDING:  # type: ignore[arg-type,operator]
        raise Malformed(f"{name}: {value!r} is not a log-probability"[:300])
