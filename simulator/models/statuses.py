"""From a provider's HTTP failures to our errors; the same rules for every provider."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime

from simulator.models.errors import (
    AuthenticationFailed,
    BadRequest,
    ModelError,
    RateLimited,
    Refused,
    TimedOut,
    Unavailable,
)

# Codes with which providers say that a 429 will not go away by waiting, and that a filter declined.
_NO_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_error"})
_FILTERED = frozenset({"content_filter", "content_policy_violation"})
_OVERLOADED = 529
_LONGEST = 2_000  # characters of a server's words; some send a whole page


def retry_after(headers: Mapping[str, str], *, wall: Callable[[], float] = time.time) -> float | None:
    """Seconds that a response asks to wait, or None.

    Reads ``retry-after-ms`` and ``retry-after``, the latter as seconds or as an HTTP date (RFC 9110).
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    if value is None:
        return None
    seconds = _number(value)
    return seconds if seconds is not None else _until(value, wall())


def status_error(
    who: str, status: int, message: str, *, headers: Mapping[str, str], code: str = ""
) -> ModelError:
    """The error for a response with a failure status.

    Args:
        who: the model's name, for the message.
        status: HTTP status.
        message: what the server said.
        headers: the response's headers.
        code: the provider's own error code or type, if it gave one.
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


def _until(date: str, now: float) -> float | None:
    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - now)
    except (TypeError, ValueError):
        return None
