"""Errors in the language of the page: ``problem.{code}``, by the error's code.

Codes of one benchmark have their words in its ``texts.yaml``, as ``error.{code}``; all others in
``strings/``.

The simulator names what went wrong (`AskbackError.code`); its messages are for the command line and the log.
"""

from __future__ import annotations

from pydantic import ValidationError

from simulator.errors import SeatError
from ui.i18n import Strings


def problem_text(t: Strings, error: Exception) -> str:
    """Return what went wrong, for a person.

    What has no code is told in its own, English, words, and that they are.
    """
    if isinstance(error, ValidationError):
        return t("app.failed")
    code = getattr(error, "code", "")
    if isinstance(error, SeatError):  # the rules of a room have their words there
        code = f"seat_{code}"
    named = getattr(error, "named", {})
    return t.get(f"problem.{code}", t("problem.uncoded", message=str(error)), **named)


def trouble_text(t: Strings, warning: str) -> str:
    """Return what the seats opposite met with (`simulator.errors.Trouble`); other words as they are."""
    return t.get(f"problem.{getattr(warning, 'code', '')}", warning)
