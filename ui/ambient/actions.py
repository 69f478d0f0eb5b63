"""What AmbiEnt's pages can ask of the server, beside what every room with studies offers (`ui.study`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulator.ambient.items import BENCHMARK
from simulator.ambient.payloads import FormError
from simulator.ambient.playing import ANNOTATOR
from simulator.ambient.sessions import AmbientSessions
from simulator.errors import InputError, SeatError
from simulator.studies.cards import StudyCard
from ui.ambient.calls import FormCall, StartCall
from ui.ambient.entry import entry_page
from ui.ambient.result import end_page
from ui.ambient.stages import FormNotice, stage_page, steps
from ui.render.frame import Frame, RoomLink
from ui.render.play import Notice
from ui.study.actions import StudyActions
from ui.study.pages import Here, welcome_page
from ui.tokens import Pass


class AmbientActions(StudyActions):
    """The calls, on live sessions."""

    room = BENCHMARK
    seat = ANNOTATOR
    link = RoomLink(BENCHMARK, "/ambient", "readings")
    move_call = FormCall

    def __init__(self, sessions: AmbientSessions) -> None:
        super().__init__(sessions)
        self._play = sessions

    async def home(self, frame: Frame) -> str:
        """Return the entry."""
        return entry_page(frame, self.link, self.studies())

    async def start(self, call: Mapping[str, Any]) -> Pass:
        """Begin an episode of free play; the pass to it.

        Raises:
            AskbackError: if it cannot begin.
            ValidationError: if the call is not of the right form.
        """
        asked = StartCall.model_validate(call)
        episode = await self._play.start(task=asked.task, language=asked.language)
        return Pass(episode, self.seat, room=self.room)

    def refused(self, frame: Frame, error: SeatError | InputError) -> Notice:
        """Return why a turn does not count; of a linguist's form, with what is wrong at which field."""
        refusal = super().refused(frame, error)
        return (
            FormNotice(refusal.text, refusal.kind, error.problems)
            if isinstance(error, FormError)
            else refusal
        )

    def welcome_page(self, frame: Frame, card: StudyCard) -> str:
        """Return a study's welcome page."""
        return welcome_page("ambient/welcome", frame, self.link, card)

    def steps(self, view: Any) -> Mapping[Any, str]:
        """Return the step of a study that each stage belongs to."""
        return steps(view)

    def session_page(self, frame: Frame, here: Here) -> str:
        """Return the page of an episode that is going on."""
        return stage_page(frame, self.link, here)

    def end_page(self, frame: Frame, here: Here, replay: Any) -> str:
        """Return the page of an episode that is through."""
        return end_page(frame, self.link, here, replay)
