"""Values of answers are checked before anything is made of them: a bad value is a malformed answer.

A log-probability that is no number, a text of megabytes or half a surrogate pair would otherwise show up
where nobody can ask again: in a score, in the log, in the report of a whole run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from simulator.models.base import Completion, TokenLogprob
from simulator.models.errors import Malformed
from simulator.models.scoring import Position, Scored

MOST_CHARACTERS: Final = 1_000_000
"""Of a text that a model writes; 128,000 tokens have about half as many."""

MOST_TOKENS: Final = 200_000
"""With log-probabilities, of one answer."""

_MOST_COUNTED: Final = 10**9
# Rounding can put the logarithm of a certain token a little above 0.
_ROUNDING: Final = 1e-3

_Answer = TypeVar("_Answer", Completion, Scored)


def checked(name: str, answer: _Answer) -> _Answer:
    """Return `answer` if its values can be what they are said to be.

    Args:
        name: the model's, for the message.
        answer: as a backend or a cache gave it.

    Raises:
        Malformed: if one of them cannot; says which.
    """
    if isinstance(answer, Scored):
        _check_tokens(name, answer.positions)
        for likelihood in answer.likelihoods:
            if likelihood.logprob is not None:
                _check_logprob(name, likelihood.logprob)
        return answer
    for text in (answer.text, *answer.samples):
        _check_text(name, text)
    if not isinstance(answer.finish_reason, str):
        raise Malformed(f"{name}: the reason for the end is not a word", text=answer.text, usage=answer.usage)
    try:
        _check_tokens(name, answer.logprobs)
    except Malformed as error:
        raise Malformed(str(error), text=answer.text, usage=answer.usage) from error
    return answer


def count_of(value: object) -> int | None:
    """Return a number of tokens as a server gave it, or None if it is not one."""
    counts = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_COUNTED
    return value if counts and isinstance(value, int) else None


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


def is_unicode(text: str) -> bool:
    """Return True if `text` holds whole characters only."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_tokens(name: str, tokens: Sequence[TokenLogprob | Position]) -> None:
    if len(tokens) > MOST_TOKENS:
        raise Malformed(f"{name}: log-probabilities of {len(tokens):,} tokens came back")
    for token in tokens:
        _check_alternatives(name, ((token.token, token.logprob), *token.top))


def _check_alternatives(name: str, alternatives: Iterable[tuple[object, object]]) -> None:
    for text, logprob in alternatives:
        if not isinstance(text, str):
            raise Malformed(f"{name}: a token is not a text but {type(text).__name__}")
        _check_logprob(name, logprob)


def _check_logprob(name: str, value: object) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    # Minus infinity says that a token cannot come.
    if not number or math.isnan(value) or value > _ROUNDING:  # type: ignore[arg-type,operator]
        raise Malformed(f"{name}: a log-probability is {value!r}, which none can be"[:300])
