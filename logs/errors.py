"""Errors of a log.

::

    LogError              the log cannot be read or written; the message names the file and the way out
    ├── LogConflict       a row contradicts one already in the log; it was not written
    ├── NotInLog          something named is not in the log
    ├── NotALog           the file is not a log of Askback, or does not exist
    └── NewerLog          the log was written by a newer Askback

A conflict or a missing reference concerns only one row: the other rows of its group are committed. Any other
error of writing concerns every row that was waiting, and each of them gets it.
"""

from __future__ import annotations


class LogError(Exception):
    """A log that cannot be read or written.

    Attributes:
        code: identifies the error, so that a page can show it in a person's language.
        named: the values in the message, by name.
    """

    code = "log_failed"

    def __init__(self, message: str, **named: str) -> None:
        super().__init__(message)
        self.named = named


class LogConflict(LogError):
    """A row that contradicts one already in the log."""

    code = "log_conflict"


class NotInLog(LogError, LookupError):
    """A name that is not in the log; it is in `named` as ``wanted``."""

    code = "not_in_log"

    def __init__(self, message: str, wanted: str = "") -> None:
        super().__init__(message, wanted=wanted)

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class NotALog(LogError):
    """A file that is not a log of Askback, or does not exist."""


class NewerLog(LogError):
    """A log with a newer schema than this program knows."""
