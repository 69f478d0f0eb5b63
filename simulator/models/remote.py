"""What the backends over HTTP have in common: keys, time-outs, and failures in our own words."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from json import JSONDecodeError
from typing import Any

import httpx2

from simulator.models.errors import AuthenticationFailed, Malformed, ModelError, TimedOut, Unavailable
from simulator.models.statuses import status_error

NO_KEY = "none"


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


@asynccontextmanager
async def translated(name: str, sdk: Any, seconds: float) -> AsyncIterator[None]:
    """Run one request with a time limit, and turn what the SDK raises into a `ModelError`.

    The SDKs' own time-outs are per read; a server that keeps dripping bytes would never run into them.
    """
    try:
        async with asyncio.timeout(seconds):
            yield
    except (TimeoutError, sdk.APITimeoutError) as error:
        raise TimedOut(f"{name}: no answer within {seconds:g} seconds") from error
    except sdk.APIStatusError as error:
        raise _status(name, error) from error
    except sdk.APIConnectionError as error:
        raise _connection(name, error) from error
    except (sdk.APIResponseValidationError, JSONDecodeError, UnicodeDecodeError) as error:
        raise Malformed(f"{name}: the server's answer is not JSON: {error}") from error


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
    never_sent = isinstance(cause, httpx2.ConnectError | httpx2.UnsupportedProtocol)
    detail = f"{type(cause).__name__}: {cause}" if cause else str(error)
    return Unavailable(f"{name}: cannot reach the server ({detail})", maybe_billed=not never_sent)
