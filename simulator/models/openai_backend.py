"""Chat completions: OpenAI's API and every server that speaks it (vLLM, Ollama, llama.cpp, proxies)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import httpx2
from openai.types.chat import ChatCompletion

from simulator.models import remote
from simulator.models.base import Capabilities, Completion, Request, TokenLogprob, Usage
from simulator.models.checked import count_of
from simulator.models.errors import Malformed, Refused, Unsupported
from simulator.models.keys import messages
from simulator.models.openai_server import OpenAIServer, drawn
from simulator.models.sampling import require_samples
from simulator.models.schema import openai_format
from simulator.models.scoring import Scored, ScoreRequest, cannot_continue, cannot_score

MOST_TOP_LOGPROBS: Final = 20

# Reasoning models reject temperature, stop sequences and log-probabilities; GPT-5's chat variant does not.
_REASONING = re.compile(r"(?:o\d|gpt-(?!35)(?:[5-9]|\d{2,})(?!-chat))")


class OpenAIModel(OpenAIServer):
    """``openai/<model>`` over chat completions."""

    provider = "openai"

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 120.0,
        extra: Mapping[str, Any] | None = None,
        sampling: bool | None = None,
        http_client: httpx2.AsyncClient | None = None,
    ) -> None:
        """As `OpenAIServer`; `sampling` says whether the model takes temperature, stop and log-probabilities.

        It is decided by the model's name where it is None.
        """
        super().__init__(
            model, base_url=base_url, api_key=api_key, timeout=timeout, extra=extra, http_client=http_client
        )
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

    async def score(self, request: ScoreRequest) -> Scored:
        """Chat interfaces tell nothing of a given text.

        Raises:
            Unsupported: always.
        """
        raise cannot_score(self.name)

    def _body(self, request: Request) -> dict[str, Any]:
        if request.plain:
            raise cannot_continue(self.name)
        body: dict[str, Any] = {
            "messages": messages(request),
            self._limit_name: request.max_tokens,
            **drawn(request, sampling=self._sampling),
        }
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
        choice, usage = answer.choices[0], _usage(answer)
        if choice.message is None:
            raise Malformed(f"{self.name}: the server's answer has no message", text=str(answer), usage=usage)
        text = choice.message.content or ""
        if choice.message.refusal or choice.finish_reason == "content_filter":
            said = choice.message.refusal or text
            raise Refused(f"{self.name} declined: {said or 'content filter'}", text=said, usage=usage)
        if not self._sampling:
            text = remote.cut(text, request.stop)
        completion = Completion(
            text=text,
            samples=self._samples(answer, request.samples),
            logprobs=self._token_logprobs(answer, request),
            usage=usage,
            finish_reason=choice.finish_reason or "stop",
        )
        return remote.without_secrets(completion, self._secrets)

    def _samples(self, answer: ChatCompletion, wanted: int) -> tuple[str, ...]:
        if wanted == 1:
            return ()
        require_samples(self.name, wanted, len(answer.choices))
        return tuple(choice.message.content or "" for choice in answer.choices)

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
                tuple((other.token, other.logprob) for other in token.top_logprobs or ()),
            )
            for token in logprobs.content
        )


def _usage(answer: ChatCompletion) -> Usage:
    usage = answer.usage
    if usage is None:
        return Usage()
    details = usage.prompt_tokens_details
    return Usage(
        count_of(usage.prompt_tokens),
        count_of(usage.completion_tokens),
        count_of(details.cached_tokens) if details else None,
    )
