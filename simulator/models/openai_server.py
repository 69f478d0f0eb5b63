"""What chat and text completions share: a server that speaks OpenAI's language, and what it is sent."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, TypeVar
from urllib.parse import urlsplit

import httpx2
import openai

from simulator.errors import InputError
from simulator.models import remote
from simulator.models.base import Request
from simulator.models.errors import Unsupported
from simulator.models.keys import Identity
from simulator.models.redaction import Secrets, public_url

KEY_VARIABLE: Final = "OPENAI_API_KEY"
URL_VARIABLE: Final = "OPENAI_BASE_URL"
OFFICIAL_URL: Final = "https://api.openai.com/v1"

_Answer = TypeVar("_Answer")


class OpenAIServer:
    """A model on such a server; sends each request once, retries are `Retried`'s.

    Attributes:
        provider: what the model's name begins with.
        official: whether the server is OpenAI's own.
    """

    provider: ClassVar[str]

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 120.0,
        extra: Mapping[str, Any] | None = None,
        http_client: httpx2.AsyncClient | None = None,
    ) -> None:
        """Make a client; nothing is sent yet.

        Args:
            model: the name the server knows it by.
            base_url: the server; by default ``$OPENAI_BASE_URL`` or OpenAI's own.
            api_key: by default ``$OPENAI_API_KEY``; servers other than OpenAI's may do without.
            timeout: seconds that an answer may take.
            extra: body parameters sent with every request.
            http_client: another transport, for tests.

        Raises:
            AuthenticationFailed: if there is no key; names the variable.
        """
        url = (base_url or os.environ.get(URL_VARIABLE) or OFFICIAL_URL).rstrip("/")
        self.official = _host(url) == _host(OFFICIAL_URL)
        self.identity = Identity(self.provider, model, public_url(url), dict(extra or {}))
        self.name = self.identity.name
        self._timeout = timeout
        key = remote.api_key(self.name, api_key, (KEY_VARIABLE,), needed=self.official)
        self._secrets = Secrets(url, [key])
        self._client = openai.AsyncOpenAI(
            api_key=key,
            base_url=url,
            timeout=timeout,
            max_retries=0,
            http_client=http_client or remote.client(openai, timeout),
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _create(
        self, completions: Any, body: Mapping[str, Any], read: Callable[[object], _Answer]
    ) -> _Answer:
        """Send `body` once, and `read` what comes back.

        The body is plain JSON on purpose; the SDK's overloads are about literal keywords.

        Raises:
            ModelError: if the server fails or answers in another shape.
        """
        whole = {"model": self.identity.model, **body}
        if self.identity.extra:
            whole["extra_body"] = dict(self.identity.extra)
        async with remote.translated(self.name, openai, self._timeout, self._secrets):
            answer = await completions.create(**whole)
            with remote.reading(self.name, answer):
                return read(answer)

    def _gave_no_logprobs(self) -> Unsupported:
        return Unsupported(
            f"{self.name} at {self.identity.base_url} was asked for log-probabilities and gave none; "
            "take another server or model"
        )


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError as error:
        raise InputError(f"{public_url(url)} is not the address of a server ({error})") from error


def drawn(request: Request, *, sampling: bool = True) -> dict[str, Any]:
    """How tokens are to be drawn: what a request says of it, and a model (that takes no `sampling`) takes."""
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
