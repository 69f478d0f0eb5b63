"""What AmbiK's pages can ask of the server, beside what every room with studies offers (`ui.study`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from simulator.ambik.annotation.page import pair_form
from simulator.ambik.items import BENCHMARK, LANGUAGE
from simulator.ambik.sessions import AmbikSessions
from simulator.ambik.views import SeatName
from simulator.runner.lobby import PERSON
from simulator.studies.cards import StudyCard
from ui.ambik.calls import SeatCall, StartCall
from ui.ambik.pages import OPPOSITE, SEATS, STEPS, end_page, entry_page, stage_page
from ui.calls import Answer
from ui.declared.forms import check_answer
from ui.invitations import invitation
from ui.render.environment import render
from ui.render.frame import Frame, RoomLink
from ui.render.play import Company
from ui.study.actions import StudyActions
from ui.study.pages import Here, offer
from ui.tokens import Pass, Signer

LINK: Final = RoomLink(BENCHMARK, "/ambik", "pot")


class AmbikActions(StudyActions):
    """The calls, on live sessions; passes to these are signed."""

    room = BENCHMARK
    seat = "robot"
    link = LINK
    move_call = SeatCall

    def __init__(self, sessions: AmbikSessions, signer: Signer) -> None:
        super().__init__(sessions)
        self._play = sessions
        self._signer = signer

    async def home(self, frame: Frame) -> str:
        """Return the entry."""
        opponents = {seat: self._play.opponents(seat) for seat in OPPOSITE}
        return entry_page(frame, self.link, self.studies(), opponents)

    async def start(self, call: Mapping[str, Any]) -> Pass:
        """Begin an episode of free play; the pass to it.

        Raises:
            AskbackError: if it cannot begin.
            ValidationError: if the call is not of the right form.
        """
        asked = StartCall.model_validate(call)
        company = asked.opposite == PERSON
        episode = await self._play.start(
            seat=asked.seat, type=asked.type, language=asked.language, opposite=asked.opposite or None
        )
        return Pass(episode, asked.seat, person_opposite=company, host=company, room=self.room)

    async def state(self, seat: Pass) -> Answer:
        """Return where an episode stands, for a page that waits for the seat opposite."""
        view = await self.sessions.view(seat.episode_id, seat.seat)
        return {
            "number": view.number,
            "my_turn": view.stage not in ("gather", "wait", "done"),
            "ended": view.stage == "done",
            "trouble": view.warning is not None,
            "stage": view.stage,
        }

    async def check(self, frame: Frame, seat: Pass, call: Mapping[str, Any]) -> Answer:
        """See `ui.rooms.RoomActions.check`."""
        view = await self._play.view(seat.episode_id, seat.seat)
        form = pair_form(view.draft) if view.draft is not None else None
        return check_answer(self, frame, view, form, call, LANGUAGE)

    def seat_of(self, card: StudyCard) -> SeatName:
        """Return the seat of a study's participants: it is what the study calls their task."""
        return next((seat for seat in SEATS if seat == card.task), "annotator")

    def welcome_page(self, frame: Frame, card: StudyCard) -> str:
        """Return a study's welcome page."""
        return render(
            "ambik/welcome",
            frame.texts,
            frame=frame,
            room=self.link,
            offer=offer(frame, card),
            seat=self.seat_of(card),
        )

    def steps(self, view: Any) -> Mapping[Any, str]:
        """Return the step of a study that each stage belongs to."""
        return STEPS

    def session_page(self, frame: Frame, here: Here) -> str:
        """Return the page of an episode that is going on."""
        return stage_page(frame, self.link, here, self._company(here))

    def _company(self, here: Here) -> Company:
        """Return who sits opposite; with a link for them, if a person is to come whom this page invites."""
        seat = here.seat
        if seat is None or not seat.person_opposite:
            return Company()
        if not seat.host:
            return Company(person=True)
        other = OPPOSITE[here.view.seat]
        taken = other in self.holders(seat.episode_id)
        return Company(True, invitation(self._signer, seat, other, taken=taken))

    def end_page(self, frame: Frame, here: Here, replay: Any) -> str:
        """Return the page of an episode that is through."""
        return end_page(frame, self.link, here, replay)
