"""Answers: checked when they come, written down for the cache and the log, and read from there again.

Values are checked before anything is made of them: a bad one is a malformed answer. A log-probability that is
no number, a text of megabytes or half a surrogate pair would otherwise show up where nobody can ask again: in
a score, in the log, in the report of a whole run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from simulator.models.base import Answer, Completion, Likelihood, Position, Request, Scored, TokenLogprob
from simulator.models.errors import BadRequest, Malformed
from simulator.models.layers import AnswerT

MOST_CHARACTERS: Final = 1_000_000
"""Of a text that a model writes; 128,000 tokens have about half as many."""

MOST_TOKENS: Final = 200_000
"""With log-probabilities, of one answer."""

_MOST_COUNTED: Final = 10**9
# Rounding can put the logarithm of a certain token a little above 0.
_ROUNDING: Final = 1e-3


def checked(name: str, answer: AnswerT) -> AnswerT:
    """Return `answer` if its values can be what they are said to be.

    Raises:
        Malformed: if one of them cannot; says which.
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
                raise Malformed(f"{name}: the reason for the end is not a word")
            _check_tokens(name, answer.logprobs)
        except Malformed as error:
            raise Malformed(str(error), text=answer.text, usage=answer.usage) from error
    return answer


def count_of(value: object) -> int | None:
    """Return a number of tokens as a server gave it, or None if it is not one."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_COUNTED:
        return value
    return None


def is_unicode(text: str) -> bool:
    """Return True if `text` holds whole characters only."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def plain_text(request: Request) -> str:
    """Return the text that a plain request wants to be continued.

    Raises:
        BadRequest: if it is more than one message, or asks for a schema.
    """
    if len(request.messages) != 1 or request.messages[0].role != "user" or request.schema is not None:
        raise BadRequest("a plain text is one message of the user's, without a schema")
    return request.messages[0].content


def cut(text: str, stops: Sequence[str]) -> str:
    """Return `text` up to the first of `stops`, for servers that do not take (all) stop sequences."""
    ends = [at for stop in stops if stop and (at := text.find(stop)) >= 0]
    return text[: min(ends)] if ends else text


def stored(answer: Answer, least: float = -math.inf) -> dict[str, Any]:
    """Return what an answer says as plain values, without what belongs to the one call (cost, attempts).

    `least`: stands for the log-probability of tokens that cannot come.
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
    """Return the completion that `stored` wrote down; its object is parsed anew from the text."""
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
    """Return the scored text that `stored` wrote down."""
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
        raise Malformed(f"{name}: the answer's text is not a text but {type(text).__name__}", text=repr(text))
    if len(text) > MOST_CHARACTERS:
        raise Malformed(
            f"{name}: the answer has {len(text):,} characters; at most {MOST_CHARACTERS:,} are taken",
            text=text,
        )
    if not is_unicode(text):
        raise Malformed(f"{name}: the answer holds half a surrogate pair", text=text)


def _check_tokens(name: str, tokens: Sequence[TokenLogprob | Position]) -> None:
    if len(tokens) > MOST_TOKENS:
        raise Malformed(f"{name}: log-probabilities of {len(tokens):,} tokens came back")
    for token in tokens:
        for text, logprob in ((token.token, token.logprob), *token.top):
            if not isinstance(text, str):
                raise Malformed(f"{name}: a token is not a text but {type(text).__name__}")
            _check_logprob(name, logprob)


def _check_logprob(name: str, value: object) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    # Minus infinity says that a token cannot come.
    if not number or math.isnan(value) or value > _ROUNDING:  # type: ignore[arg-type,operator]
        raise Malformed(f"{name}: a log-probability is {value!r}, which none can be"[:300])
