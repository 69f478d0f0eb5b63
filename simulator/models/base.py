"""The one interface to language models: messages in; text, parsed object, log-probabilities, usage out.

A text can be scored, too: one call in, the model's probabilities at some of its characters out, or of whole
texts that may follow it. A model that reads ``… >X`` has at every place a probability for what comes next.
Where several answers of one text are known beforehand (labels of examples, say), one pass over the whole text
gives all of them at once, and each depends on nothing but the text before it.

Open reasoning models write their reasoning into their answers, between ``<think>`` and ``</think>``. It is
not what a seat says: nobody in an episode hears it, no parser reads it, no score counts it. `Completion`
parts the two for every backend; the reasoning stays in the log beside the answer.
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
    """The part of any request that says where it comes from; it goes into the log.

    Attributes:
        purpose: who asks (``seeker``, ``provider.type``, …).
        prompt_version: content hash of the prompt template.
        episode_id: the episode it is asked for.
        turn_number: the turn it is asked for.
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
        top_p: at a temperature above 0, only the likeliest tokens whose probabilities add up to this are
            drawn from; 1 for all of them.
        top_logprobs: number of alternatives per token wanted; None for no log-probabilities.
        plain: the one user message is continued as it is, without a chat template (text completion).
        samples: answers drawn at once, all from the same seed; where more than one, a model must be able to
            (`Capabilities.samples`, or else ask through `decoding.sample`).
        shared: how many of the first messages this request has in common with many others (instructions and
            worked examples, say). A model in this process reads them once, by themselves; 0 for none.
        repeat: index of an intended repetition; part of the cache key, so that repeats differ.

    Raises:
        ValueError: if several samples are asked for at temperature 0, or of objects or probabilities; or if
            more messages are shared than there are.
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
        alike = self.temperature <= 0 or self.schema is not None or self.top_logprobs is not None
        if self.samples < 1 or (self.samples > 1 and alike):
            raise ValueError("several samples are texts without probabilities, at a temperature above 0")
        if not 0 <= self.shared <= len(self.messages):
            raise ValueError(f"{self.shared} messages cannot be shared of {len(self.messages)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRequest(AnyRequest):
    """The texts that are to be scored.

    Attributes:
        text: the whole text as it is, scored positions included; no chat template is put around it.
        offsets: the characters of `text` (counted from 0, ascending) at which the model is looked at; none
            if continuations are scored.
        continuations: texts that may follow `text`, each scored as a whole and for itself.
        top: how many of the likeliest tokens are wanted per position.

    Raises:
        ValueError: if the offsets are none, not ascending or not within the text, or `top` is negative; if
            there are continuations besides, or an empty one.
    """

    text: str
    offsets: tuple[int, ...] = ()
    continuations: tuple[str, ...] = ()
    top: int = 20

    def __post_init__(self) -> None:
        if self.continuations and (self.offsets or not all(self.continuations)):
            raise ValueError("continuations must not be empty, and go without offsets")
        places = (-1, *self.offsets, len(self.text))
        unasked = not self.offsets and not self.continuations
        if unasked or any(here >= after for here, after in itertools.pairwise(places)):
            raise ValueError(
                f"offsets must ascend within the {len(self.text)} characters of the text: {self.offsets}"
            )
        if self.continuations and not self.text:
            raise ValueError("there must be a text before its continuations")
        if self.top < 0:
            raise ValueError(f"top must not be negative: {self.top}")


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens read and written; None where the server did not say.

    Attributes:
        input_tokens: all tokens of the prompt.
        output_tokens: all tokens written, hidden reasoning included.
        cached_input_tokens: how many of `input_tokens` the server read from its own prompt cache.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None

    def __add__(self, other: Usage) -> Usage:
        """Return the sum; an unknown count adds nothing to a known one."""
        return Usage(
            _sum(self.input_tokens, other.input_tokens),
            _sum(self.output_tokens, other.output_tokens),
            _sum(self.cached_input_tokens, other.cached_input_tokens),
        )


def _sum(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else a + b


class TokenLogprob(NamedTuple):
    """One generated token, its log-probability (natural log) and the alternatives at its place."""

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


class Position(NamedTuple):
    """The model's expectation at one character of the text, given all before it and nothing after.

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
    """The probability of a whole continuation.

    Attributes:
        logprob: natural logarithm of its probability, the sum over its tokens; None if the model's tokens do
            not begin where it begins, which only servers of others' cannot help.
        tokens: that it has.
    """

    logprob: float | None
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The cost of an answer of any kind.

    Attributes:
        usage: tokens read, and written.
        cost: US dollars; None if the model has no price, 0 if cached.
        seconds: from the call to the answer, waiting and retries included.
        cached: answered from the response cache; usage is then what the first call took.
        attempts: requests sent, retries included; 0 if cached.
        server: address of the server of a fleet that answered, else empty.
    """

    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    seconds: float = 0.0
    cached: bool = False
    attempts: int = 1
    server: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion(Answer):
    """A model's answer. Reasoning that stands in the text is taken out of it (`parted`).

    Attributes:
        text: the whole answer without reasoning; of several samples the first.
        samples: all of them, if several were asked for.
        thought: the reasoning, for the log; of several samples the first one's.
        parsed: the object the schema asked for (a pydantic instance or plain JSON), else None.
        logprobs: the answer's tokens, if asked for; those of the reasoning are left out.
        finish_reason: ``stop``, ``length``, …
    """

    text: str
    samples: tuple[str, ...] = ()
    thought: str = ""
    parsed: Any = None
    logprobs: tuple[TokenLogprob, ...] = ()
    finish_reason: str = "stop"

    def __post_init__(self) -> None:
        """Part the answer from the reasoning."""
        whole = parted(self.text)
        if whole.cut:
            object.__setattr__(self, "text", whole.said)
            object.__setattr__(self, "thought", whole.thought)
            object.__setattr__(self, "logprobs", _tokens_outside(self.logprobs, whole.cut))
        if self.samples:
            object.__setattr__(self, "samples", tuple(parted(sample).said for sample in self.samples))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored(Answer):
    """A scored text.

    Attributes:
        positions: one per offset asked for, in their order.
        likelihoods: one per continuation asked for, in their order.
    """

    positions: tuple[Position, ...] = ()
    likelihoods: tuple[Likelihood, ...] = ()


def _tokens_outside(
    tokens: tuple[TokenLogprob, ...], cut: tuple[tuple[int, int], ...]
) -> tuple[TokenLogprob, ...]:
    """Return the tokens that begin outside of what is cut out of their text."""
    kept, at = [], 0
    for token in tokens:
        if not any(start <= at < end for start, end in cut):
            kept.append(token)
        at += len(token.token)
    return tuple(kept)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The abilities of a backend; asking for more is an error before the run starts.

    Attributes:
        logprobs: log-probabilities of what it writes.
        schema: answers that follow a schema.
        seed: the same answer to the same seed.
        scoring: probabilities of a text it is given (`ChatModel.score`).
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
        """Return what it can do."""

    async def complete(self, request: Request) -> Completion:
        """Answer `request`.

        Raises:
            ModelError: see `simulator.models.errors`.
        """

    async def score(self, request: ScoreRequest) -> Scored:
        """Return the probabilities of a given text at some of its characters.

        Raises:
            Unsupported: if the backend has no such thing (`Capabilities.scoring`).
            ModelError: see `simulator.models.errors`.
        """

    async def close(self) -> None:
        """Give connections back."""


_OPEN, _CLOSE = r"<think(?:ing)?>", r"</think(?:ing)?>"
_BLOCK: Final = re.compile(rf"{_OPEN}(.*?){_CLOSE}\s*", re.DOTALL | re.IGNORECASE)
# Where the chat template writes the opening mark, an answer begins in the middle of the reasoning.
_HEADLESS: Final = re.compile(rf"\A((?:(?!{_OPEN}).)*?){_CLOSE}\s*", re.DOTALL | re.IGNORECASE)
# An answer that the token limit cut off while the model was still thinking.
_ENDLESS: Final = re.compile(rf"(?:\A|(?<=\n))\s*{_OPEN}(.*)\Z", re.DOTALL | re.IGNORECASE)
_OBJECT: Final = ("{", "[", "```")


class Parted(NamedTuple):
    """An answer without its reasoning.

    Attributes:
        said: what the model says; the text as it is where it has no reasoning in it.
        thought: the reasoning, several pieces joined by an empty line.
        cut: where these stood in the text: pairs of first and one past the last character.
    """

    said: str
    thought: str = ""
    cut: tuple[tuple[int, int], ...] = ()


def parted(text: str) -> Parted:
    """Part what a model says from what it thought first."""
    # What stands in the values of an object may quote such marks, and is no reasoning.
    if "think" not in text.lower() or text.lstrip().startswith(_OBJECT):
        return Parted(text)
    pieces = [match for match in (_HEADLESS.match(text),) if match]
    start = pieces[0].end() if pieces else 0
    pieces += _BLOCK.finditer(text, start)
    if endless := _ENDLESS.search(text, pieces[-1].end() if pieces else 0):
        pieces.append(endless)
    if not pieces:
        return Parted(text)
    kept, at = [], 0
    for match in pieces:
        kept.append(text[at : match.start()])
        at = match.end()
    thought = "\n\n".join(piece for match in pieces if (piece := match.group(1).strip()))
    answer = "".join([*kept, text[at:]])
    spans = tuple(piece.span() for piece in pieces)
    return Parted(answer.lstrip() if not kept[0].strip() else answer, thought, spans)
