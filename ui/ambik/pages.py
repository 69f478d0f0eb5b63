"""The pages of AmbiK: its entry, those of an episode that is going on, one per stage, and that of its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, cast, get_args

from simulator.ambik.annotation.page import pair_form, types_told
from simulator.ambik.data import Guidelines, load_guidelines
from simulator.ambik.items import LANGUAGE
from simulator.ambik.reveal import broken_off, reveal
from simulator.ambik.terms import TASK_TYPES
from simulator.ambik.views import Exchanged, ParticipantView, Replay, SeatName
from simulator.blocks import Block
from simulator.runner.lobby import Opponent
from simulator.studies.cards import StudyCard
from ui.ambik.calls import Kind
from ui.declared.forms import form_page
from ui.i18n import Strings
from ui.render.environment import render
from ui.render.frame import Frame, RoomLink
from ui.render.opponents import opponent_options
from ui.render.play import Company, Notice
from ui.study.pages import Here, offer, session_page


class Picture(NamedTuple):
    """An instruction, what stands about, and what may be meant."""

    task: str
    things: tuple[str, ...]
    possible: tuple[str, ...]
    options: tuple[str, ...]


SEATS: Final[tuple[SeatName, ...]] = get_args(SeatName)
OPPOSITE: Final[Mapping[SeatName, SeatName]] = {"robot": "user", "user": "robot"}
KINDS: Final[tuple[Kind, ...]] = ("any", *TASK_TYPES)
PICTURE: Final = Picture(
    "Put the soup into a bowl, please.",
    ("lentil soup", "ladle", "glass bowl", "wooden bowl", "bread rolls", "chopping board"),
    ("glass bowl", "wooden bowl"),
    ("ladle the soup into the glass bowl", "ladle the soup into the wooden bowl"),
)
"""Drawn on the entry; of no data set."""


def entry_page(
    frame: Frame,
    link: RoomLink,
    studies: Sequence[StudyCard],
    opponents: Mapping[SeatName, Sequence[Opponent]],
) -> str:
    """Return the entry: free play, and the studies that are open."""
    return render(
        "ambik/entry",
        frame.texts,
        frame=frame,
        room=link,
        offers=[offer(frame, card) for card in studies if card.open],
        seats=SEATS,
        types=KINDS,
        choices={
            seat: opponent_options(frame.texts, known, "ambik.entry.opponent")
            for seat, known in opponents.items()
        },
        picture=PICTURE,
    )


# ---- an episode that is going on; each page is made from what may be seen now

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
    if view.draft is not None and view.stage == "annotate":
        return form_page(frame, link, here, STEPS, view.stage, pair_form(view.draft), language=LANGUAGE)
    return session_page(
        f"ambik/{view.stage}",
        frame,
        link,
        replace(here, view=_in_words(frame.texts, with_question(view))),
        STEPS,
        name=view.stage,
        other=OPPOSITE.get(view.seat, ""),
        company=company,
        points=_points(guide, view.seat),
        types=types_told() if view.seat == "annotator" else (),
    )


def _points(guide: Guidelines, seat: SeatName) -> tuple[str, ...]:
    """Return what the instructions say to whoever sits there, point by point."""
    if seat == "annotator":
        return tuple(step.text for step in guide.steps)
    return guide.robot if seat == "robot" else guide.user


def _in_words(texts: Strings, view: ParticipantView) -> ParticipantView:
    """Return the view with its trouble in words for participants; in free play it is told as it is."""
    if view.warning is None or not view.study:
        return view
    return replace(view, warning=texts("ambik.wait.trouble"))


def with_question(view: ParticipantView) -> ParticipantView:
    """Return the view with the question that is due among what has been said."""
    last = view.exchanges[-1] if view.exchanges else None
    if not view.question or (last is not None and last.answer is None):
        return view
    return replace(view, exchanges=(*view.exchanges, Exchanged(view.question, None)))


def end_page(frame: Frame, link: RoomLink, here: Here, replay: Replay | None) -> str:
    """Return the last page: in a study thanks, the next set or the code; in free play the result; or both."""
    view = cast(ParticipantView, here.view)
    through = view.ending is None or view.ending.status not in ("aborted", "failed")
    blocks: tuple[Block, ...] = ()
    if replay is not None and through:
        blocks = reveal(view.seat, replay, study=view.study)
    elif not view.study:
        blocks = broken_off()
    if view.study and view.seat == "user" and through and not view.exchanges:
        here = replace(here, notice=here.notice or Notice(frame.texts("ambik.result.not_asked")))
    return session_page(
        "ambik/done",
        frame,
        link,
        here,
        STEPS,
        blocks=blocks,
        lines=(),
        language=LANGUAGE,
        company=here.seat is not None and here.seat.person_opposite,
    )
