"""Chat completions: OpenAI's API and every server that speaks it (vLLM, Ollama, llama.cpp, proxies)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Final, cast
from urllib.parse import urlsplit

import httpx2
import openai
from openai.types.chat import ChatCompletion

from simulator.models import remote
from simulator.models.base import Capabilities, Completion, Request, TokenLogprob, Usage
from simulator.models.errors import Malformed, Refused, Unsupported
from simulator.models.keys import Identity, messages
from simulator.models.sampling import require_samples
from simulator.models.schema import openai_format
from simulator.models.scoring import Scored, ScoreRequest, cannot_continue, cannot_score

KEY_VARIABLE: Final = "OPENAI_API_KEY"
URL_VARIABLE: Final = "OPENAI_BASE_URL"
OFFICIAL_URL: Final = "https://api.openai.com/v1"
MOST_TOP_LOGPROBS: Final = 20

# Reasoning models reject temperature, stop sequences and log-probabilities; GPT-5's chat variant does not.
_REASONING = re.compile(r"(?:o\d|gpt-(?!35)(?:[5-9]|\d{2,})(?!-chat))")


def server_of(base_url: str | None) -> tuple[str, bool]:
    """The address, by default ``$OPENAI_BASE_URL`` or else OpenAI's own; and whether it is OpenAI's."""
    url = (base_url or os.environ.get(URL_VARIABLE) or OFFICIAL_URL).rstrip("/")
    return url, urlsplit(url).hostname == urlsplit(OFFICIAL_URL).hostname


class OpenAIModel:
    """``openai/<model>`` over chat completions; sends each request once, retries are `Retried`'s."""

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
        """Make a client; nothing is sent yet.

        Args:
            model: the name the server knows it by.
            base_url: the server; by default ``$OPENAI_BASE_URL`` or OpenAI's own.
            api_key: by default ``$OPENAI_API_KEY``; servers other than OpenAI's may do without.
            timeout: seconds that an answer may take.
            extra: body parameters sent with every request.
            sampling: whether the model takes temperature, stop sequences and log-probabilities;
                None to decide by its name.
            http_client: another transport, for tests.

        Raises:
            AuthenticationFailed: if there is no key; names the variable.
        """
        url, official = server_of(base_url)
        self.identity = Identity("openai", model, url, dict(extra or {}))
        self.name = self.identity.name
        self._sampling = not _REASONING.match(model) if sampling is None else sampling
        self.capabilities = Capabilities(
            logprobs=self._sampling, schema=True, seed=True, samples=self._sampling
        )
        self.ignored = frozenset[str]() if self._sampling else frozenset({"temperature", "top_p"})
        # OpenAI has renamed the parameter; other servers know the old name.
        renamed = official or _REASONING.match(model)
        self._limit_name = "max_completion_tokens" if renamed else "max_tokens"
        self._timeout = timeout
        key = remote.api_key(self.name, api_key, (KEY_VARIABLE,), needed=official)
        self._client = openai.AsyncOpenAI(
            api_key=key, base_url=url, timeout=timeout, max_retries=0, http_client=http_client
        )

    async def complete(self, request: Request) -> Completion:
        """Send `request` once.

        Raises:
            ModelError: see `simulator.models.errors`.
        """
        body = self._body(request)
        async with remote.translated(self.name, openai, self._timeout):
            # The body is plain JSON on purpose; the SDK's overloads are about literal keywords.
            answer = await cast(Any, self._client.chat.completions).create(**body)
        return self._completion(answer, request)

    async def score(self, request: ScoreRequest) -> Scored:
        """Chat interfaces tell nothing of a given text.

        Raises:
            Unsupported: always.
        """
        raise cannot_score(self.name)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _body(self, request: Request) -> dict[str, Any]:
        if request.plain:
            raise cannot_continue(self.name)
        body: dict[str, Any] = {
            "model": self.identity.model,
            "messages": messages(request),
            self._limit_name: request.max_tokens,
        }
        if self._sampling:
            body["temperature"] = request.temperature
            if request.top_p != 1:
                body["top_p"] = request.top_p
            if request.stop:
                body["stop"] = list(request.stop)
        if request.seed is not None:
            body["seed"] = request.seed
        if request.samples > 1 and self._sampling:
            body["n"] = request.samples
        if request.schema is not None:
            body["response_format"] = openai_format(request.schema)
        if request.top_logprobs is not None:
            body |= self._logprobs(request.top_logprobs)
        if self.identity.extra:
            body["extra_body"] = dict(self.identity.extra)
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
        return Completion(
            text=text,
            samples=self._samples(answer, request.samples),
            logprobs=self._token_logprobs(answer, request),
            usage=usage,
            finish_reason=choice.finish_reason or "stop",
        )

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
            raise Unsupported(
                f"{self.name} at {self.identity.base_url} was asked for log-probabilities and gave none; "
                "take another server or model"
            )
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
    return Usage(usage.prompt_tokens, usage.completion_tokens, details.cached_tokens if details else None)
