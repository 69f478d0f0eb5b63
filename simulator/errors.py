"""The exception hierarchy, and what each error does to an episode.

::

    AskbackError              anything Askback raises on purpose; the message says how to fix it
    ├── InputError            a user's file, option or field is wrong (names file, line or field)
    ├── SeatError             a seat broke the rules of its benchmark          -> episode aborted
    ├── WorkerFailed          a worker process died; running the same command again continues
    ├── ConflictError         a submission does not match the log (stale page, another tab)
    └── models.ModelError     a language model failed (see simulator.models.errors) -> episode failed

A bad episode is data, not a crash: `runner.execute` is the only place that turns these errors into an
ending row. A *parse error* (a model's answer is malformed) is not a *rule violation*.
"""

from __future__ import annotations

from collections.abc import Mapping


class AskbackError(Exception):
    """Base class of all errors raised on purpose.

    Attributes:
        code: identifies the error so that pages can translate it; empty if it never reaches a browser, or if
            pages show the message itself. The command line, files and logs always use the message.
        named: the values in the message, by name.
    """

    code: str = ""

    def __init__(self, message: str, *, code: str = "", **named: object) -> None:
        super().__init__(message)
        self.code = code or self.code
        self.named: Mapping[str, object] = named


class InputError(AskbackError):
    """Invalid input from a user; the message names it and says what to do."""


class SeatError(AskbackError):
    """A seat broke the rules; the episode is aborted.

    Attributes:
        cause: the seat, or ``parser`` if its answer could not be parsed.
        node: the tree node concerned, if any.
    """

    def __init__(self, message: str, cause: str, *, code: str = "", node: str = "", **named: object) -> None:
        super().__init__(message, code=code, node=node, **named)
        self.cause = cause
        self.node = node


class ConflictError(AskbackError):
    """A submission that does not match the log; the page should be reloaded."""


class WorkerFailed(AskbackError):
    """A worker process that died before finishing; the episodes it finished are in the log."""


class Trouble(str):
    """A failure of another seat, as shown to a waiting person: an English message, and a code for pages."""

    code: str

    def __new__(cls, message: str, code: str = "") -> Trouble:
        """Create a message with its code."""
        trouble = super().__new__(cls, message)
        trouble.code = code
        return trouble
