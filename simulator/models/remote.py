"""Base of the HTTP backends: keys, size limits, and one translation of every provider's failures."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from email.utils import parsedate_to_datetime
from json import JSONDecodeError
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

import httpx2

from simulator.errors import InputError
from simulator.models.base import Completion, Scored, ScoreRequest
from simulator.models.errors import (
    AuthenticationFailed,
    BadRequest,
    KeyMissing,
    Malformed,
    ModelError,
    RateLimited,
    Refused,
    TimedOut,
    Unavailable,
    cannot_score,
)
from simulator.models.keys import Identity
from simulator.models.layers import AnswerT
from simulator.models.redaction import Secrets, public_url

NO_KEY = "none"
MOST_BYTES: Final = 32 * 1024 * 1024
"""Largest response; log-probabilities of a long answer take some megabytes."""
_EXPANDS: Final = 32  # assumed expansion of compressed responses
# Codes of providers for a 429 that waiting does not cure, and for a filter that declined.
_NO_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_error"})
_FILTERED = frozenset({"content_filter", "content_policy_violation"})
_OVERLOADED = 529
_CHECK_SECONDS: Final = 5.0
_LONGEST = 2_000  # characters kept of a server's message; some send a web page


def find_key(name: str, option: str | None, variables: Sequence[str], *, needed: bool) -> str:
    """Return the given key, else the environment's, else `NO_KEY`.

    `needed`: False for servers that may need no key.

    Raises:
        KeyMissing: if a needed key is missing; names the variable.
    """
    key = option or next((value for variable in variables if (value := os.environ.get(variable))), None)
    if key is None and needed:
        raise KeyMissing(
            f"{name} needs a key: set the environment variable {variables[0]}, "
            "or give the URL of a server that needs no key"
        )
    return key or NO_KEY


def client(sdk: Any, timeout: float) -> Any:
    """Return an HTTP client for `sdk` that rejects responses larger than `MOST_BYTES`."""
    return sdk.DefaultAsyncHttpxClient(timeout=timeout, event_hooks={"response": [_limit]})


class ServerModel:
    """A model behind an SDK. It sends each request once; `Retried` retries.

    Attributes:
        provider: first part of the model's name.
        official_url: the provider's own server, which needs a key.
        url_variable: environment variable with the URL of another server.
        key_variables: environment variables searched for a key.
    """

    provider: ClassVar[str]
    sdk: ClassVar[Any]
    sdk_client: ClassVar[Any]
    official_url: ClassVar[str]
    url_variable: ClassVar[str]
    key_variables: ClassVar[tuple[str, ...]]

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
            model: the model's name on the server.
            base_url: the server; by default the environment's or the provider's own.
            api_key: by default the environment's; servers other than the provider's may need no key.
            timeout: seconds that an answer may take.
            extra: body parameters sent with every request.
            http_client: another transport, for tests.

        Raises:
            KeyMissing: if a needed key is missing; names the variable.
            InputError: if the URL is invalid.
        """
        url = (base_url or os.environ.get(self.url_variable) or self.official_url).rstrip("/")
        self.official = _host(url) == _host(self.official_url)
        self.identity = Identity(self.provider, model, public_url(url), dict(extra or {}))
        self.name = self.identity.name
        self._timeout = timeout
        key = find_key(self.name, api_key, self.key_variables, needed=self.official)
        self._secrets = Secrets(url, [key])
        self._client = self.sdk_client(
            api_key=key,
            base_url=url,
            timeout=timeout,
            max_retries=0,
            http_client=http_client or client(self.sdk, timeout),
        )

    async def is_alive(self) -> bool:
        """Return True if the server answers within 5 seconds, with a status below 500."""
        try:
            async with asyncio.timeout(_CHECK_SECONDS):
                await self._client.models.with_raw_response.list()
        except self.sdk.APIStatusError as error:
            return bool(error.status_code < 500)
        except (TimeoutError, self.sdk.APIConnectionError):
            return False
        return True

    async def score(self, request: ScoreRequest) -> Scored:
        """Refuse: chat APIs cannot score a given text."""
        raise cannot_score(self.name)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _create(
        self, endpoint: Any, body: Mapping[str, Any], read: Callable[[object], AnswerT]
    ) -> AnswerT:
        """Send `body` once, and return the answer converted by `read`.

        The body is a plain dictionary because the SDKs' overloads only type literal keywords.
        """
        async with map_errors(self.name, self.sdk, self._timeout, self._secrets):
            answer = await endpoint.create(model=self.identity.model, **body)
            with guard_reading(self.name, answer):
                return without_secrets(read(answer), self._secrets)


@asynccontextmanager
async def map_errors(name: str, sdk: Any, seconds: float, secrets: Secrets) -> AsyncIterator[None]:
    """Run one request with a time limit, and turn the SDK's errors into `ModelError` without secrets.

    The SDKs' own time-outs are per read, so a server that keeps dripping bytes would never reach them.
    """
    try:
        async with _model_errors(name, sdk, seconds):
            yield
    except ModelError as error:
        error.args = tuple(secrets.hide(str(part)) for part in error.args)
        error.text = secrets.hide(error.text)
        raise


@contextmanager
def guard_reading(name: str, answer: object) -> Iterator[None]:
    """Guard code that reads an answer, since the SDKs do not validate what they return.

    Raises:
        Malformed: with the answer, if it has an unexpected form.
    """
    try:
        yield
    except (AttributeError, TypeError, KeyError, IndexError, ValueError) as error:
        raise Malformed(
            f"{name}: the server's answer has an unexpected form ({error})", text=str(answer)
        ) from error


def without_secrets(answer: AnswerT, secrets: Secrets) -> AnswerT:
    """Return an answer with any secrets that the server repeats hidden."""
    if not isinstance(answer, Completion):
        return answer
    samples = tuple(secrets.hide(text) for text in answer.samples)
    return replace(answer, text=secrets.hide(answer.text), samples=samples)


@asynccontextmanager
async def _model_errors(name: str, sdk: Any, seconds: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except (TimeoutError, sdk.APITimeoutError) as error:
        raise TimedOut(f"{name}: no answer within {seconds:g} seconds (see --timeout)") from error
    except sdk.APIStatusError as error:
        code = getattr(error, "code", None) or getattr(error, "type", None) or ""
        raise status_error(
            name, error.status_code, error.message, headers=error.response.headers, code=str(code)
        ) from error
    except sdk.APIConnectionError as error:
        raise _connection(name, error) from error
    except (sdk.APIResponseValidationError, JSONDecodeError, UnicodeDecodeError) as error:
        raise Malformed(f"{name}: the server's answer is not JSON: {error}") from error
    except _TooLong as error:
        raise Malformed(f"{name}: {error}") from error
    except RecursionError as error:
        raise Malformed(f"{name}: the server's answer is nested too deeply") from error


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError as error:
        raise InputError(f"{public_url(url)} is not a server's URL ({error})") from error


def _connection(name: str, error: Exception) -> ModelError:
    """Return the error of a failed connection; a request that was sent before may be billed."""
    cause = error.__cause__
    if isinstance(cause, _TooLong):
        return Malformed(f"{name}: {cause}")
    never_sent = isinstance(cause, httpx2.ConnectError | httpx2.UnsupportedProtocol)
    detail = f"{type(cause).__name__}: {cause}" if cause else str(error)
    return Unavailable(f"{name}: cannot reach the server ({detail})", maybe_billed=not never_sent)


def retry_after(headers: Mapping[str, str], *, wall: Callable[[], float] = time.time) -> float | None:
    """Return the seconds for which a response asks to wait, or None.

    Reads ``retry-after-ms`` and ``retry-after``, the latter as seconds or as an HTTP date (RFC 9110).
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "")
    seconds = _number(value)
    try:
        return seconds if seconds is not None else max(0.0, parsedate_to_datetime(value).timestamp() - wall())
    except (TypeError, ValueError):
        return None


def status_error(
    who: str, status: int, message: str, *, headers: Mapping[str, str], code: str = ""
) -> ModelError:
    """Return the error for a response with a failure status.

    `code`: the provider's own error code or type, if any.
    """
    text = f"{who}: {message[:_LONGEST]}{'…' if len(message) > _LONGEST else ''} (HTTP {status})"
    if code in _NO_CREDIT or status in (401, 402, 403):
        return AuthenticationFailed(f"{text}; check the key, its rights and the account's credit")
    if code in _FILTERED:
        return Refused(text)
    if status in (429, _OVERLOADED):
        return RateLimited(text, retry_after=retry_after(headers))
    if status == 408:
        return TimedOut(text)
    if status >= 500 or status in (409, 425):
        return Unavailable(text, retry_after=retry_after(headers))
    return BadRequest(text)


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else None
    except ValueError:
        return None
    return number if number is not None and 0 <= number < float("inf") else None


class _TooLong(Exception):
    """A response above the size limit."""


class _Limited(httpx2.AsyncByteStream):
    """A response's bytes, up to a limit."""

    def __init__(self, stream: Any, most: int) -> None:
        self._stream = stream
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for piece in self._stream:
            read += len(piece)
            if read > self._most:
                raise _TooLong(f"the server's answer has more than {self._most:,} bytes")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _limit(response: httpx2.Response) -> None:
    packed = response.headers.get("content-encoding", "identity") != "identity"
    response.stream = _Limited(response.stream, MOST_BYTES // _EXPANDS if packed else MOST_BYTES)
