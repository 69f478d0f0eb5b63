"""What researchers say of AmbiEnt's examples, saved: consolidated annotations, kinds of ambiguity, marks.

A form comes from a browser: it is checked here. What breaks a rule is answered with words for the places of
the page; nothing is written then, and nothing of the form is lost.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from logs import LogError, LogReader, LogWriter
from simulator.ambient.annotation.consolidation import FormProblems, consolidate
from simulator.ambient.annotation.rules import read_annotation
from simulator.errors import AskbackError, InputError
from simulator.forms import LONGEST
from ui.problems import problem_text
from ui.research.ambient_consolidate import consolidate_page
from ui.research.ambient_words import complaints
from ui.research.desk import Desk
from ui.research.desk_page import checked_name
from ui.research.view import Page, Visit

log = logging.getLogger(__name__)

Answer = dict[str, Any]


class JudgeCall(BaseModel):
    """A form on an example.

    Attributes:
        what: which kind of form.
        key: idempotency key, made by the browser once per form.
        item: the example.
        form: its fields.
        decides: whether it ends a discussion.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    what: Literal["consolidation"]
    key: str = Field(pattern=r"^[\w-]{8,64}$")
    item: str = Field(min_length=1, max_length=500)
    form: dict[str, Any]
    decides: bool = False


def consolidation_place(visit: Visit, desk: Desk) -> Page:
    """Return the page on which annotations are consolidated."""
    if visit.at.reviewer:
        checked_name(visit.at.reviewer)
    return consolidate_page(visit, desk.reader)


def judged(
    visit: Visit, reader: LogReader, writer: LogWriter, call: Mapping[str, Any]
) -> tuple[Answer, Page | None]:
    """Save a form; what to answer, and the page that comes next where it was saved."""
    try:
        asked = JudgeCall.model_validate(call)
    except ValidationError as error:
        log.warning("a form was refused: %s", error)
        return {"saved": False, "problem": problem_text(visit.t, error)}, None
    try:
        _consolidation(visit, reader, writer, asked)
        return {"saved": True}, consolidate_page(replace(visit, at=replace(visit.at, item="")), reader)
    except FormProblems as error:
        places = complaints(visit.t, error.problems)
        return {"saved": False, "problem": visit.t("research.ambient.mend"), "places": places}, None
    except (AskbackError, LogError) as error:
        log.warning("a form was not saved: %s", error)
        return {"saved": False, "problem": problem_text(visit.t, error)}, None


def _consolidation(visit: Visit, reader: LogReader, writer: LogWriter, asked: JudgeCall) -> None:
    form = asked.form
    _short(form, "comment")
    row = consolidate(
        reader,
        visit.at.run,
        asked.item,
        checked_name(visit.at.reviewer),
        read_annotation(form),
        submission=asked.key,
        checklist=_texts(form.get("checklist")),
        decides=asked.decides,
    )
    writer.put(row).result()


def _texts(value: object) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise InputError("This is no list of names.", code="malformed")
    return list(value)


def _short(form: Mapping[str, Any], name: str) -> str:
    text = form.get(name) or ""
    if not isinstance(text, str) or len(text) > LONGEST:
        raise InputError(f"A note is a text of {LONGEST} letters at most.", code="long_note", most=LONGEST)
    return text
