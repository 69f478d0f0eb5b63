"""The interface to language models: messages in; text, parsed object, log-probabilities and usage out.

A model can also score a given text: one call returns its probabilities at chosen characters, or those of
complete continuations. At every position a language model predicts the next token. If several answers in a
text are known in advance (such as the labels of examples), one pass over the text scores all of them, each
given only the text before it.

Open reasoning models write their reasoning into the answer, between ``<think>`` and ``</think>``. It is not
part of what a seat says: no other seat sees it, no parser reads it and no score counts it. `Completion`
separates the two for every backend; the log keeps the reasoning next to the answer.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, Protocol

from pydantic import BaseModel

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyRequest:
    """The origin of a request, for the log.

    Attributes:
        purpose: what the answer is for (``seeker``, ``provider.type``, …).
        prompt_version: content hash of the prompt template.
    """

    purpose: str = ""
    prompt_version: str = ""
    episode_id: str | None = None
    turn_number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(AnyRequest):
    """A request to a model.

    Attributes:
        messages: the conversation; a system message, if any, comes first.
        schema: pydantic type or JSON schema that the answer must match; None for free text.
        top_p: at a temperature above 0, sample only from the likeliest tokens whose probabilities add up to
            this; 1 for all tokens.
        top_logprobs: number of alternatives to return per token; None for no log-probabilities.
        plain: continue the single user message without a chat template (text completion).
        samples: number of answers drawn by one call from one seed. More than one needs
            `Capabilities.samples`; `decoding.sample` works with any model.
        shared: how many of the first messages are common to many requests (such as instructions and worked
            examples). A model in this process reads them only once; 0 for none.
        repeat: index of an intended repetition; part of the cache key, so that repeats differ.

    Raises:
        ValueError: if several samples are requested at temperature 0, or with a schema or log-probabilities;
            or if `shared` exceeds the number of messages.
    """

    messages: tuple[Message, ...]
    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 1024
    seed: int | None = None
    stop: tuple[str, ...] = ()
    schema: type[BaseModel] | dict[str, Any] | None = None
    top_logprobs: int | None = None
    plain: bool = False
    samples: int = 1
    shared: int = 0
    repeat: int = 0

    def __post_init__(self) -> None:
        single_only = self.temperature <= 0 or self.schema is not None or self.top_logprobs is not None
        if self.samples < 1 or (self.samples > 1 and single_only):
            raise ValueError("several samples need a temperature above 0, no schema and no log-probabilities")
        if not 0 <= self.shared <= len(self.messages):
            raise ValueError(f"shared must be between 0 and {len(self.messages)}, not {self.shared}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRequest(AnyRequest):
    """A request to score a given text.

    Attributes:
        text: the complete text, scored positions included; no chat template is applied.
        offsets: the characters of `text` to score (counted from 0, ascending); empty if continuations are
            scored.
        continuations: texts that may follow `text`, each scored independently.
        top: how many of the likeliest tokens to return per position.

    Raises:
        ValueError: if there are neither offsets nor continuations, or both; if the offsets do not ascend
            within the text; if a continuation is empty; or if `top` is negative.
    """

    text: str
    offsets: tuple[int, ...] = ()
    continuations: tuple[str, ...] = ()
    top: int = 20

    def __post_init__(self) -> None:
        if self.continuations and (self.offsets or not all(self.continuations)):
            raise ValueError("continuations must not be empty, and exclude offsets")
        places = (-1, *self.offsets, len(self.text))
        nothing_to_score = not self.offsets and not self.continuations
        if nothing_to_score or any(here >= after for here, after in itertools.pairwise(places)):
            raise ValueError(
                f"offsets must ascend within the {len(self.text)} characters of the text: {self.offsets}"
            )
        if self.continuations and not self.text:
            raise ValueError("text must not be empty where continuations are scored")
        if self.top < 0:
            raise ValueError(f"top must not be negative: {self.top}")


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens read and written; None where the server did not report them.

    Attributes:
        input_tokens: all tokens of the prompt.
        output_tokens: all tokens written, hidden reasoning included.
        cached_input_tokens: how many of `input_tokens` the server read from its own prompt cache.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None

    def __add__(self, other: Usage) -> Usage:
        """Return the sum; unknown counts are ignored."""
        return Usage(
            _sum(self.input_tokens, other.input_tokens),
            _sum(self.output_tokens, other.output_tokens),
            _sum(self.cached_input_tokens, other.cached_input_tokens),
        )


def _sum(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else a + b


class TokenLogprob(NamedTuple):
    """A generated token, its log-probability (natural log) and the alternatives at its position."""

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


class Position(NamedTuple):
    """The model's prediction at one character of a text, given only the text before it.

    Attributes:
        offset: the character, counted from 0.
        token: the text's token that contains the character, possibly with a blank in front.
        logprob: natural logarithm of that token's probability.
        top: the likeliest tokens at this position with their log-probabilities, likeliest first.
    """

    offset: int
    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


class Likelihood(NamedTuple):
    """The probability of a complete continuation.

    Attributes:
        logprob: natural logarithm of its probability, summed over its tokens; None if a server's tokenizer
            has no token boundary at its start.
        tokens: number of its tokens.
    """

    logprob: float | None
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The cost and origin of an answer of any kind.

    Attributes:
        cost: US dollars; None if the model has no price, 0 if cached.
        seconds: from the call to the answer, waiting and retries included.
        cached: answered from the response cache; usage is then that of the original call.
        attempts: requests sent, retries included; 0 if cached.
        server: address of the fleet server that answered, else empty.
    """

    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    seconds: float = 0.0
    cached: bool = False
    attempts: int = 1
    server: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion(Answer):
    """A model's answer, with any reasoning removed from its text (`split_reasoning`).

    Attributes:
        text: the answer without reasoning; the first of several samples.
        samples: all samples, if several were requested.
        thought: the reasoning, for the log; that of the first of several samples.
        parsed: the object that the schema describes (a pydantic instance or plain JSON), else None.
        logprobs: the answer's tokens, if requested, without those of the reasoning.
        finish_reason: ``stop``, ``length``, …
    """

    text: str
    samples: tuple[str, ...] = ()
    thought: str = ""
    parsed: Any = None
    logprobs: tuple[TokenLogprob, ...] = ()
    finish_reason: str = "stop"

    def __post_init__(self) -> None:
        """Separate the answer from the reasoning."""
        parts = split_reasoning(self.text)
        if parts.cut:
            object.__setattr__(self, "text", parts.text)
            object.__setattr__(self, "thought", parts.thought)
            object.__setattr__(self, "logprobs", _tokens_outside(self.logprobs, parts.cut))
        if self.samples:
            object.__setattr__(self, "samples", tuple(split_reasoning(text).text for text in self.samples))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored(Answer):
    """A scored text.

    Attributes:
        positions: one per requested offset, in order.
        likelihoods: one per requested continuation, in order.
    """

    positions: tuple[Position, ...] = ()
    likelihoods: tuple[Likelihood, ...] = ()


def _tokens_outside(
    tokens: tuple[TokenLogprob, ...], cut: tuple[tuple[int, int], ...]
) -> tuple[TokenLogprob, ...]:
    """Return the tokens that begin outside the removed spans of their text."""
    outside, at = [], 0
    for token in tokens:
        if not any(start <= at < end for start, end in cut):
            outside.append(token)
        at += len(token.token)
    return tuple(outside)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The abilities of a backend; a run that needs more fails before it starts.

    Attributes:
        logprobs: log-probabilities of generated tokens.
        schema: answers that follow a schema.
        seed: the same answer for the same seed.
        scoring: probabilities of a given text (`ChatModel.score`).
        plain: continuing a text without a chat template (`Request.plain`).
        samples: several answers to one request (`Request.samples`).
    """

    logprobs: bool = False
    schema: bool = True
    seed: bool = False
    scoring: bool = False
    plain: bool = False
    samples: bool = False


class ChatModel(Protocol):
    """A language model behind a seat, an expert or a judge."""

    @property
    def name(self) -> str:
        """``provider/model``."""

    @property
    def capabilities(self) -> Capabilities:
        """Return the backend's abilities."""

    async def complete(self, request: Request) -> Completion:
        """Answer `request`.

        Raises:
            ModelError: see `simulator.models.errors`.
        """

    async def score(self, request: ScoreRequest) -> Scored:
        """Return the probabilities of a given text at chosen characters, or of its continuations.

        Raises:
            Unsupported: if the backend cannot score (`Capabilities.scoring`).
            ModelError: see `simulator.models.errors`.
        """

    async def close(self) -> None:
        """Release connections."""


_OPEN, _CLOSE = r"<think(?:ing)?>", r"</think(?:ing)?>"
_BLOCK: Final = re.compile(rf"{_OPEN}(.*?){_CLOSE}\s*", re.DOTALL | re.IGNORECASE)
# If the chat template writes the opening tag, the answer begins in the middle of the reasoning.
_HEADLESS: Final = re.compile(rf"\A((?:(?!{_OPEN}).)*?){_CLOSE}\s*", re.DOTALL | re.IGNORECASE)
# The token limit cut the answer off while the model was still reasoning.
_ENDLESS: Final = re.compile(rf"(?:\A|(?<=\n))\s*{_OPEN}(.*)\Z", re.DOTALL | re.IGNORECASE)
_OBJECT: Final = ("{", "[", "```")


class SplitAnswer(NamedTuple):
    """An answer separated from its reasoning.

    Attributes:
        text: the answer; the unchanged text if it contains no reasoning.
        thought: the reasoning, its pieces joined by an empty line.
        cut: the spans of these pieces in the text, as (start, end) character offsets.
    """

    text: str
    thought: str = ""
    cut: tuple[tuple[int, int], ...] = ()


def split_reasoning(text: str) -> SplitAnswer:
    """Separate a model's answer from its reasoning."""
    # Tags inside the values of a JSON object are quotations, not reasoning.
    if "think" not in text.lower() or text.lstrip().startswith(_OBJECT):
        return SplitAnswer(text)
    pieces = [match for match in (_HEADLESS.match(text),) if match]
    start = pieces[0].end() if pieces else 0
    pieces += _BLOCK.finditer(text, start)
    if endless := _ENDLESS.search(text, pieces[-1].end() if pieces else 0):
        pieces.append(endless)
    if not pieces:
        return SplitAnswer(text)
    outside, at = [], 0
    for match in pieces:
        outside.append(text[at : match.start()])
        at = match.end()
    thought = "\n\n".join(piece for match in pieces if (piece := match.group(1).strip()))
    thought = thought or (endless[0].strip() if endless else "")  # nothing but the opening tag
    answer = "".join([*outside, text[at:]])
    spans = tuple(piece.span() for piece in pieces)
    return SplitAnswer(answer.lstrip() if not outside[0].strip() else answer, thought, spans)
