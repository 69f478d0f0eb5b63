"""OpenAI's API, which many servers implement (vLLM, Ollama, llama.cpp, proxies): chat and text completions.

Such servers can also score texts through text completions (``/v1/completions``), which echo a text with
log-probabilities. One request scores all labels, but the server tokenises the text, so a label that its
tokenizer merges with the text before it cannot be scored.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from itertools import accumulate
from typing import Any, ClassVar, Final

import openai
from openai.types import Completion as TextCompletion
from openai.types.chat import ChatCompletion

from simulator.models import remote
from simulator.models.answers import IMPOSSIBLE, count_of, cut_at_stops, plain_text
from simulator.models.base import (
    Capabilities,
    Completion,
    Likelihood,
    Position,
    Request,
    Scored,
    ScoreRequest,
    TokenLogprob,
    Usage,
)
from simulator.models.decoding import drawn_samples
from simulator.models.errors import BadRequest, Malformed, Refused, Unsupported, cannot_continue
from simulator.models.keys import messages
from simulator.models.schema import openai_format
from simulator.models.tokens import Token, is_glued

MOST_TOP_LOGPROBS: Final = 20

# Reasoning models reject temperature, stop sequences and log-probabilities; the GPT-5 chat models do not.
_REASONING = re.compile(r"(?:o\d|gpt-(?!35)(?:[5-9]|\d{2,})(?!-chat))")

# Servers round log-probabilities, so a sum may slightly exceed 1.
_ROUNDED: Final = 0.01


class OpenAIServer(remote.ServerModel):
    """A model on a server with OpenAI's API."""

    sdk: ClassVar[Any] = openai
    sdk_client: ClassVar[Any] = openai.AsyncOpenAI
    official_url = "https://api.openai.com/v1"
    url_variable = "OPENAI_BASE_URL"
    key_variables = ("OPENAI_API_KEY",)

    def _with_extra(self, **fields: Any) -> dict[str, Any]:
        """Return a request's body with the parameters sent with every request."""
        return fields | ({"extra_body": dict(self.identity.extra)} if self.identity.extra else {})

    def _gave_no_logprobs(self) -> Unsupported:
        return Unsupported(
            f"{self.name} at {self.identity.base_url} was asked for log-probabilities and returned none; "
            "use another server or model"
        )

    def _distribution(self, table: tuple[tuple[str, float], ...]) -> tuple[tuple[str, float], ...]:
        """Return `table`, without infinite numbers, if its probabilities can be part of a distribution.

        Raises:
            Unsupported: if its probabilities add up to more than 1.
        """
        total = math.fsum(math.exp(min(logprob, 1.0)) for _, logprob in table)
        if total > 1 + _ROUNDED:
            raise Unsupported(
                f"{self.name} at {self.identity.base_url} returned {len(table)} tokens for one position, and "
                f"their probabilities add up to {total:.3g}, more than 1; use another server or model"
            )
        return tuple((token, max(logprob, IMPOSSIBLE)) for token, logprob in table)


def sampling_of(request: Request, *, sampling: bool = True) -> dict[str, Any]:
    """Return a request's sampling parameters; without `sampling`, only the seed."""
    body: dict[str, Any] = {}
    if sampling:
        body["temperature"] = request.temperature
        if request.top_p != 1:
            body["top_p"] = request.top_p
        if request.stop:
            body["stop"] = list(request.stop)
        if request.samples > 1:
            body["n"] = request.samples
    if request.seed is not None:
        body["seed"] = request.seed
    return body


class OpenAIModel(OpenAIServer):
    """``openai/<model>`` over chat completions."""

    provider = "openai"

    def __init__(self, model: str, *, sampling: bool | None = None, **settings: Any) -> None:
        """Make a client.

        `sampling`: whether the model takes temperature, stop and log-probabilities; None to infer it.
        """
        super().__init__(model, **settings)
        self._sampling = not _REASONING.match(model) if sampling is None else sampling
        self.capabilities = Capabilities(
            logprobs=self._sampling, schema=True, seed=True, samples=self._sampling
        )
        self.ignored = frozenset[str]() if self._sampling else frozenset({"temperature", "top_p"})
        # OpenAI has renamed the parameter; other servers use the old name.
        renamed = self.official or _REASONING.match(model)
        self._limit_name = "max_completion_tokens" if renamed else "max_tokens"

    async def complete(self, request: Request) -> Completion:
        """Send `request` once."""
        body = self._body(request)
        return await self._create(
            self._client.chat.completions, body, lambda answer: self._completion(answer, request)
        )

    def _body(self, request: Request) -> dict[str, Any]:
        if request.plain:
            raise cannot_continue(self.name)
        body = self._with_extra(messages=messages(request), **sampling_of(request, sampling=self._sampling))
        body[self._limit_name] = request.max_tokens
        if request.schema is not None:
            body["response_format"] = openai_format(request.schema)
        if request.top_logprobs is not None:
            body |= self._logprobs(request.top_logprobs)
        return body

    def _logprobs(self, top: int) -> dict[str, Any]:
        if not self.capabilities.logprobs:
            raise Unsupported(f"{self.name} returns no log-probabilities; use a model that does")
        if not 0 <= top <= MOST_TOP_LOGPROBS:
            raise Unsupported(f"top_logprobs must be between 0 and {MOST_TOP_LOGPROBS}, not {top}")
        return {"logprobs": True, "top_logprobs": top}

    def _completion(self, answer: object, request: Request) -> Completion:
        if not isinstance(answer, ChatCompletion) or not answer.choices:
            error = getattr(answer, "error", "no choices")  # proxies report errors of others with status 200
            raise Malformed(f"{self.name}: the answer is no chat completion: {error}", text=str(answer))
        choice, usage = answer.choices[0], openai_usage(answer)
        if choice.message is None:
            raise Malformed(f"{self.name}: the server's answer has no message", text=str(answer), usage=usage)
        refuse_declined(self.name, choice, usage)
        text, thought = choice.message.content or "", thought_of(choice.message)
        logprobs = self._token_logprobs(answer, request)
        if thought:  # some servers list the tokens of the reasoning as well
            text = text.lstrip()
            start = "".join(token.token for token in logprobs).rfind(text)
            ends = accumulate(len(token.token) for token in logprobs)  # a token may begin with a blank
            logprobs = tuple(token for token, end in zip(logprobs, ends, strict=True) if end > start)
        if not self._sampling:
            text = cut_at_stops(text, request.stop)
        return Completion(
            text=text,
            samples=drawn_samples(self.name, request, [each.message.content for each in answer.choices]),
            thought=thought,
            logprobs=logprobs,
            usage=usage,
            finish_reason=choice.finish_reason or "stop",
        )

    def _token_logprobs(self, answer: ChatCompletion, request: Request) -> tuple[TokenLogprob, ...]:
        if request.top_logprobs is None:
            return ()
        logprobs = answer.choices[0].logprobs
        if logprobs is None or logprobs.content is None:
            raise self._gave_no_logprobs()
        return tuple(
            TokenLogprob(
                token.token,
                IMPOSSIBLE if token.logprob == -math.inf else token.logprob,
                self._distribution(tuple((other.token, other.logprob) for other in token.top_logprobs or ())),
            )
            for token in logprobs.content
        )


def refuse_declined(name: str, choice: Any, usage: Usage) -> None:
    """Raise if a choice of OpenAI's API is a refusal by the model or a filter.

    Raises:
        Refused: with the text of the refusal.
    """
    refusal = getattr(choice.message, "refusal", None)
    if refusal or choice.finish_reason == "content_filter":
        reason = refusal or choice.message.content or ""
        raise Refused(f"{name} declined: {reason or 'content filter'}", text=reason, usage=usage)


def thought_of(message: Any) -> str:
    """Return the reasoning that a server of OpenAI's API returns apart from the answer."""
    return str(getattr(message, "reasoning_content", None) or getattr(message, "reasoning", None) or "")


def openai_usage(answer: Any) -> Usage:
    """Return the usage of an answer of OpenAI's API."""
    usage = getattr(answer, "usage", None)
    if usage is None:
        return Usage()
    details = getattr(usage, "prompt_tokens_details", None)
    return Usage(
        count_of(usage.prompt_tokens),
        count_of(usage.completion_tokens),
        count_of(getattr(details, "cached_tokens", None)),
    )


class CompletionsModel(OpenAIServer):
    """``completions/<model>`` over text completions."""

    provider = "completions"
    capabilities = Capabilities(
        logprobs=True, schema=False, seed=True, scoring=True, plain=True, samples=True
    )
    ignored: frozenset[str] = frozenset()

    async def complete(self, request: Request) -> Completion:
        """Continue a plain text.

        Raises:
            Unsupported: if it has chat messages.
        """
        if not request.plain:
            raise Unsupported(f"{self.name} can only continue plain texts; for chats use openai/…")
        prompt, most = plain_text(request), request.max_tokens
        body = self._with_extra(prompt=prompt, max_tokens=most, **sampling_of(request))
        if request.top_logprobs is not None:
            body["logprobs"] = request.top_logprobs
        return await self._create(
            self._client.completions, body, lambda answer: self._completion(answer, request)
        )

    def _completion(self, response: object, request: Request) -> Completion:
        answer = self._require_answer(response)
        choice = answer.choices[0]
        return Completion(
            text=choice.text,
            samples=drawn_samples(self.name, request, [each.text for each in answer.choices]),
            logprobs=() if request.top_logprobs is None else self._token_logprobs(choice.logprobs),
            usage=openai_usage(answer),
            finish_reason=choice.finish_reason or "stop",
        )

    async def score(self, request: ScoreRequest) -> Scored:
        """Score a text, or its continuations, in one request.

        A continuation without a token boundary at its start, in the server's tokenisation, has no
        log-probability.

        Raises:
            BadRequest: if the server's tokenizer has no separate token for a label.
            Unsupported: if the server returns no log-probabilities of the text it was sent.
        """
        texts = [request.text + after for after in request.continuations] or [request.text]
        # Some servers reject a limit of 0 tokens; all accept 1.
        body = self._with_extra(max_tokens=1, temperature=0.0, echo=True, logprobs=request.top)
        body["prompt"] = texts if request.continuations else request.text
        return await self._create(
            self._client.completions, body, lambda answer: self._scored_answer(answer, request, texts)
        )

    def _scored_answer(self, response: object, request: ScoreRequest, texts: list[str]) -> Scored:
        answer = self._require_answer(response)
        choices = sorted(answer.choices, key=lambda choice: choice.index)
        if len(choices) < len(texts):
            raise Malformed(f"{self.name}: {len(texts)} texts were sent, but {len(choices)} came back")
        if request.continuations:
            start = len(request.text)
            pairs = zip(texts, choices, strict=True)
            sums = (self._likelihood(text, start, self._echo_logprobs(choice)) for text, choice in pairs)
            return Scored(likelihoods=tuple(sums), usage=openai_usage(answer))
        logprobs = self._echo_logprobs(choices[0])
        words: list[str] = logprobs.tokens
        tables: list[Any] = list(logprobs.top_logprobs or ()) or [None] * len(words)
        tokens = self._place_tokens(request.text, words)
        positions = []
        for offset in request.offsets:
            number = self._place(request.text, tokens, offset)
            logprob = (logprobs.token_logprobs or [])[number]
            if logprob is None:
                raise BadRequest(f"character {offset} cannot be scored: no text comes before it")
            top = self._distribution(_table(tables[number], request.top))
            positions.append(Position(offset, words[number], max(logprob, IMPOSSIBLE), top))
        return Scored(positions=tuple(positions), usage=openai_usage(answer))

    def _require_answer(self, answer: object) -> TextCompletion:
        if not isinstance(answer, TextCompletion) or not answer.choices or answer.choices[0].text is None:
            raise Malformed(f"{self.name}: the server's answer is not a text completion", text=str(answer))
        return answer

    def _echo_logprobs(self, choice: Any) -> Any:
        logprobs = choice.logprobs
        if logprobs is None or not logprobs.tokens or len(logprobs.token_logprobs or ()) < 2:
            raise Unsupported(
                f"{self.name} at {self.identity.base_url} returned no log-probabilities of the text it was "
                "sent; use another server"
            )
        return logprobs

    def _likelihood(self, text: str, start: int, logprobs: Any) -> Likelihood:
        """Return the sum over the tokens of `text` from `start` on, parts of characters included."""
        tokens = self._place_tokens(text, logprobs.tokens)
        located = [token for token in tokens if token.end > token.start]
        before = next((token.id for token in located if token.end == start), None)
        last = next((token.id for token in located if token.end == len(text)), None)
        if before is None or last is None:
            return Likelihood(None, 0)
        values = logprobs.token_logprobs[before + 1 : last + 1]
        return Likelihood(sum(map(_finite, values)), len(values))

    def _token_logprobs(self, logprobs: Any) -> tuple[TokenLogprob, ...]:
        if logprobs is None or logprobs.tokens is None or logprobs.token_logprobs is None:
            raise self._gave_no_logprobs()
        tables: list[Any] = list(logprobs.top_logprobs or ()) or [None] * len(logprobs.tokens)
        return tuple(
            TokenLogprob(token, _finite(value), self._distribution(_table(table)))
            for token, value, table in zip(logprobs.tokens, logprobs.token_logprobs, tables, strict=True)
        )

    def _place_tokens(self, text: str, words: list[str]) -> list[Token]:
        """Return the span of each token in the text.

        It is found from the tokens themselves, since servers count offsets differently (some count special
        tokens before the text, some count bytes). Tokens that are part of a character get an empty span.
        """
        tokens, end = [], 0
        for number, word in enumerate(words):
            start = end if text.startswith(word, end) else text.find(word, end, end + len(word) + 8)
            if start < 0 or not word:
                tokens.append(Token(number, end, end))
                continue
            end = start + len(word)
            tokens.append(Token(number, start, end))
        return tokens

    def _place(self, text: str, tokens: list[Token], offset: int) -> int:
        for token in tokens:
            if token.start <= offset < token.end:
                if is_glued(text, token, offset):
                    break
                return token.id
        raise BadRequest(
            f"the tokenizer of {self.name} has no separate token for character {offset} of the text; "
            "run the model through transformers/…, which can split the text there"
        )


def _finite(logprob: float | None) -> float:
    return IMPOSSIBLE if logprob is None else max(logprob, IMPOSSIBLE)


def _table(table: Mapping[str, float] | None, most: int | None = None) -> tuple[tuple[str, float], ...]:
    """Return the `most` likeliest tokens in order; servers send them unordered, some one too many."""
    return tuple(sorted((table or {}).items(), key=lambda each: -each[1])[:most])
