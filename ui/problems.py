"""What went wrong, in the language of the page: ``problem.{code}`` in ``strings/``, by the error's code.

The simulator names what went wrong (`AskbackError.code`); its messages are for the command line and the log.
"""

from __future__ import annotations

from pydantic import ValidationError

from simulator.clarq.players.experts_offline import recognise
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


def reason_text(texts: Strings, reason: str) -> str:
    """Return why the provider decided so, in the page's language; a model's own words as they are."""
    if not reason:
        return texts("result.no_reason")
    known = recognise(reason)
    return reason if known is None else texts(f"result.why_{known[0]}", **known[1])
