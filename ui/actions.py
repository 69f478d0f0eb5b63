"""What the players' pages can ask of the server: show a page, begin a dialogue, move, judge.

Every call comes from a browser, so nothing in it is believed: its form is checked here, its right by the
signed token. A call answers with a whole page made from `Sessions.view`, never from what the call said.
ClarQ-LLM's calls are here; every other benchmark's are in a room of its own (`ui.rooms`).
"""

from __future__ import annotations

import logging
import random
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import parse_qs

from pydantic import Field, ValidationError

from simulator.clarq.graph import PROVIDER
from simulator.clarq.sessions import ClarqSessions
from simulator.clarq.views import SeatView
from simulator.errors import AskbackError, InputError
from simulator.runner.lobby import PERSON
from ui.calls import PLAY, Answer, PageCall, address
from ui.dialogue import SendCall, state_of, take
from ui.i18n import LANGUAGES, strings
from ui.problems import problem_text
from ui.render.frame import Frame, message_page
from ui.render.home import SEATS, home_page
from ui.render.opponents import opposite
from ui.render.play import Company, Invitation, Notice, play_page
from ui.render.result import result_page
from ui.rooms import STUDY, RoomActions, StudyRoom
from ui.study.actions import study_of
from ui.study.pages import message_page as study_message
from ui.tokens import CLARQ, Pass, Signer, TokenError

log = logging.getLogger(__name__)


class StartCall(PageCall):
    """Begin a dialogue."""

    seat: Literal["seeker", "provider"]
    dialogue_language: Literal["en", "zh"]
    task_id: str = Field(default="", max_length=200)
    opposite: str = Field(max_length=200)
    multi: bool = False


class JudgeCall(PageCall):
    """The provider's verdict on an ended dialogue."""

    render: str = Field(pattern=r"^[\w-]{8,64}$")
    success: bool


@dataclass(frozen=True)
class Actions:
    """The calls, on live objects.

    Attributes:
        research: path of the researchers' pages; None if they are not there.
        rooms: the benchmarks beside ClarQ-LLM, by the name that passes give them.
    """

    sessions: ClarqSessions
    signer: Signer
    research: str | None = None
    rooms: Mapping[str, RoomActions] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse two studies of one name: a link could not tell them apart.

        Raises:
            InputError: names them.
        """
        held: dict[str, str] = {}
        for name, room in self.rooms.items():
            for card in room.studies() if isinstance(room, StudyRoom) else ():
                if held.setdefault(card.id, name) != name:
                    raise InputError(
                        f"study {card.id!r}: both {held[card.id]} and {name} have one of that id"
                    )

    @property
    def paths(self) -> tuple[str, ...]:
        """The addresses of the players' pages."""
        return ("/", PLAY, STUDY, *(room.link.path for room in self.rooms.values()))

    async def page(self, call: Mapping[str, Any]) -> Answer:
        """Return the page at the call's path: the dialogue that its token belongs to, or home."""
        asked = PageCall.model_validate(call)
        entry = next((room for room in self.rooms.values() if room.link.path == asked.path), None)
        try:
            if asked.path == PLAY:
                return await self._play(asked)
            if asked.path == STUDY:
                return {"html": self._welcome(asked)}
            if entry is not None:
                return {"html": await entry.home(self._frame(asked, active=entry.link.name))}
            return self._home(asked)
        except Exception:  # the boundary: whatever went wrong, the person sees a page that says so
            log.exception("a page could not be made: %s", asked.path)
            return {"html": message_page(self._frame(asked), "failed")}

    def _home(self, asked: PageCall) -> Answer:
        frame = self._frame(asked, active="home")
        catalogs = {language: self.sessions.catalog(language) for language in LANGUAGES}
        opponents = {seat: self.sessions.opponents(seat) for seat in SEATS}
        return {"html": home_page(frame, catalogs, opponents)}

    async def start(self, call: Mapping[str, Any]) -> Answer:
        """Begin an episode; answers with the address of its page, or with the problem in words.

        ``room`` names the benchmark; without it, it is a dialogue of ClarQ-LLM.
        """
        try:
            name = str(call.get("room", CLARQ))
            seat = await (self._start(call) if name == CLARQ else self._room(name).start(call))
        except (AskbackError, ValidationError) as error:
            log.warning("an episode could not be started: %s", error)
            return {"problem": problem_text(strings(str(call.get("language", ""))), error)}
        return {"go": address(self.signer.sign(seat))}

    async def _start(self, call: Mapping[str, Any]) -> Pass:
        asked = StartCall.model_validate(call)
        known = [entry.task_id for entry in self.sessions.catalog(asked.dialogue_language)]
        if not known:
            raise InputError("There are no tasks in this language.", code="no_tasks")
        # Which task a person is surprised with is nothing that a run has to reproduce.
        task_id = asked.task_id or random.SystemRandom().choice(known)
        episode_id = await self.sessions.start(
            task_id=task_id,
            language=asked.dialogue_language,
            seats={seat: PERSON if seat == asked.seat else asked.opposite for seat in SEATS},
            options={"multi": True} if asked.multi else {},
        )
        company = asked.opposite == PERSON
        return Pass(episode_id, asked.seat, person_opposite=company, host=company)

    # Studies

    def _welcome(self, asked: PageCall) -> str:
        study_id = study_of(asked.query)
        room = self._holder(study_id)
        frame = self._frame(asked)
        return study_message(frame, "unknown") if room is None else room.welcome(frame, study_id)

    async def enter_study(self, call: Mapping[str, Any]) -> Answer:
        """Ask for a place in a study; answers as `start` does, or with a page that says why there is none."""
        asked = PageCall.model_validate(call)
        study_id = study_of(asked.query)
        room = self._holder(study_id)
        if room is None:
            return {"html": study_message(self._frame(asked), "unknown")}
        try:
            entered = await room.enter(self._frame(asked), study_id, call)
        except (AskbackError, ValidationError) as error:
            log.warning("a study could not be entered: %s", error)
            return {"problem": problem_text(strings(str(call.get("language", ""))), error)}
        return self._entered(entered)

    async def next_set(self, call: Mapping[str, Any]) -> Answer:
        """Ask for another set of the study that the page belongs to; answers as `enter_study` does."""
        asked = PageCall.model_validate(call)
        seat = self._seat(asked)
        return self._entered(await self._study_room(seat).next_set(self._frame(asked), seat))

    async def withdraw(self, call: Mapping[str, Any]) -> Answer:
        """Erase a participant's sets of a study; answers with a page that says so."""
        asked = PageCall.model_validate(call)
        seat = self._seat(asked)
        return {"html": await self._study_room(seat).withdraw(self._frame(asked), seat)}

    def _entered(self, entered: Pass | str) -> Answer:
        return {"html": entered} if isinstance(entered, str) else {"go": address(self.signer.sign(entered))}

    def _holder(self, study_id: str) -> StudyRoom | None:
        """Return the room that holds a study."""
        held = (room for room in self.rooms.values() if isinstance(room, StudyRoom))
        return next((room for room in held if room.study(study_id) is not None), None)

    def _study_room(self, seat: Pass) -> StudyRoom:
        room = self.rooms.get(seat.room)
        if not isinstance(room, StudyRoom):
            raise TokenError("there is no study here")
        return room

    # Episodes

    async def _play(self, asked: PageCall) -> Answer:
        try:
            seat = self._seat(asked)
        except TokenError:
            return {"html": message_page(self._frame(asked), "bad_link")}
        if seat.room != CLARQ:
            return {"html": await self._room(seat.room).page(self._frame(asked), seat, asked)}
        try:
            view = await self.sessions.view(seat.episode_id, seat.seat)
        except LookupError:
            return {"html": message_page(self._frame(asked), "gone")}
        return {"html": await self._shown(self._frame(asked), seat, view)}

    async def send(self, call: Mapping[str, Any]) -> Answer:
        """Take a turn; ``accepted`` tells whether it counts, so that the draft may be dropped."""
        asked = PageCall.model_validate(call)
        frame = self._frame(asked)
        try:
            seat = self._seat(asked)
        except TokenError:
            return {"accepted": False, "html": message_page(frame, "bad_link")}
        if seat.room != CLARQ:
            return await self._room(seat.room).send(frame, seat, call)
        move, provider = SendCall.model_validate(call), seat.seat == PROVIDER
        view, notice = await take(self.sessions, frame.texts, seat, move, provider=provider)
        return {"accepted": notice is None, "html": await self._shown(frame, seat, view, notice)}

    async def judge(self, call: Mapping[str, Any]) -> Answer:
        """Note the provider's verdict."""
        asked = JudgeCall.model_validate(call)
        seat = self._seat(asked)
        if seat.seat != PROVIDER or seat.room != CLARQ:
            raise TokenError("only the provider judges the seeker")
        await self.sessions.judge(seat.episode_id, seat.seat, asked.success, f"{asked.render}.judge")
        return {"accepted": True}

    async def state(self, token: str) -> Answer:
        """Return where a dialogue stands, for a page that waits.

        Raises:
            TokenError: if the token is not ours.
        """
        seat = self.signer.read(token)
        if seat.room != CLARQ:
            return await self._room(seat.room).state(seat)
        return state_of(await self.sessions.view(seat.episode_id, seat.seat))

    def _seat(self, asked: PageCall) -> Pass:
        return self.signer.read(parse_qs(asked.query).get("t", [""])[0])

    def _frame(self, asked: PageCall, active: str = "") -> Frame:
        texts, rooms = strings(asked.language), tuple(room.link for room in self.rooms.values())
        return Frame(texts, asked.path, asked.query, self.research, active, rooms)

    def _room(self, name: str) -> RoomActions:
        if name not in self.rooms:
            raise InputError(f"{name} is not served here.", code="not_served", room=name)
        return self.rooms[name]

    async def _shown(self, frame: Frame, seat: Pass, view: SeatView, notice: Notice | None = None) -> str:
        render_id = secrets.token_urlsafe(12)
        if view.ended:
            replay = await self.sessions.replay(seat.episode_id, seat.seat)
            return result_page(frame, view, replay, render_id=render_id)
        table = Company(seat.person_opposite, self._invitation(seat, view) if seat.host else None)
        return play_page(frame, view, table, render_id=render_id, notice=notice)

    def _invitation(self, seat: Pass, view: SeatView) -> Invitation:
        other = opposite(SEATS, seat.seat)
        link = address(self.signer.sign(Pass(seat.episode_id, other, person_opposite=True)))
        # The provider's first line is a fixed greeting: it does not show that anybody has come.
        silent = sum(line.seat == other for line in view.lines) <= (1 if other == PROVIDER else 0)
        return Invitation(link, fresh=silent)
