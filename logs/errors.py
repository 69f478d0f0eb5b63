"""What can go wrong with a log.

::

    LogError              the log cannot be read or written; the message names the file and the way out
    ├── LogConflict       a row contradicts what is in the log already; nothing was written for it
    ├── NotInLog          something named is not in the log
    ├── NotALog           the file is not a log of Askback, or there is no file
    └── NewerLog          the log was written by a newer Askback

A conflict and a missing reference concern one row only: the rows written beside it are committed. Any
other error of writing concerns every row that was waiting, and each of them is told.
"""

from __future__ import annotations


class LogError(Exception):
    """The log cannot be read or written.

    Attributes:
        code: names what went wrong, so that a page can say it in a person's language.
        named: the values in it, by name.
    """

    code = "log_failed"

    def __init__(self, message: str, **named: str) -> None:
        super().__init__(message)
        self.named = named


class LogConflict(LogError):
    """A row contradicts one that is in the log already."""

    code = "log_conflict"


class NotInLog(LogError, LookupError):
    """Something named is not in the log; `named` says what, as ``wanted``."""

    code = "not_in_log"

    def __init__(self, message: str, wanted: str = "") -> None:
        super().__init__(message, wanted=wanted)

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class NotALog(LogError):
    """The file is no log of Askback, or there is no such file."""


class NewerLog(LogError):
    """The log has a newer schema than this program knows."""
