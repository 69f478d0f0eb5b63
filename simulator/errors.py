"""What can go wrong, and where it is caught.

::

    AskbackError              anything Askback raises on purpose; its message names the way out
    ├── InputError            a file, option or field a user gave is wrong (names file, line or field)
    ├── SeatError             a seat broke the rules of its benchmark          -> episode aborted
    ├── WorkerFailed          a process that played or computed was lost; the same command continues
    ├── ConflictError         a submission that does not fit the log (stale page, another tab)
    └── models.ModelError     a language model failed (see simulator.models.errors) -> episode failed

A bad episode is data, not a crash: `runner.execute` is the one boundary that turns these into an
ending row. A *parse error* (a model's answer had the wrong form) is not a *rule violation*.
"""

from __future__ import annotations

from collections.abc import Mapping


class AskbackError(Exception):
    """Base of all errors raised on purpose.

    Attributes:
        code: names what went wrong, so that a page can say it in a person's language; empty where nobody
            meets it in a browser, or where a page says the message as it is. The command line, files and
            logs say the message.
        named: the values in it, by name.
    """

    code: str = ""

    def __init__(self, message: str, *, code: str = "", **named: object) -> None:
        super().__init__(message)
        self.code = code or self.code
        self.named: Mapping[str, object] = named


class InputError(AskbackError):
    """Something a user gave is wrong; the message names it and says what to do."""


class SeatError(AskbackError):
    """A seat broke the rules; the episode is aborted.

    Attributes:
        cause: the seat, or ``parser`` if its answer could not be read.
        node: the node it is about, if any.
    """

    def __init__(self, message: str, cause: str, *, code: str = "", node: str = "") -> None:
        super().__init__(message, code=code, node=node)
        self.cause = cause
        self.node = node


class ConflictError(AskbackError):
    """A submission does not fit what the log holds; the page should be shown anew."""


class WorkerFailed(AskbackError):
    """A process that played or computed ended before its work did; what it has played is in the log."""


class Trouble(str):
    """A failure of the seats opposite, for whoever waits: the English words, and a code for pages.

    Attributes:
        code: as of `AskbackError`.
    """

    code: str

    def __new__(cls, message: str, code: str = "") -> Trouble:
        """Make words with their code."""
        made = super().__new__(cls, message)
        made.code = code
        return made
