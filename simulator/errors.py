"""What can go wrong, and where it is caught.

::

    AskbackError              anything Askback raises on purpose; its message names the way out
    ├── InputError            a file, option or field a user gave is wrong (names file, line or field)
    ├── SeatError             a seat broke the rules of its benchmark          -> episode aborted
    ├── ConflictError         a submission that does not fit the log (stale page, another tab)
    └── models.ModelError     a language model failed (see simulator.models.errors) -> episode failed

A bad episode is data, not a crash: `runner.execute` is the one boundary that turns these into an
ending row. A *parse error* (a model's answer had the wrong form) is not a *rule violation*.
"""

from __future__ import annotations


class AskbackError(Exception):
    """Base of all errors raised on purpose."""


class InputError(AskbackError):
    """Something a user gave is wrong; the message names it and says what to do."""


class SeatError(AskbackError):
    """A seat broke the rules; the episode is aborted.

    Attributes:
        cause: the seat, or ``parser`` if its answer could not be read.
        code: names the rule, so that a page can say it in a person's language; may be empty.
        node: the node it is about, if any.
    """

    def __init__(self, message: str, cause: str, *, code: str = "", node: str = "") -> None:
        super().__init__(message)
        self.cause = cause
        self.code = code
        self.node = node


class ConflictError(AskbackError):
    """A submission does not fit what the log holds; the page should be shown anew."""
