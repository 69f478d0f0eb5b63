"""AmbiK's own places, and what a third person says of an annotated pair, checked and saved."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from logs import LogError, LogReader, LogWriter
from simulator.ambik.annotation.desk import PairProblems, case, consolidate
from simulator.ambik.annotation.form import Problem, check_fields, errors_of
from simulator.errors import AskbackError, SeatError
from ui.i18n import Strings
from ui.problems import problem_text
from ui.research.address import SETS
from ui.research.ambik_pairs import desk_page, in_words, move_of, pairs_page
from ui.research.ambik_sets import sets_page
from ui.research.desk_page import checked_name
from ui.research.kept import CachedReports
from ui.research.view import Page, Visit

log = logging.getLogger(__name__)

PAIR = "pair"


class PairCall(BaseModel):
    """A third person's form.

    Attributes:
        key: idempotency key, made by the browser once per form.
        item: the draft.
        form: its fields, steps counted from 1.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    what: Literal["pair"]
    key: str = Field(pattern=r"^[\w-]{8,64}$")
    item: str = Field(min_length=1, max_length=500)
    form: dict[str, Any]


def kitchen_place(visit: Visit, kept: CachedReports) -> Page:
    """Return the page at one of AmbiK's own addresses.

    Raises:
        InputError: if there is none.
    """
    if visit.at.reviewer:
        checked_name(visit.at.reviewer)
    return sets_page(visit, kept) if visit.at.path == SETS else pairs_page(visit, kept.reader)


def decided(
    visit: Visit, reader: LogReader, writer: LogWriter, call: Mapping[str, Any]
) -> tuple[dict[str, Any], Page | None]:
    """Save a form; what to answer, and the page that comes next where it was saved."""
    try:
        asked = PairCall.model_validate(call)
    except ValidationError as error:
        log.warning("a form was refused: %s", error)
        return {"saved": False, "problem": visit.t("ambik.refused.malformed")}, None
    try:
        person = checked_name(visit.at.reviewer)
        move = move_of(asked.form)
        draft = case(reader, visit.at.run, asked.item).draft
        if errors := errors_of(check_fields(draft, move)):
            return _mend(visit, errors), None
        row = consolidate(reader, visit.at.run, asked.item, person, move, submission=asked.key)
        writer.put(row).result()
        return {"saved": True}, desk_page(replace(visit, at=replace(visit.at, item="")), reader)
    except PairProblems as error:
        return _mend(visit, error.problems), None
    except (AskbackError, LogError) as error:
        log.warning("a form was not saved: %s", error)
        return {"saved": False, "problem": refusal(visit.t, error)}, None


def refusal(t: Strings, error: Exception) -> str:
    """Return why a form is not taken, in the page's language where the reason has a name."""
    if isinstance(error, SeatError):
        return t.get(f"ambik.refused.{error.code}", problem_text(t, error))
    return problem_text(t, error)


def _mend(visit: Visit, errors: Sequence[Problem]) -> dict[str, Any]:
    """Return what is wrong, in words for the places of the page."""
    places = in_words(visit.t, errors)
    return {"saved": False, "problem": visit.t("research.ambient.mend"), "places": places}
