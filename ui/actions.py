"""What the players' pages can ask of the server: show a page, begin a dialogue, move, judge.

Every call comes from a browser, so nothing in it is believed: its form is checked here, its right by the
signed token. A call answers with a whole page made from `Sessions.view`, never from what the call said.
"""

from __future__ import annotations

import logging
import random
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import parse_qs, urlencode

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from simulator.clarq.views import SeatView
from simulator.errors import AskbackError, ConflictError, InputError, SeatError
from simulator.seats import Reply
from ui.ambibench.actions import AmbiBenchActions
from ui.ambibench.ports import HOME as AMBIBENCH
from ui.ambibench.ports import ROOM as AMBIBENCH_ROOM
from ui.ambibench.ports import STUDY
from ui.handmethat.actions import HouseholdActions, silent
from ui.handmethat.ports import HOME as HOUSEHOLD
from ui.handmethat.ports import ROOM
from ui.handmethat.ports import opposite as across
from ui.i18n import LANGUAGES, strings
from ui.ports import PERSON, PROVIDER, SEATS, Sessions, opposite
from ui.render.frame import Frame, message_page
from ui.render.home import home_page
from ui.render.play import Company, Invitation, Notice, play_page
from ui.render.result import result_page
from ui.tokens import CLARQ, Pass, Signer, TokenError

log = logging.getLogger(__name__)

Answer = dict[str, Any]
PLAY = "/play"


class _Call(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    language: str = Field(default="en", max_length=16)
    path: str = Field(default="/", max_length=200)
    query: str = Field(default="", max_length=2000)
    participant: str = Field(default="", max_length=40)


class StartCall(_Call):
    """Begin a dialogue."""

    seat: Literal["seeker", "provider"]
    dialogue_language: Literal["en", "zh"]
    task_id: str = Field(default="", max_length=200)
    opposite: str = Field(max_length=200)
    multi: bool = False


class SendCall(_Call):
    """A person's turn.

    Attributes:
        render: id of the page render the turn was written on; with `number` the idempotency key.
        number: number that the turn was to have when the page was rendered.
    """

    render: str = Field(pattern=r"^[\w-]{8,64}$")
    number: int = Field(ge=0, le=10_000)
    text: str = Field(default="", max_length=4000)
    give: tuple[str, ...] = Field(default=(), max_length=50)
    before: str = Field(default="", max_length=1000)
    after: str = Field(default="", max_length=1000)
    seconds: float | None = Field(default=None, ge=0, le=1e7)


class JudgeCall(_Call):
    """The provider's verdict on an ended dialogue."""

    render: str = Field(pattern=r"^[\w-]{8,64}$")
    success: bool


@dataclass(frozen=True)
class Actions:
    """The calls, on live objects.

    Attributes:
        research: path of the researchers' pages; None if they are not there.
        household: the calls of HandMeThat; None if it is not served.
        ambibench: the calls of AmbiBench; None if it is not served.
    """

    sessions: Sessions
    signer: Signer
    research: str | None = None
    household: HouseholdActions | None = None
    ambibench: AmbiBenchActions | None = None

    async def page(self, call: Mapping[str, Any]) -> Answer:
        """The page at the call's path: the dialogue that its token belongs to, or home."""
        asked = _Call.model_validate(call)
        try:
            if asked.path == PLAY:
                return await self._play(asked)
            if asked.path == HOUSEHOLD and self.household is not None:
                return {"html": await self.household.home(self._frame(asked, active="household"))}
            if asked.path == AMBIBENCH and self.ambibench is not None:
                return {"html": self.ambibench.home(self._frame(asked, active="ambibench"))}
            if asked.path == STUDY and self.ambibench is not None:
                return {"html": self.ambibench.welcome(self._frame(asked))}
            return self._home(asked)
        except Exception:  # the boundary: whatever went wrong, the person sees a page that says so
            log.exception("a page could not be made: %s", asked.path)
            return {"html": message_page(self._frame(asked), "failed")}

    def _home(self, asked: _Call) -> Answer:
        frame = self._frame(asked, active="home")
        catalogs = {language: self.sessions.catalog(language) for language in LANGUAGES}
        opponents = {seat: self.sessions.opponents(seat) for seat in SEATS}
        return {"html": home_page(frame, catalogs, opponents)}

    async def start(self, call: Mapping[str, Any]) -> Answer:
        """Begin a dialogue; answers with the address of its page, or with the problem in words."""
        try:
            asked = StartCall.model_validate(call)
            episode_id = await self._start(asked)
        except (AskbackError, ValidationError) as error:
            log.warning("a dialogue could not be started: %s", error)
            return {"problem": _words(error, call)}
        company = asked.opposite == PERSON
        seat = Pass(episode_id, asked.seat, person_opposite=company, host=company)
        return {"go": _address(self.signer.sign(seat))}

    async def start_household(self, call: Mapping[str, Any]) -> Answer:
        """Begin an episode of HandMeThat; answers as `start` does."""
        try:
            seat = await self._household.start(call)
        except (AskbackError, ValidationError) as error:
            log.warning("an episode could not be started: %s", error)
            return {"problem": _words(error, call)}
        return {"go": _address(self.signer.sign(seat))}

    async def start_ambibench(self, call: Mapping[str, Any]) -> Answer:
        """Begin an episode of AmbiBench; answers as `start` does."""
        try:
            seat = await self._ambibench.start(call)
        except (AskbackError, ValidationError) as error:
            log.warning("an episode could not be started: %s", error)
            return {"problem": _words(error, call)}
        return {"go": _address(self.signer.sign(seat))}

    async def enter_study(self, call: Mapping[str, Any]) -> Answer:
        """Ask for a place in a study; answers as `start` does, or with a page that says why there is none."""
        try:
            entered = await self._ambibench.enter(self._frame(_Call.model_validate(call)), call)
        except (AskbackError, ValidationError) as error:
            log.warning("a study could not be entered: %s", error)
            return {"problem": _words(error, call)}
        return {"html": entered} if isinstance(entered, str) else {"go": _address(self.signer.sign(entered))}

    async def withdraw(self, call: Mapping[str, Any]) -> Answer:
        """Erase a study's session; answers with a page that says so."""
        asked = _Call.model_validate(call)
        seat = self._seat(asked)
        if seat.room != AMBIBENCH_ROOM:
            raise TokenError("there is no study to withdraw from")
        return {"html": await self._ambibench.withdraw(self._frame(asked), seat)}

    async def progress(self, call: Mapping[str, Any]) -> Answer:
        """Where a participant of a study stands."""
        return await self._household.progress(call)

    async def _start(self, asked: StartCall) -> str:
        known = [entry.task_id for entry in self.sessions.catalog(asked.dialogue_language)]
        if not known:
            raise InputError(strings(asked.language)("home.no_tasks"))
        # Which task a person is surprised with is nothing that a run has to reproduce.
        task_id = asked.task_id or random.SystemRandom().choice(known)
        return await self.sessions.start(
            task_id=task_id,
            language=asked.dialogue_language,
            seats={seat: PERSON if seat == asked.seat else asked.opposite for seat in SEATS},
            options={"multi": True} if asked.multi else {},
        )

    async def _play(self, asked: _Call) -> Answer:
        try:
            seat = self._seat(asked)
        except TokenError:
            return {"html": message_page(self._frame(asked), "bad_link")}
        if seat.room == AMBIBENCH_ROOM:
            return {"html": await self._ambibench.page(self._frame(asked), seat)}
        try:
            view = await self._table(seat).view(seat.episode_id, seat.seat)
        except LookupError:
            return {"html": message_page(self._frame(asked), "gone")}
        return await self._shown(asked, seat, view)

    async def send(self, call: Mapping[str, Any]) -> Answer:
        """Take a turn; ``accepted`` tells whether it counts, so that the draft may be dropped."""
        asked = SendCall.model_validate(call)
        try:
            seat = self._seat(asked)
        except TokenError:
            return {"accepted": False, "html": message_page(self._frame(asked), "bad_link")}
        if seat.room == AMBIBENCH_ROOM:
            return await self._ambibench.send(self._frame(asked), seat, call)
        texts = strings(asked.language)
        notice = None
        try:
            view = await self._table(seat).submit(
                seat.episode_id, seat.seat, _reply(asked, seat), number=asked.number
            )
        except ConflictError:
            notice = Notice(texts("play.conflict"))
        except SeatError as error:
            said = texts.get(f"play.refused_{error.code}", str(error), node=error.node)
            notice = Notice(texts("play.refused", message=said), "problem")
        except InputError as error:
            notice = Notice(texts("play.refused", message=str(error)), "problem")
        if notice is not None:
            view = await self._table(seat).view(seat.episode_id, seat.seat)
        return {"accepted": notice is None} | await self._shown(asked, seat, view, notice)

    async def judge(self, call: Mapping[str, Any]) -> Answer:
        """Note the provider's verdict."""
        asked = JudgeCall.model_validate(call)
        seat = self._seat(asked)
        if seat.seat != PROVIDER or seat.room != CLARQ:
            raise TokenError("only the provider judges the seeker")
        await self.sessions.judge(seat.episode_id, seat.seat, asked.success, f"{asked.render}.judge")
        return {"accepted": True}

    async def state(self, token: str) -> Answer:
        """Where a dialogue stands, for a page that waits.

        Raises:
            TokenError: if the token is not ours.
        """
        seat = self.signer.read(token)
        if seat.room == AMBIBENCH_ROOM:
            return await self._ambibench.state(seat)
        view = await self._table(seat).view(seat.episode_id, seat.seat)
        return {
            "number": view.number,
            "my_turn": view.my_turn,
            "ended": view.ended,
            "trouble": view.warning is not None,
        }

    def _seat(self, asked: _Call) -> Pass:
        return self.signer.read(parse_qs(asked.query).get("t", [""])[0])

    def _frame(self, asked: _Call, active: str = "") -> Frame:
        household = HOUSEHOLD if self.household is not None else None
        ambibench = AMBIBENCH if self.ambibench is not None else None
        texts = strings(asked.language)
        return Frame(texts, asked.path, asked.query, self.research, active, household, ambibench)

    @property
    def _household(self) -> HouseholdActions:
        if self.household is None:
            raise InputError("HandMeThat is not served here.")
        return self.household

    @property
    def _ambibench(self) -> AmbiBenchActions:
        if self.ambibench is None:
            raise InputError("AmbiBench is not served here.")
        return self.ambibench

    def _table(self, seat: Pass) -> Any:
        """The sessions that the seat's episode belongs to."""
        return self._household.sessions if seat.room == ROOM else self.sessions

    async def _shown(self, asked: _Call, seat: Pass, view: Any, notice: Notice | None = None) -> Answer:
        frame = self._frame(asked)
        render_id = secrets.token_urlsafe(12)
        if seat.room == ROOM:
            company = Company(seat.person_opposite, self._house_invitation(seat, view) if seat.host else None)
            html = await self._household.shown(
                frame,
                seat,
                view,
                company,
                render_id=render_id,
                notice=notice,
                participant=asked.participant,
            )
            return {"html": html}
        if view.ended:
            replay = await self.sessions.replay(seat.episode_id, seat.seat)
            return {"html": result_page(frame, view, replay, render_id=render_id)}
        table = Company(seat.person_opposite, self._invitation(seat, view) if seat.host else None)
        return {"html": play_page(frame, view, table, render_id=render_id, notice=notice)}

    def _house_invitation(self, seat: Pass, view: Any) -> Invitation:
        guest = Pass(seat.episode_id, across(seat.seat), person_opposite=True, room=ROOM)
        return Invitation(_address(self.signer.sign(guest)), fresh=silent(seat, view))

    def _invitation(self, seat: Pass, view: SeatView) -> Invitation:
        other = opposite(seat.seat)
        link = _address(self.signer.sign(Pass(seat.episode_id, other, person_opposite=True)))
        # The provider's first line is a fixed greeting: it does not show that anybody has come.
        silent = sum(line.seat == other for line in view.lines) <= (1 if other == PROVIDER else 0)
        return Invitation(link, fresh=silent)


def _reply(asked: SendCall, seat: Pass) -> Reply:
    move = None
    if seat.seat == PROVIDER:
        move = {"give": list(asked.give), "before": asked.before.strip(), "after": asked.after.strip()}
    return Reply(
        text="" if asked.give else asked.text.strip(),
        move=move,
        key=f"{asked.number}.{asked.render}",
        seconds=asked.seconds,
    )


def _address(token: str) -> str:
    return f"{PLAY}?{urlencode({'t': token})}"


def _words(error: Exception, call: Mapping[str, Any]) -> str:
    if isinstance(error, ValidationError):
        return strings(str(call.get("language", "")))("app.failed")
    return str(error)
