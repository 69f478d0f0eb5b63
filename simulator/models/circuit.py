"""When a server is given up: it is broken, silent, or asks to be left alone for longer than anybody waits.

All models of one server share one `Circuit`, as they share its `limits.Limiter`. Without it, every episode
of a run would wait for the same silent server in turn.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from simulator.models.errors import ModelError, RateLimited, TimedOut, Unavailable

MOST_WAIT: Final = 300.0
"""Seconds that a server is waited for at most when it asks to be."""

_TIMED_OUT: Final = 3  # requests without an answer, one after the other, and no answer to any other
_FAILED: Final = 6  # requests that failed otherwise
_FAILED_SECONDS: Final = 60.0  # and for how long at least: servers restart
_COOLING: Final = 30.0  # seconds until somebody may try again
_SAY_EVERY: Final = 30.0

_log = logging.getLogger(__name__)


class ServerDown(ModelError):
    """A server has been given up; nothing is sent to it for a while."""

    code = "model_unavailable"


class Circuit:
    """What is known of one server's health. Open means that nothing is sent."""

    def __init__(self, server: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Watch a server.

        Args:
            server: its name for people.
            clock: for tests.
        """
        self.server = server
        self._clock = clock
        self._failures = 0
        self._timed_out = 0
        self._failing_since: float | None = None
        self._open_until = float("-inf")
        self._why = ""
        self._said_at = float("-inf")

    def require_closed(self) -> None:
        """Make sure that requests may be sent.

        Raises:
            ServerDown: if the server was given up a moment ago; says why.
        """
        if self._clock() < self._open_until:
            raise ServerDown(self._why)

    def succeeded(self) -> None:
        """The server has answered."""
        self._failures = self._timed_out = 0
        self._failing_since = None

    def failed(self, error: ModelError, since: float) -> None:
        """A request sent at `since` failed.

        Raises:
            ServerDown: if the server is given up for it.
        """
        asked = getattr(error, "retry_after", None)
        if asked is not None and asked > MOST_WAIT:
            self._give_up(
                f"{self.server} asks not to be called for {duration(asked)}; nobody waits for more than "
                f"{duration(MOST_WAIT)} ({error})",
                error,
                asked,
            )
        if isinstance(error, RateLimited) or not isinstance(error, TimedOut | Unavailable):
            # It is there and answers, if not what one would like to hear.
            return self.succeeded()
        self._failures += 1
        self._timed_out = self._timed_out + 1 if isinstance(error, TimedOut) else 0
        self._failing_since = since if self._failing_since is None else min(self._failing_since, since)
        lasting = self._clock() - self._failing_since
        if self._timed_out >= _TIMED_OUT or (self._failures >= _FAILED and lasting >= _FAILED_SECONDS):
            self._give_up(
                f"{self.server} has not answered for {duration(lasting)} "
                f"({self._failures} requests; the last: {error})",
                error,
                _COOLING,
            )

    def say(self, message: str) -> None:
        """Tell whoever watches the run who is waited for, now and then."""
        if self._clock() - self._said_at >= _SAY_EVERY:
            self._said_at = self._clock()
            _log.warning("%s: %s", self.server, message)

    def _give_up(self, why: str, error: ModelError, seconds: float) -> None:
        self._open_until = self._clock() + min(seconds, MOST_WAIT)
        self._why = why
        self.succeeded()  # after the pause one request may show whether it is back
        raise ServerDown(why) from error


def duration(seconds: float) -> str:
    """Return a time for people: ``5 s``, ``3 min``, ``24 h``."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
