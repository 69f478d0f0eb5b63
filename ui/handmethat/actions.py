"""Calls of HandMeThat's pages, beside those of all conversations (`ui.conversation`)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

from pydantic import Field

from simulator.errors import AskbackError
from simulator.handmethat.items import BENCHMARK
from simulator.handmethat.playing import HUMAN, ROBOT
from simulator.handmethat.sessions import HandMeThatSessions
from simulator.handmethat.views import HumanView, Mode, Replay, RobotView
from simulator.runner.lobby import PERSON
from ui.calls import Call
from ui.conversation import ConversationActions
from ui.handmethat.entry import LINK, entry_page
from ui.handmethat.play import play_parts
from ui.handmethat.result import result_parts
from ui.render.frame import Frame
from ui.study.pages import Here
from ui.tokens import Pass, Signer


class StartCall(Call):
    """Begin an episode of free play.

    Attributes:
        level: 1 to 4; None for any.
    """

    seat: Literal["robot", "human"]
    episode_language: Literal["en", "zh"]
    mode: Mode
    level: Literal[1, 2, 3, 4] | None = None
    opposite: str = Field(default="", max_length=200)


class HouseholdActions(ConversationActions):
    """The calls, on live sessions."""

    room = BENCHMARK
    seat = ROBOT
    seats = (ROBOT, HUMAN)
    link = LINK
    templates = "handmethat"

    sessions: HandMeThatSessions

    def __init__(self, sessions: HandMeThatSessions, signer: Signer) -> None:
        super().__init__(sessions, signer)

    @cached_property
    def _levels(self) -> tuple[int, ...]:
        try:
            entries = self.sessions.catalog("en")
        except AskbackError:  # no data: the page says so
            return ()
        return tuple(sorted({entry.level for entry in entries}))

    async def home(self, frame: Frame) -> str:
        """Return the entry."""
        # Reading the episodes for the first time takes seconds; meanwhile others are served.
        levels = await asyncio.to_thread(lambda: self._levels)
        opponents = {seat: self.sessions.opponents(seat) for seat in self.seats}
        return entry_page(frame, levels, opponents, self.studies())

    async def start(self, call: Mapping[str, Any]) -> Pass:
        """Begin an episode; the pass to its seat.

        Raises:
            AskbackError: if it cannot begin.
            ValidationError: if the call is not of the right form.
        """
        asked = StartCall.model_validate(call)
        company = asked.opposite == PERSON
        episode_id = await self.sessions.start(
            task_id=None,
            language=asked.episode_language,
            seats={seat: PERSON if seat == asked.seat else asked.opposite for seat in self.seats},
            options={"mode": asked.mode},
            level=asked.level,
        )
        return Pass(episode_id, asked.seat, person_opposite=company, host=company, room=self.room)

    def _page(self, name: str, frame: Frame, here: Here, **more: object) -> str:
        paper = here.card is not None and here.card.task == "paper"
        return super()._page(name, frame, here, task="paper" if paper else here.view.seat, **more)

    def play_parts(self, frame: Frame, view: RobotView | HumanView) -> Mapping[str, object]:
        """Return the house and what can be done in it, or the question that is due."""
        return play_parts(view)

    def end_parts(self, frame: Frame, view: RobotView | HumanView, replay: Replay) -> Mapping[str, object]:
        """Return scores and what was meant."""
        return result_parts(replay)
