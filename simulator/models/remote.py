"""What the backends over HTTP have in common: keys, limits, and failures in our own words."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from json import JSONDecodeError
from typing import Any, Final

import httpx2

from simulator.models.base import Completion
from simulator.models.errors import (
    AuthenticationFailed,
    Malformed,
    ModelError,
    Refused,
    TimedOut,
    Unavailable,
)
from simulator.models.redaction import Secrets
from simulator.models.statuses import status_error

NO_KEY = "none"
MOST_BYTES: Final = 32 * 1024 * 1024
"""Of a response; log-probabilities of a long answer take some megabytes."""
_EXPANDS: Final = 32  # compressed bytes stand for more than they are


def api_key(name: str, given: str | None, variables: Sequence[str], *, needed: bool) -> str:
    """The key given, or the environment's.

    Args:
        name: the model's name, for the message.
        given: the key given as an option.
        variables: environment variables to look in.
        needed: False for servers that may do without a key.

    Raises:
        AuthenticationFailed: if there is none and one is needed; names the variable.
    """
    found = given or next((value for each in variables if (value := os.environ.get(each))), None)
    if found is None and needed:
        raise AuthenticationFailed(
            f"{name} needs a key: set the environment variable {variables[0]}, "
            "or give the URL of a server that needs none"
        )
    return found or NO_KEY


def client(sdk: Any, timeout: float) -> Any:
    """Return an HTTP client for `sdk` that reads no response of more than `MOST_BYTES`."""
    return sdk.DefaultAsyncHttpxClient(timeout=timeout, event_hooks={"response": [_limit]})


@asynccontextmanager
async def translated(name: str, sdk: Any, seconds: float, secrets: Secrets) -> AsyncIterator[None]:
    """Run one request with a time limit, and turn what the SDK raises into a `ModelError` without secrets.

    The SDKs' own time-outs are per read; a server that keeps dripping bytes would never run into them.
    """
    try:
        async with _in_our_words(name, sdk, seconds):
            yield
    except ModelError as error:
        error.args = tuple(secrets.hide(str(part)) for part in error.args)
        if isinstance(error, Malformed | Refused):
            error.text = secrets.hide(error.text)
        raise


@contextmanager
def reading(name: str, answer: object) -> Iterator[None]:
    """Take an answer apart; one of another shape is malformed. The SDKs do not look at what they pass on.

    Raises:
        Malformed: with the answer, if it is not what the interface says.
    """
    try:
        yield
    except (AttributeError, TypeError, KeyError, IndexError, ValueError) as error:
        raise Malformed(
            f"{name}: the server's answer has another shape ({error})", text=str(answer)
        ) from error


def without_secrets(completion: Completion, secrets: Secrets) -> Completion:
    """Return an answer in which the server does not repeat what it was told in confidence."""
    return replace(
        completion,
        text=secrets.hide(completion.text),
        samples=tuple(secrets.hide(text) for text in completion.samples),
    )


@asynccontextmanager
async def _in_our_words(name: str, sdk: Any, seconds: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except (TimeoutError, sdk.APITimeoutError) as error:
        raise TimedOut(f"{name}: no answer within {seconds:g} seconds (--timeout allows for more)") from error
    except sdk.APIStatusError as error:
        raise _status(name, error) from error
    except sdk.APIConnectionError as error:
        raise _connection(name, error) from error
    except (sdk.APIResponseValidationError, JSONDecodeError, UnicodeDecodeError) as error:
        raise Malformed(f"{name}: the server's answer is not JSON: {error}") from error
    except _TooLong as error:
        raise Malformed(f"{name}: {error}") from error
    except RecursionError as error:
        raise Malformed(f"{name}: the server's answer is nested beyond all reason") from error


def cut(text: str, stops: Sequence[str]) -> str:
    """`text` up to the first of `stops`, for servers that do not take (all) stop sequences."""
    ends = [at for stop in stops if stop and (at := text.find(stop)) >= 0]
    return text[: min(ends)] if ends else text


def _status(name: str, error: Any) -> ModelError:
    code = getattr(error, "code", None) or getattr(error, "type", None) or ""
    return status_error(
        name, error.status_code, error.message, headers=error.response.headers, code=str(code)
    )


def _connection(name: str, error: Exception) -> ModelError:
    """No connection at all was surely not billed; one that broke off may have been."""
    cause = error.__cause__
    if isinstance(cause, _TooLong):
        return Malformed(f"{name}: {cause}")
    never_sent = isinstance(cause, httpx2.ConnectError | httpx2.UnsupportedProtocol)
    detail = f"{type(cause).__name__}: {cause}" if cause else str(error)
    return Unavailable(f"{name}: cannot reach the server ({detail})", maybe_billed=not never_sent)


class _TooLong(Exception):
    """A response is longer than any answer."""


class _Limited(httpx2.AsyncByteStream):
    """The bytes of a response, up to so many."""

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
