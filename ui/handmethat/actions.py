"""What HandMeThat's pages can ask of the server: the entry, beginning an episode, its page.

`ui.actions.Actions` checks who asks, and leaves to this what is HandMeThat's own.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from simulator.errors import AskbackError, InputError
from simulator.handmethat.graph import ROBOT
from simulator.handmethat.rows import BENCHMARK
from simulator.handmethat.sessions import HandMeThatSessions
from simulator.handmethat.views import HumanView, Mode, RobotView
from simulator.runner.lobby import PERSON
from ui.calls import Answer, PageCall, address
from ui.dialogue import SendCall, state_of, take
from ui.handmethat.entry import LINK, SEATS, entry_page
from ui.handmethat.play import play_page
from ui.handmethat.result import Study, result_page
from ui.render.frame import Frame, RoomLink, message_page
from ui.render.opponents import opposite
from ui.render.play import Company, Invitation, Notice
from ui.rooms import Call
from ui.tokens import Pass, Signer

_PARTICIPANT = r"^[A-Za-z0-9._-]{3,40}$"


class StartCall(BaseModel):
    """Begin an episode; with ``protocol`` ``paper`` the participant's next one.

    Attributes:
        level: 1 to 4; None for any.
        participant: the code of the paper's study; empty in free play.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    language: str = Field(default="en", max_length=16)
    seat: Literal["robot", "human"]
    episode_language: Literal["en", "zh"]
    mode: Mode
    protocol: Literal["free", "paper"] = "free"
    level: Literal[1, 2, 3, 4] | None = None
    opposite: str = Field(default="", max_length=200)
    participant: str = Field(default="", max_length=40)


class ProgressCall(BaseModel):
    """Ask how far a participant of the paper's study is."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    mode: Mode
    participant: str = Field(pattern=_PARTICIPANT)


@dataclass(frozen=True)
class HouseholdActions:
    """The calls, on live sessions (`ui.rooms.RoomActions`).

    Attributes:
        signer: makes the link for a second person.
    """

    room: ClassVar[str] = BENCHMARK
    link: ClassVar[RoomLink] = LINK

    sessions: HandMeThatSessions
    signer: Signer

    @property
    def calls(self) -> Mapping[str, Call]:
        """What only these pages ask."""
        return {"progress": self.progress}

    @cached_property
    def _levels(self) -> tuple[int, ...]:
        try:
            entries = self.sessions.catalog("en")
        except AskbackError:  # no data: the page says so
            return ()
        return tuple(sorted({entry.level for entry in entries if entry.level is not None}))

    async def home(self, frame: Frame) -> str:
        """Return the entry."""
        # Reading the episodes for the first time takes seconds; meanwhile others are served.
        levels = await asyncio.to_thread(lambda: self._levels)
        return entry_page(frame, levels, {seat: self.sessions.opponents(seat) for seat in SEATS})

    async def start(self, call: Mapping[str, Any]) -> Pass:
        """Begin an episode; the pass to its seat.

        Raises:
            AskbackError: if it cannot begin.
            ValidationError: if the call is not of the right form.
        """
        asked = StartCall.model_validate(call)
        if asked.protocol == "paper":
            return await self._study(asked)
        company = asked.opposite == PERSON
        episode_id = await self.sessions.start(
            task_id=None,
            language=asked.episode_language,
            seats={seat: PERSON if seat == asked.seat else asked.opposite for seat in SEATS},
            options={"mode": asked.mode},
            level=asked.level,
        )
        return Pass(episode_id, asked.seat, person_opposite=company, host=company, room=self.room)

    async def _study(self, asked: StartCall) -> Pass:
        checked = ProgressCall(mode=asked.mode, participant=asked.participant)
        episode_id = await self.sessions.start_study(
            checked.participant, language=asked.episode_language, mode=asked.mode
        )
        if episode_id is None:
            raise InputError("Every task of the study has been played.", code="study_played")
        return Pass(episode_id, ROBOT, room=self.room)

    async def progress(self, call: Mapping[str, Any]) -> dict[str, Any]:
        """Return where a participant stands: ``place`` and ``total``, or ``done``."""
        asked = ProgressCall.model_validate(call)
        step = await asyncio.to_thread(self.sessions.next_task, asked.participant, mode=asked.mode)
        if step is None:
            return {"done": True}
        return {"done": False, "place": step.place, "total": step.total}

    async def page(self, frame: Frame, seat: Pass, asked: PageCall) -> str:
        """Return the page of a seat: the house or the result."""
        try:
            view = await self.sessions.view(seat.episode_id, seat.seat)
        except LookupError:
            return message_page(frame, "gone")
        return await self._shown(frame, seat, view, asked.participant)

    async def send(self, frame: Frame, seat: Pass, call: Mapping[str, Any]) -> Answer:
        """Take a turn; ``accepted`` tells whether it counts, so that the draft may be dropped."""
        asked = SendCall.model_validate(call)
        view, notice = await take(self.sessions, frame.texts, seat, asked)
        html = await self._shown(frame, seat, view, asked.participant, notice)
        return {"accepted": notice is None, "html": html}

    async def state(self, seat: Pass) -> Answer:
        """Return where an episode stands, for a page that waits."""
        return state_of(await self.sessions.view(seat.episode_id, seat.seat))

    async def _shown(
        self,
        frame: Frame,
        seat: Pass,
        view: RobotView | HumanView,
        participant: str,
        notice: Notice | None = None,
    ) -> str:
        render_id = secrets.token_urlsafe(12)
        if not view.ended:
            company = Company(seat.person_opposite, self._invitation(seat, view) if seat.host else None)
            return play_page(frame, view, company, render_id=render_id, notice=notice)
        replay = await self.sessions.replay(seat.episode_id, seat.seat)
        study = self._after(view, participant)
        return result_page(frame, view, replay, render_id=render_id, study=study)

    def _invitation(self, seat: Pass, view: RobotView | HumanView) -> Invitation:
        guest = Pass(seat.episode_id, opposite(SEATS, seat.seat), person_opposite=True, room=self.room)
        return Invitation(address(self.signer.sign(guest)), fresh=silent(seat, view))

    def _after(self, view: RobotView | HumanView, participant: str) -> Study | None:
        if not isinstance(view, RobotView) or view.protocol != "paper":
            return None
        try:
            asked = ProgressCall(mode=view.mode, participant=participant)
        except ValueError:  # another browser than the participant's
            return Study(None, view.language, view.mode, known=False)
        step = self.sessions.next_task(asked.participant, mode=view.mode)
        return Study(step, view.language, view.mode)


def silent(seat: Pass, view: RobotView | HumanView) -> bool:
    """Whether nobody has moved opposite yet: the instruction is voiced for the human and shows nothing."""
    other = opposite(SEATS, seat.seat)
    spoken = (line for line in view.lines if line.seat == other and line.kind != "utterance")
    return next(spoken, None) is None
