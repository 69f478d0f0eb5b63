"""Removal of keys and passwords from URLs and servers' messages, before these reach a log or console."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

HIDDEN: Final = "***"
_SHORTEST: Final = 6  # shorter keys are not secrets, such as the "none" sent to servers that need no key
_USER_INFO = re.compile(r"(?<=://)[^/?#@\s]+(?=@)")
_QUERY_VALUE = re.compile(r"(?<==)[^&;]+")
# Some proxies take a key as a segment of the path.
_KEY_SEGMENT = re.compile(r"(?:sk|pk|key|tok|token|hf|ghp|glpat)[-_][\w-]{8,}", re.IGNORECASE)


def public_url(url: str) -> str:
    """Return `url` without user, password, query values, fragment and keys in its path."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return _USER_INFO.sub(HIDDEN, url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(
        (
            parts.scheme,
            f"{HIDDEN}@{host}" if "@" in parts.netloc else host,
            "/".join(
                HIDDEN if _KEY_SEGMENT.fullmatch(segment) else segment for segment in parts.path.split("/")
            ),
            _QUERY_VALUE.sub(HIDDEN, parts.query),
            "",
        )
    )


def has_credentials(url: str) -> bool:
    """Return True if `url` contains anything that `public_url` hides."""
    return public_url(url) != url


class Secrets:
    """The secrets of one server, to be hidden in texts."""

    def __init__(self, url: str, keys: Iterable[str]) -> None:
        """Collect the keys, and the secrets in the server's URL."""
        secrets = {key for key in keys if len(key) >= _SHORTEST} | set(_secrets_of(url))
        # The longest first: one may contain another.
        self._values = sorted(secrets, key=lambda value: (-len(value), value))

    def hide(self, text: str) -> str:
        """Return `text` with the secrets masked."""
        for value in self._values:
            text = text.replace(value, HIDDEN)
        return _USER_INFO.sub(HIDDEN, text) if "://" in text else text


def _secrets_of(url: str) -> Iterable[str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    user_info = parts.netloc.rpartition("@")[0]
    user, _, password = user_info.partition(":")
    if user_info:
        yield b64encode(unquote(user_info).encode()).decode()
    values = _QUERY_VALUE.findall(parts.query)
    segments = [segment for segment in parts.path.split("/") if _KEY_SEGMENT.fullmatch(segment)]
    for value in (password or user, *values, parts.fragment, *segments):
        # Shorter than keys, since these are certainly passwords.
        if len(value) >= 3:
            yield value
            yield unquote(value)
