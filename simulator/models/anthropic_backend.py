"""Anthropic's messages API and servers that speak it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, cast

import anthropic
import httpx2
from anthropic.types import Message as Answer
from pydantic import BaseModel

from simulator.models import remote
from simulator.models.base import Capabilities, Completion, Request, Usage
from simulator.models.checked import count_of
from simulator.models.errors import BadRequest, Malformed, Refused, Unsupported
from simulator.models.keys import Identity
from simulator.models.redaction import Secrets, public_url
from simulator.models.sampling import require_samples
from simulator.models.schema import check_top, has_free_maps
from simulator.models.scoring import Scored, ScoreRequest, cannot_continue, cannot_score

KEY_VARIABLE: Final = "ANTHROPIC_API_KEY"
TOKEN_VARIABLE: Final = "ANTHROPIC_AUTH_TOKEN"
URL_VARIABLE: Final = "ANTHROPIC_BASE_URL"
OFFICIAL_URL: Final = "https://api.anthropic.com"

# The last Claude models that take a temperature; Opus 4.7, the fifth generation and later reject it.
_TAKES_TEMPERATURE = re.compile(
    r"claude-(?:instant|[123]|(?:opus|sonnet|haiku)-4(?:-[0-6](?!\d))?(?:-\d{8}|-latest)?$)"
)
_FINISH: Final = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length"}


class AnthropicModel:
    """``anthropic/<model>`` over the messages API; sends each request once, retries are `Retried`'s.

    Schemas are sent as structured outputs (``output_config.format``). There are no log-probabilities and
    no seed. Models of the newer generations take no temperature either: it is then not sent.
    """

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
            base_url: the server; by default ``$ANTHROPIC_BASE_URL`` or Anthropic's own.
            api_key: by default ``$ANTHROPIC_API_KEY`` or ``$ANTHROPIC_AUTH_TOKEN``.
            timeout: seconds that an answer may take.
            extra: body parameters sent with every request.
            sampling: whether the model takes a temperature; None to decide by its name.
            http_client: another transport, for tests.

        Raises:
            AuthenticationFailed: if there is no key; names the variable.
        """
        url = (base_url or os.environ.get(URL_VARIABLE) or OFFICIAL_URL).rstrip("/")
        self.identity = Identity("anthropic", model, public_url(url), dict(extra or {}))
        self.name = self.identity.name
        self.capabilities = Capabilities(logprobs=False, schema=True, seed=False)
        self._sampling = _takes_temperature(model) if sampling is None else sampling
        self.ignored = frozenset({"seed"} if self._sampling else {"seed", "temperature", "top_p"})
        self._timeout = timeout
        key = remote.api_key(
            self.name, api_key, (KEY_VARIABLE, TOKEN_VARIABLE), needed=url.startswith(OFFICIAL_URL)
        )
        self._secrets = Secrets(url, [key])
        self._client = anthropic.AsyncAnthropic(
            api_key=key,
            base_url=url,
            timeout=timeout,
            max_retries=0,
            http_client=http_client or remote.client(anthropic, timeout),
        )

    async def complete(self, request: Request) -> Completion:
        """Send `request` once.

        Raises:
            ModelError: see `simulator.models.errors`.
        """
        body = self._body(request)
        async with remote.translated(self.name, anthropic, self._timeout, self._secrets):
            # The body is plain JSON on purpose; the SDK's overloads are about literal keywords.
            answer = await cast(Any, self._client.messages).create(**body)
            with remote.reading(self.name, answer):
                return remote.without_secrets(self._completion(answer, request), self._secrets)

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
        if request.samples > 1:
            require_samples(self.name, request.samples, 1)
        if request.plain:
            raise cannot_continue(self.name)
        if request.top_logprobs is not None:
            raise Unsupported(f"{self.name} gives no log-probabilities; Anthropic's interface has none")
        system, said = _split(request)
        body: dict[str, Any] = {
            "model": self.identity.model,
            "messages": said,
            "max_tokens": request.max_tokens,
        }
        extra = dict(self.identity.extra)
        if system:
            body["system"] = system
        if stops := [stop for stop in request.stop if stop.strip()]:
            body["stop_sequences"] = stops
        if self._sampling:
            extra |= _sampled(request)
        if request.schema is not None:
            config = {**extra.pop("output_config", {}), "format": output_format(request.schema)}
            body["output_config"] = config
        if extra:
            body["extra_body"] = extra
        return body

    def _completion(self, answer: object, request: Request) -> Completion:
        if not isinstance(answer, Answer) or answer.content is None:
            raise Malformed(f"{self.name}: the server's answer is no message", text=str(answer))
        usage = _usage(answer)
        text = "".join(block.text for block in answer.content if block.type == "text")
        if answer.stop_reason == "refusal":
            reason = (answer.stop_details.explanation if answer.stop_details else None) or text
            raise Refused(f"{self.name} declined: {reason or 'no reason given'}", text=text, usage=usage)
        # The API takes no blank stop sequences (a line feed, say), so these are cut here.
        blank = tuple(stop for stop in request.stop if not stop.strip())
        end = answer.stop_reason or "end_turn"
        return Completion(text=remote.cut(text, blank), usage=usage, finish_reason=_FINISH.get(end, end))


def output_format(schema: type[BaseModel] | dict[str, Any]) -> dict[str, Any]:
    """The ``output_config.format`` of structured outputs.

    Raises:
        Unsupported: if the schema is not an object at the top or has free-form maps, which the API would
            silently empty.
    """
    return _format_of(schema) if isinstance(schema, type) else _format(schema)


@lru_cache(maxsize=256)
def _format_of(schema: type[BaseModel]) -> dict[str, Any]:
    return _format(schema.model_json_schema())


def _format(schema: dict[str, Any]) -> dict[str, Any]:
    check_top(schema)
    if has_free_maps(schema):
        raise Unsupported("Anthropic's structured outputs have no objects with free names; use a list")
    return {"type": "json_schema", "schema": anthropic.transform_schema(schema)}


def _sampled(request: Request) -> dict[str, float]:
    """How tokens are drawn. Several models refuse both numbers at once, so that a usual one is left out."""
    if request.top_p == 1:
        return {"temperature": request.temperature}
    # 1 is the interface's own temperature.
    given = {} if request.temperature == 1 else {"temperature": request.temperature}
    return given | {"top_p": request.top_p}


def _takes_temperature(model: str) -> bool:
    return not model.startswith("claude-") or bool(_TAKES_TEMPERATURE.match(model))


def _split(request: Request) -> tuple[str, list[dict[str, str]]]:
    """The system prompt, and the rest of the messages."""
    system: list[str] = []
    said: list[dict[str, str]] = []
    for message in request.messages:
        if message.role != "system":
            said.append({"role": message.role, "content": message.content})
        elif said:
            raise BadRequest("a system message must come before all others")
        else:
            system.append(message.content)
    return "\n\n".join(system), said


def _usage(answer: Answer) -> Usage:
    usage = answer.usage
    read = None if usage is None else count_of(usage.input_tokens)
    if usage is None or read is None:
        return Usage()
    cached = count_of(usage.cache_read_input_tokens) or 0
    prompt = read + cached + (count_of(usage.cache_creation_input_tokens) or 0)
    return Usage(prompt, count_of(usage.output_tokens), cached)
