"""Models of the providers that LiteLLM supports: ``gemini/…``, ``bedrock/…``, ``azure/…``, ``mistral/…``.

LiteLLM knows each provider's API, errors and prices; keys are in its own environment variables.
``litellm/…`` is any other provider that it supports. It is an extra, imported when such a model is loaded,
and configured to use its built-in prices instead of downloading newer ones. Log-probabilities only come from
our own backends.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, Final

import httpx
import openai

from simulator.errors import InputError
from simulator.models import remote
from simulator.models.answers import cut_at_stops
from simulator.models.base import Capabilities, Completion, Request, Scored, ScoreRequest
from simulator.models.budget import Price
from simulator.models.decoding import drawn_samples, require_samples
from simulator.models.errors import (
    KeyMissing,
    Malformed,
    ModelError,
    Refused,
    Unavailable,
    Unsupported,
    cannot_continue,
    cannot_score,
)
from simulator.models.keys import Identity, messages
from simulator.models.openai_backend import openai_usage, refuse_declined, sampling_of, thought_of
from simulator.models.redaction import Secrets, public_url
from simulator.models.schema import openai_format

INSTALL: Final = "pip install 'askback[providers]'"
_ANY: Final = "litellm"
_FETCHED: Final = ("LITELLM_LOCAL_MODEL_COST_MAP", "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS")
"""Variables that stop LiteLLM from downloading newer tables when it is imported."""
_SECRET: Final = re.compile(r".*_(?:KEY|TOKEN|SECRET)")
_OURS: Final = frozenset({"model", "messages", "api_key", "api_base", "base_url", "stream", "n", "timeout"})
_TIER: Final = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")
_UNREADABLE: Final = 422  # LiteLLM's own status of answers that it cannot read

_open: set[LibraryModel] = set()


class LibraryModel:
    """A model reached through LiteLLM."""

    def __init__(
        self,
        provider: str,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 120.0,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """Look up the model's parameters and price; nothing is sent yet.

        `provider`: ``litellm`` if `model` names the provider itself. The other options are those of
        `remote.ServerModel`.

        Raises:
            Unsupported: if LiteLLM is not installed; says how to install it.
            KeyMissing: if a key is missing; names the variables.
            InputError: if LiteLLM does not know the provider, or `extra` has a reserved parameter.
        """
        name = f"{provider}/{model}"
        self._litellm = _library(name)
        self._called = model if provider == _ANY else name
        if taken := sorted(_OURS & set(extra or ())):
            raise InputError(f"{name}: {', '.join(taken)} cannot be set")
        parameters = self._parameters()
        url = base_url or (os.environ.get("AZURE_API_BASE") if provider == "azure" else None)
        self.identity = Identity(provider, model, public_url((url or "").rstrip("/")), dict(extra or {}))
        self.name = name
        self.capabilities = Capabilities(
            schema="response_format" in parameters, seed="seed" in parameters, samples="n" in parameters
        )
        self.ignored = frozenset({"temperature", "top_p", "seed"} - parameters)
        self.listed_price = None if base_url and provider != "azure" else self._price()
        self._stops = "stop" in parameters
        self._timeout = timeout
        self._place: dict[str, Any] = {"api_base": url, "api_key": api_key}
        if api_key is None and provider != "bedrock":  # bedrock also takes profiles and the machine's role
            self._require_keys(url)
        self._secrets = Secrets(url or "", [api_key or "", *_secrets()])
        _open.add(self)

    async def complete(self, request: Request) -> Completion:
        """Send `request` once."""
        body = self._body(request)
        async with remote.map_errors(self.name, openai, self._timeout, self._secrets), self._model_errors():
            answer = await self._litellm.acompletion(
                model=self._called,
                messages=messages(request),
                timeout=self._timeout,
                num_retries=0,
                max_retries=0,
                **self._place,
                **body,
            )
            with remote.guard_reading(self.name, answer):
                return remote.without_secrets(self._completion(answer, request), self._secrets)

    async def score(self, request: ScoreRequest) -> Scored:
        """Refuse: these APIs cannot score a given text."""
        raise cannot_score(self.name)

    async def close(self) -> None:
        """Close the connections, which LiteLLM shares among all models, once the last model is closed."""
        _open.discard(self)
        if not _open:
            await self._litellm.close_litellm_async_clients()
            self._litellm.in_memory_llm_clients_cache.flush_cache()

    def _parameters(self) -> set[str]:
        try:
            self._litellm.get_llm_provider(self._called)
            return set(self._litellm.get_supported_openai_params(model=self._called) or ())
        except self._litellm.BadRequestError as error:
            raise InputError(
                f"{_ANY}/{self._called}: LiteLLM does not know this provider; see its documentation"
            ) from error

    def _require_keys(self, url: str | None) -> None:
        missing = self._litellm.validate_environment(self._called)["missing_keys"]
        # LiteLLM lists all of a provider's variables as soon as one is missing.
        unneeded = ("_API_VERSION", "_API_BASE") if url else ("_API_VERSION",)
        missing = [each for each in missing if each not in os.environ and not each.endswith(unneeded)]
        if missing:
            both = " or " if self.name.startswith("gemini/") else " and "
            raise KeyMissing(f"{self.name} needs a key: set {both.join(missing)} in the environment")

    def _price(self) -> Price | None:
        """Return the price in LiteLLM's table; None if the model has none."""
        try:
            costs: dict[str, Any] = dict(self._litellm.get_model_info(self._called))
        except Exception:  # LiteLLM raises a bare Exception for a model that is not in its table
            return None
        read, written = costs.get("input_cost_per_token"), costs.get("output_cost_per_token")
        if read is None or written is None:
            return None
        cached = costs.get("cache_read_input_token_cost")
        tiers = [int(tier[1]) * 1000 for name in costs if costs[name] and (tier := _TIER.fullmatch(name))]
        return Price(
            input=read * 1e6,
            output=written * 1e6,
            cached_input=None if cached is None else cached * 1e6,
            up_to=min(tiers, default=None),
        )

    def _body(self, request: Request) -> dict[str, Any]:
        if request.plain:
            raise cannot_continue(self.name)
        if request.top_logprobs is not None:
            raise Unsupported(
                f"{self.name} returns no log-probabilities; use openai/…, completions/… or transformers/…"
            )
        if not self.capabilities.samples:
            require_samples(self.name, request.samples, 1)
        body = sampling_of(request) | {"max_tokens": request.max_tokens}
        for parameter in (*self.ignored, *(() if self._stops else ("stop",))):
            body.pop(parameter, None)
        if request.schema is not None:
            body["response_format"] = openai_format(request.schema)
        return body | dict(self.identity.extra)

    def _completion(self, answer: Any, request: Request) -> Completion:
        usage = openai_usage(answer)
        choice = answer.choices[0]
        refuse_declined(self.name, choice, usage)
        text = choice.message.content or ""
        return Completion(
            text=text if self._stops else cut_at_stops(text, request.stop),
            samples=drawn_samples(self.name, request, [each.message.content for each in answer.choices]),
            thought=thought_of(choice.message),
            usage=usage,
            finish_reason=choice.finish_reason or "stop",
        )

    @asynccontextmanager
    async def _model_errors(self) -> AsyncIterator[None]:
        """Turn LiteLLM's errors into `ModelError`, except time-outs: `remote.map_errors` does that."""
        try:
            yield
        except (ModelError, openai.APITimeoutError):
            raise
        except self._litellm.ContentPolicyViolationError as error:
            raise Refused(f"{self.name} declined: {_message(error)}") from error
        except openai.APIError as error:
            raise self._error(error) from error

    def _error(self, error: Any) -> ModelError:
        causes = tuple(_causes(error))
        if any(isinstance(cause, httpx.TransportError | openai.APIConnectionError) for cause in causes):
            never_sent = any(isinstance(cause, httpx.ConnectError) for cause in causes)
            return Unavailable(
                f"{self.name}: cannot reach the server ({_message(error)})", maybe_billed=not never_sent
            )
        # LiteLLM makes up responses without headers.
        response: Any = getattr(error, "response", None)
        headers = getattr(error, "litellm_response_headers", None) or getattr(response, "headers", None) or {}
        status = getattr(error, "status_code", None)
        # Unreadable answers have LiteLLM's own status, or a 500 without a server's headers.
        if status == _UNREADABLE or not isinstance(status, int) or (status == 500 and not headers):
            return Malformed(f"{self.name}: the server's answer has an unexpected form ({_message(error)})")
        codes = (str(getattr(each, "code", None) or "") for each in (error, *causes))
        code = next((code for code in codes if code and not code.isdigit()), "")
        return remote.status_error(self.name, status, _message(error), headers=headers, code=code)


@cache
def _library(name: str) -> Any:
    for variable in _FETCHED:
        os.environ.setdefault(variable, "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")  # else it reads any .env file it finds
    try:
        import litellm
    except ImportError as error:
        raise Unsupported(f"{name} needs LiteLLM, which is not installed: {INSTALL}") from error
    # The warning is about LiteLLM's own types.
    warnings.filterwarnings("ignore", "Items? .* on TypedDict class", UserWarning)
    litellm.suppress_debug_info = True
    litellm.disable_aiohttp_transport = True
    return litellm


def _secrets() -> list[str]:
    return [value for variable, value in os.environ.items() if _SECRET.fullmatch(variable)]


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the causes of an error, the nearest first."""
    while error is not None and (error := error.__cause__ or error.__context__) is not None:
        yield error


def _message(error: Any) -> str:
    return str(getattr(error, "message", error)).partition("Traceback (most recent call last)")[0].strip()
