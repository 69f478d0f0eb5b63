"""The pages of an episode that is going on, one per stage; each is made from what may be seen now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, cast

from simulator.ambik.annotation.form import ORDER
from simulator.ambik.data import Guidelines, load_guidelines
from simulator.ambik.forms import proposed_step
from simulator.ambik.terms import APPLIANCES
from simulator.ambik.views import Exchanged, ParticipantView, SeatName
from ui.ambik.ports import OPPOSITE
from ui.i18n import Strings
from ui.render.frame import Frame, RoomLink
from ui.render.play import Company
from ui.study.pages import Here, session_page

STEPS: Final[Mapping[str, str]] = {
    "consent": "consent",
    "instructions": "instructions",
    "gather": "instructions",
    "tell": "task",
    "decide": "task",
    "wait": "task",
    "answer": "task",
    "annotate": "task",
}
"""The step of a study that each stage is part of."""


def stage_page(frame: Frame, link: RoomLink, here: Here, company: Company) -> str:
    """Return the page of the stage that an episode is at; it is not done yet."""
    view = cast(ParticipantView, here.view)
    guide = load_guidelines(frame.texts.language)
    return session_page(
        f"ambik/{view.stage}",
        frame,
        link,
        replace(here, view=in_words(frame.texts, with_question(view))),
        STEPS,
        name=view.stage,
        other=OPPOSITE.get(view.seat, ""),
        company=company,
        guide=guide,
        order=ORDER,
        draft=view.draft,
        step_at=proposed_step(view.draft) if view.draft is not None else None,
        appliances=APPLIANCES,
        points=points(guide, view.seat),
        rules=tuple(step.text for step in guide.steps),
    )


def points(guide: Guidelines, seat: SeatName) -> tuple[str, ...]:
    """Return what the instructions say to whoever sits there, point by point."""
    if seat == "annotator":
        return tuple(step.text for step in guide.steps)
    return guide.robot if seat == "robot" else guide.user


def in_words(texts: Strings, view: ParticipantView) -> ParticipantView:
    """The view, its trouble in words for participants; in free play they are what the program met with."""
    if view.warning is None or not view.study:
        return view
    return replace(view, warning=texts("ambik.wait.trouble"))


def with_question(view: ParticipantView) -> ParticipantView:
    """Return the view with the question that is due among what has been said."""
    last = view.exchanges[-1] if view.exchanges else None
    if not view.question or (last is not None and last.answer is None):
        return view
    return replace(view, exchanges=(*view.exchanges, Exchanged(view.question, None)))
