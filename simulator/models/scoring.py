"""Scoring a given text: one call in, the model's probabilities at some of its characters out.

Or of whole texts that may follow it: of each the sum over its tokens (`ScoreRequest.continuations`).

A model that reads ``… >X`` has at every place a probability for what comes next. Where several answers of
one text are known beforehand (labels of examples, say), one pass over the whole text gives all of them at
once, and each depends on nothing but the text before it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import NamedTuple

from simulator.models.base import Request, Usage
from simulator.models.errors import BadRequest, Unsupported


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRequest:
    """What is to be scored.

    Attributes:
        text: the whole text as it is, scored positions included; no chat template is put around it.
        offsets: the characters of `text` (counted from 0, ascending) at which the model is looked at; none
            if continuations are scored.
        continuations: texts that may follow `text`, each scored as a whole and for itself.
        top: how many of the likeliest tokens are wanted per position.
        purpose: who asks; goes into the log.
        prompt_version: content hash of the prompt template; goes into the log.
        episode_id: the episode it is asked for; goes into the log.
        turn_number: the turn it is asked for; goes into the log.

    Raises:
        ValueError: if the offsets are none, not ascending or not within the text, or `top` is negative; if
            there are continuations besides, or an empty one.
    """

    text: str
    offsets: tuple[int, ...] = ()
    continuations: tuple[str, ...] = ()
    top: int = 20
    purpose: str = ""
    prompt_version: str = ""
    episode_id: str | None = None
    turn_number: int | None = None

    def __post_init__(self) -> None:
        if self.continuations and (self.offsets or not all(self.continuations)):
            raise ValueError("continuations must not be empty, and go without offsets")
        places = (-1, *self.offsets, len(self.text))
        unasked = not self.offsets and not self.continuations
        if unasked or any(one >= other for one, other in itertools.pairwise(places)):
            raise ValueError(
                f"offsets must ascend within the {len(self.text)} characters of the text: {self.offsets}"
            )
        if self.continuations and not self.text:
            raise ValueError("there must be a text before its continuations")
        if self.top < 0:
            raise ValueError(f"top must not be negative: {self.top}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """What the model expected at one character of the text, given all before it and nothing after.

    Attributes:
        offset: the character asked about, counted from 0.
        token: the token of the text that holds this character; a blank before it may be part of it.
        logprob: natural logarithm of that token's probability.
        top: the likeliest tokens in this place with their log-probabilities, likeliest first.
    """

    offset: int
    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


class Likelihood(NamedTuple):
    """How probable a whole continuation is.

    Attributes:
        logprob: natural logarithm of its probability, the sum over its tokens; None if the model's tokens do
            not begin where it begins, which only servers of others' cannot help.
        tokens: that it has.
    """

    logprob: float | None
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A scored text.

    Attributes:
        positions: one per offset asked for, in their order.
        likelihoods: one per continuation asked for, in their order.
        usage: tokens read, and written if the server insists on writing.
        cost: US dollars; None if the model has no price, 0 if cached.
        seconds: from the call to the answer, waiting and retries included.
        cached: answered from the response cache; usage is then what the first call took.
        attempts: requests sent, retries included; 0 if cached.
    """

    positions: tuple[Position, ...] = ()
    likelihoods: tuple[Likelihood, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    seconds: float = 0.0
    cached: bool = False
    attempts: int = 1


def plain_text(request: Request) -> str:
    """The text that a plain request wants to be continued.

    Raises:
        BadRequest: if it is more than one message, or asks for a schema.
    """
    if len(request.messages) != 1 or request.messages[0].role != "user" or request.schema is not None:
        raise BadRequest("a plain text is one message of the user's, without a schema")
    return request.messages[0].content


def cannot_score(name: str) -> Unsupported:
    """The error of a backend that has no such thing."""
    return Unsupported(
        f"{name} cannot give the probabilities of a given text; take transformers/…, local/… or completions/…"
    )


def cannot_continue(name: str) -> Unsupported:
    """The error of a backend that knows nothing but chat messages (`Request.plain`)."""
    return Unsupported(
        f"{name} takes chat messages only and cannot continue a plain text; "
        "take transformers/…, local/… or completions/…"
    )
