"""OpenAI's language: what chat and text completions share, and chat completions.

Many servers speak it (vLLM, Ollama, llama.cpp, proxies).
"""

from __future__ import annotations

import math
import re
from typing import Any, ClassVar, Final

import openai
from openai.types.chat import ChatCompletion

from simulator.models import remote
from simulator.models.answers import count_of, cut
from simulator.models.base import Capabilities, Completion, Request, TokenLogprob, Usage
from simulator.models.decoding import drawn_samples
from simulator.models.errors import Malformed, Refused, Unsupported, cannot_continue
from simulator.models.keys import messages
from simulator.models.schema import openai_format

MOST_TOP_LOGPROBS: Final = 20

# Reasoning models reject temperature, stop sequences and log-probabilities; GPT-5's chat variant does not.
_REASONING = re.compile(r"(?:o\d|gpt-(?!35)(?:[5-9]|\d{2,})(?!-chat))")

# Servers round log-probabilities, and the largest counts most.
_ROUNDED: Final = 0.01


class OpenAIServer(remote.ServerModel):
    """A model on such a server."""

    sdk: ClassVar[Any] = openai
    sdk_client: ClassVar[Any] = openai.AsyncOpenAI
    official_url = "https://api.openai.com/v1"
    url_variable = "OPENAI_BASE_URL"
    key_variables = ("OPENAI_API_KEY",)

    def _with_extra(self, **fields: Any) -> dict[str, Any]:
        """Return a request's body with what is sent with every request."""
        return fields | ({"extra_body": dict(self.identity.extra)} if self.identity.extra else {})

    def _gave_no_logprobs(self) -> Unsupported:
        return Unsupported(
            f"{self.name} at {self.identity.base_url} was asked for log-probabilities and gave none; "
            "take another server or model"
        )

    def _distribution(self, table: tuple[tuple[str, float], ...]) -> tuple[tuple[str, float], ...]:
        """Return a table of log-probabilities if it can be (a part of) a distribution.

        Raises:
            Unsupported: if its probabilities add up to more than 1.
        """
        total = math.fsum(math.exp(min(logprob, 1.0)) for _, logprob in table)
        if total > 1 + _ROUNDED:
            raise Unsupported(
                f"{self.name} at {self.identity.base_url} gave {len(table)} tokens for one place, whose "
                f"probabilities add up to {total:.3g}, more than 1; take another server or model"
            )
        return table


def drawn(request: Request, *, sampling: bool = True) -> dict[str, Any]:
    """Return how tokens are to be drawn, as far as a request says and a model (no `sampling`) takes it."""
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
        """As `ServerModel`; `sampling` says whether the model takes temperature, stop and log-probabilities.

        It is decided by the model's name where it is None.
        """
        super().__init__(model, **settings)
        self._sampling = not _REASONING.match(model) if sampling is None else sampling
        self.capabilities = Capabilities(
            logprobs=self._sampling, schema=True, seed=True, samples=self._sampling
        )
        self.ignored = frozenset[str]() if self._sampling else frozenset({"temperature", "top_p"})
        # OpenAI has renamed the parameter; other servers know the old name.
        renamed = self.official or _REASONING.match(model)
        self._limit_name = "max_completion_tokens" if renamed else "max_tokens"

    async def complete(self, request: Request) -> Completion:
        """Send `request` once.

        Raises:
            ModelError: see `simulator.models.errors`.
        """
        body = self._body(request)
        return await self._create(
            self._client.chat.completions, body, lambda answer: self._completion(answer, request)
        )

    def _body(self, request: Request) -> dict[str, Any]:
        if request.plain:
            raise cannot_continue(self.name)
        body = self._with_extra(messages=messages(request), **drawn(request, sampling=self._sampling))
        body[self._limit_name] = request.max_tokens
        if request.schema is not None:
            body["response_format"] = openai_format(request.schema)
        if request.top_logprobs is not None:
            body |= self._logprobs(request.top_logprobs)
        return body

    def _logprobs(self, top: int) -> dict[str, Any]:
        if not self.capabilities.logprobs:
            raise Unsupported(f"{self.name} gives no log-probabilities; take a model that does")
        if not 0 <= top <= MOST_TOP_LOGPROBS:
            raise Unsupported(f"top_logprobs must be between 0 and {MOST_TOP_LOGPROBS}, not {top}")
        return {"logprobs": True, "top_logprobs": top}

    def _completion(self, answer: object, request: Request) -> Completion:
        if not isinstance(answer, ChatCompletion) or not answer.choices:
            raise Malformed(f"{self.name}: the server's answer is no chat completion", text=str(answer))
        choice, usage = answer.choices[0], openai_usage(answer)
        if choice.message is None:
            raise Malformed(f"{self.name}: the server's answer has no message", text=str(answer), usage=usage)
        refuse_declined(self.name, choice, usage)
        text = choice.message.content or ""
        if not self._sampling:
            text = cut(text, request.stop)
        return Completion(
            text=text,
            samples=drawn_samples(self.name, request, [each.message.content for each in answer.choices]),
            logprobs=self._token_logprobs(answer, request),
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
                token.logprob,
                self._distribution(tuple((other.token, other.logprob) for other in token.top_logprobs or ())),
            )
            for token in logprobs.content
        )


def refuse_declined(name: str, choice: Any, usage: Usage) -> None:
    """Refuse an answer in OpenAI's form in which the model, or a filter, declines.

    Raises:
        Refused: with what was said instead.
    """
    refusal = getattr(choice.message, "refusal", None)
    if refusal or choice.finish_reason == "content_filter":
        said = refusal or choice.message.content or ""
        raise Refused(f"{name} declined: {said or 'content filter'}", text=said, usage=usage)


def openai_usage(answer: Any) -> Usage:
    """Return what an answer in OpenAI's form took."""
    usage = getattr(answer, "usage", None)
    if usage is None:
        return Usage()
    details = getattr(usage, "prompt_tokens_details", None)
    return Usage(
        count_of(usage.prompt_tokens),
        count_of(usage.completion_tokens),
        count_of(getattr(details, "cached_tokens", None)),
    )
