"""What AmbiBench's pages can ask of the server, beside what all studies' pages can."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from simulator.ambibench.features import Feature, Format
from simulator.ambibench.items import BENCHMARK
from simulator.ambibench.prompt import PARTICIPANT
from simulator.ambibench.sessions import AmbiBenchSessions, setting_with
from simulator.ambibench.views import Replay
from simulator.studies.cards import StudyCard
from ui.ambibench.entry import LINK, entry_page
from ui.ambibench.play import STEPS, trial_page
from ui.ambibench.result import end_page
from ui.calls import Call
from ui.render.frame import Frame
from ui.study.actions import StudyActions
from ui.study.pages import Here, welcome_page
from ui.tokens import Pass


class StartCall(Call):
    """Begin an episode of free play; what is None is drawn."""

    language: str = Field(default="en", max_length=16)
    setting: Literal["instruction", "multiple"]
    kind: Literal["uninformative", "informative", "wug"]
    format: Format | None = None
    feature: Feature | None = None


class AmbiBenchActions(StudyActions):
    """The calls, on live sessions."""

    room = BENCHMARK
    seat = PARTICIPANT
    link = LINK
    sessions: AmbiBenchSessions

    def __init__(self, sessions: AmbiBenchSessions) -> None:
        super().__init__(sessions)

    async def home(self, frame: Frame) -> str:
        """Return the entry."""
        return entry_page(frame, self.studies())

    async def start(self, call: Mapping[str, Any]) -> Pass:
        """See `ui.rooms.RoomActions.start`."""
        asked = StartCall.model_validate(call)
        episode_id = await self.sessions.start(
            setting=setting_with(asked.setting, asked.kind),
            kind=asked.kind,
            format=asked.format,
            feature=asked.feature,
            language=asked.language,
        )
        return Pass(episode_id, self.seat, room=self.room)

    def welcome_page(self, frame: Frame, card: StudyCard) -> str:
        """Return a study's welcome page."""
        return welcome_page("ambibench/welcome", frame, LINK, card)

    def steps(self, view: Any) -> Mapping[Any, str]:
        """Return the step of a study that each stage belongs to."""
        return STEPS

    def session_page(self, frame: Frame, here: Here) -> str:
        """Return the page of consent, instructions, a trial or the comment."""
        return trial_page(frame, here)

    def end_page(self, frame: Frame, here: Here, replay: Any) -> str:
        """Return the page of thanks, with the result where it may be shown."""
        return end_page(frame, here, replay if isinstance(replay, Replay) else None)
