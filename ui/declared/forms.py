"""Forms on pages: what a browser sends of one, and what it is answered before anything is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from simulator.blocks import Block
from simulator.errors import InputError, SeatError
from simulator.form_blocks import FieldProblem, Form
from simulator.seats import Reply
from ui.calls import Answer, Call, PageCall
from ui.i18n import Strings
from ui.render.environment import render
from ui.render.frame import Frame, RoomLink
from ui.study.actions import MoveCall, StudyActions
from ui.study.pages import Here, View, session_page

_Name = Annotated[str, Field(max_length=200)]
_Typed = Annotated[str, Field(max_length=20_000)]
"""Letters of a text that get as far as the room, which says in words that it is too long."""
_Scalar = bool | int | float | _Typed | None
_Entry = _Scalar | dict[_Name, _Scalar]
_Value = _Scalar | Annotated[list[_Entry], Field(max_length=1000)]


class _Filled(Call):
    """Part of a call: a form as it stands.

    Attributes:
        filled: the values of the fields that are shown, by name.
    """

    filled: dict[_Name, _Value] = Field(default_factory=dict, max_length=100)


class FormCall(MoveCall, _Filled):
    """A turn that is what was said, or a form that was filled in."""

    @classmethod
    def fields_of(cls, reply: Reply, knows: Any) -> dict[str, Any]:
        """See `MoveCall.fields_of`; what is logged of words that were recorded at once is no form."""
        return {"text": reply.text, **({"filled": reply.move} if reply.move and knows is not None else {})}

    def form(self) -> dict[str, Any]:
        """Return the fields that were filled in."""
        return dict(self.filled)


class CheckCall(PageCall, _Filled):
    """Ask what is wrong with a form, before it is sent."""


def form_in(blocks: Sequence[Block]) -> Form | None:
    """Return the form of a page; None if nothing is to be filled in."""
    return next((block for block in blocks if isinstance(block, Form)), None)


def form_page(
    frame: Frame, link: RoomLink, here: Here, steps: Mapping[Any, str], kind: str, form: Form, **shown: object
) -> str:
    """Return a page with a form; the texts ``KIND.heading`` and ``KIND.lead`` stand above it.

    Args:
        frame: its frame.
        link: the benchmark.
        here: the episode.
        steps: of the study.
        kind: of the move that is due.
        form: what is to be filled in.
        shown: before it: ``lines`` of a dialogue, ``meters`` and other ``blocks``, ``invitations`` by seat;
            ``head`` beside the heading.
    """
    before = {"lines": (), "meters": (), "blocks": (), "head": (), "label": kind, "invitations": {}} | shown
    return session_page("declared/sheet", frame, link, here, steps, kind=kind, form=form, **before)


def check_answer(
    room: StudyActions, frame: Frame, view: View, form: Form | None, call: Mapping[str, Any], language: str
) -> Answer:
    """Return what the browser is answered that asks what is wrong with a form (`ui.rooms.RoomActions.check`).

    Args:
        room: whose page it is.
        frame: of the page.
        view: what may be seen there.
        form: that is filled in; None if there is none.
        call: has its values.
        language: of the item.

    Returns:
        ``problems``, by field; ``errors``, how many of them are; ``html`` of what is shown beside. Of a form
        that cannot be read, why it is ``refused``.
    """
    asked = CheckCall.model_validate(call)
    if form is None or form.check is None:
        return {}
    try:
        checked = form.check(asked.filled, frame.texts.language)
    except (SeatError, InputError) as error:
        return {"refused": room.refused(frame, error).text}
    problems: dict[str, list[dict[str, str]]] = {}
    for problem in checked.problems:
        said = {"text": problem_words(frame.texts, problem, room.link.name), "level": problem.level}
        if said not in (held := problems.setdefault(problem.field, [])):
            held.append(said)
    context = {"room": room.link, "view": view, "language": language, "blocks": checked.blocks}
    return {
        "problems": problems,
        "errors": sum(each["level"] == "error" for held in problems.values() for each in held),
        "html": render("blocks/all", frame.texts, **context) if checked.blocks else "",
    }


def problem_words(texts: Strings, problem: FieldProblem, room: str) -> str:
    """Return what is wrong with a field, in the page's language where there are words for the rule.

    Args:
        texts: of the pages.
        problem: of the field.
        room: begins the names of the benchmark's texts.
    """
    return texts.get(f"declared.problem.{problem.code}", texts.say(room, problem.text))
