"""What the pages of a benchmark with studies can ask of the server; what is its own, a subclass adds.

`ui.actions.Actions` checks who asks. Every page is made from what the sessions show, never from what the
browser said.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, ClassVar, Final
from urllib.parse import parse_qsl

from pydantic import Field

from simulator.errors import ConflictError, InputError, SeatError
from simulator.seats import Reply
from simulator.studies.cards import StudyCard
from simulator.studies.graph import DEBRIEFING, REST
from simulator.studies.interventions import BY_RESEARCHER
from simulator.studies.pairing import AWAY, LEFT, NO_PARTNER, PARTNER_LEFT
from simulator.studies.pairs import LOST, Pairs
from simulator.studies.participation import WAITING_ROOM
from simulator.studies.sessions import StudySessions
from ui.calls import BROWSER_KEY, Answer, Call, PageCall
from ui.problems import problem_text
from ui.render.frame import Frame, RoomLink
from ui.render.frame import message_page as plain_message_page
from ui.render.play import Notice
from ui.rooms import Call as RoomCall
from ui.study.pages import (
    ASKED,
    Here,
    Sets,
    View,
    message_page,
    questions_page,
    session_page,
    spoken,
    waiting_page,
)
from ui.tokens import Pass, TokenError

_Id = Annotated[str, Field(max_length=40)]
_Typed = Annotated[str, Field(max_length=4000)]


class EnterCall(Call):
    """Ask for a place in a study.

    Attributes:
        query: of the welcome page; names the study, and whom a platform sent.
        participant_key: stands for the browser where no platform says who comes.
    """

    language: str = Field(default="en", max_length=16)
    query: str = Field(default="", max_length=2000)
    participant_key: str = Field(pattern=BROWSER_KEY)


class MoveCall(Call):
    """A participant's turn. A benchmark whose pages have forms adds their fields, and `form`.

    Attributes:
        render: drawn once per turn by the browser; with `number` the idempotency key.
        number: number that the turn was to have when the page was rendered.
        keys_used: whether it was sent without the mouse.
        answers: to a study's own questions, by their ids.
    """

    render: str = Field(pattern=r"^[\w-]{8,64}$")
    number: int = Field(ge=0, le=10_000)
    text: str = Field(default="", max_length=4000)
    seconds: float | None = Field(default=None, ge=0, le=1e7)
    shown_at: datetime | None = None
    keys_used: bool | None = None
    answers: dict[_Id, _Typed | list[_Typed]] = Field(default_factory=dict, max_length=100)

    def form(self) -> dict[str, Any]:
        """Return what was filled in, for `Reply.move`."""
        return {}

    @classmethod
    def fields_of(cls, reply: Reply, knows: Any) -> dict[str, Any]:
        """Return what a page would send for a built-in player's reply; the reverse of `reply`.

        Args:
            reply: what it says.
            knows: what it was shown (`simulator.seats.View.task`); None for words that nobody was asked for.
        """
        return {"text": reply.text}

    def reply(self) -> Reply:
        """Return the turn as the sessions take it."""
        move = {**self.form(), "keys_used": self.keys_used}
        if self.answers:
            move["answers"] = self.answers
        if self.shown_at is not None:
            move["shown_at"] = self.shown_at.isoformat()
        return Reply(text=self.text, move=move, key=f"{self.number}.{self.render}", seconds=self.seconds)


class StudyActions(ABC):
    """The calls of a benchmark with studies, on live sessions (`ui.rooms.StudyRoom`).

    Attributes:
        room: the benchmark, as passes and cards name it.
        seat: the seat of whoever comes, unless `seat_of` says otherwise.
        link: how the other pages lead there; its name begins the names of the benchmark's texts.
        move_call: the form of a turn.
        moved: names the text that says that another window has gone on.
    """

    room: str
    seat: str
    link: RoomLink
    move_call: ClassVar[type[MoveCall]] = MoveCall
    moved: ClassVar[str] = "study.session.moved"

    def __init__(self, sessions: StudySessions) -> None:
        self.sessions = sessions
        self._known: dict[str, StudyCard] = {}

    # What a benchmark says

    @property
    def calls(self) -> Mapping[str, RoomCall]:
        """What only these pages ask, by name."""
        return {}

    def seat_of(self, card: StudyCard) -> str:
        """Return the seat of a study's participants."""
        return self.seat

    @abstractmethod
    async def home(self, frame: Frame) -> str:
        """Return the entry."""

    @abstractmethod
    async def start(self, call: Mapping[str, Any]) -> Pass:
        """See `ui.rooms.RoomActions.start`."""

    @abstractmethod
    def welcome_page(self, frame: Frame, card: StudyCard) -> str:
        """Return a study's welcome page."""

    @abstractmethod
    def steps(self, view: Any) -> Mapping[Any, str]:
        """Return the step of a study that each stage belongs to, in order."""

    @abstractmethod
    def session_page(self, frame: Frame, here: Here) -> str:
        """Return the page of an episode that is going on."""

    @abstractmethod
    def end_page(self, frame: Frame, here: Here, replay: Any) -> str:
        """Return the page of an episode that is through; `replay` is None if it may not be shown."""

    # What the app calls

    def studies(self) -> Sequence[StudyCard]:
        """Return the studies that there are."""
        cards = self.sessions.studies()
        # Of what the pages of an episode show nothing changes, and counting places takes time.
        self._known.update((card.id, card) for card in cards)
        return cards

    def study(self, study_id: str) -> StudyCard | None:
        """Return a study, or the preview of one; None if it is not held here."""
        card = self.sessions.study(study_id)
        if card is not None:
            self._known[card.id] = card
        return card

    def welcome(self, frame: Frame, study_id: str) -> str:
        """Return the welcome page of a study. Nothing begins there."""
        card = self.study(study_id)
        if card is None:
            return self._message(frame, "unknown")
        return self.welcome_page(spoken(frame, card), card)

    async def enter(self, frame: Frame, study_id: str, call: Mapping[str, Any]) -> Pass | str:
        """See `ui.rooms.StudyRoom.enter`."""
        asked = EnterCall.model_validate(call)
        card = self.study(study_id)
        if card is None:
            return self._message(frame, "unknown")
        frame = spoken(frame, card)
        entry = await self.sessions.enter(
            card.id,
            identity=dict(parse_qsl(asked.query)),
            participant_key=asked.participant_key,
            language=frame.texts.language,
        )
        if entry.episode_id is None:
            return self._message(frame, entry.refusal or "closed", entry.completion)
        return Pass(entry.episode_id, entry.seat or self.seat_of(card), room=self.room, study=card.id)

    async def next_set(self, frame: Frame, seat: Pass) -> Pass | str:
        """See `ui.rooms.StudyRoom.next_set`."""
        try:
            entry = await self.sessions.next_set(seat.episode_id)
        except LookupError:
            return self._gone(frame, seat)
        if entry.episode_id is None:
            frame = spoken(frame, self._seen(seat.study))
            return self._message(frame, entry.refusal or "closed", entry.completion)
        return Pass(entry.episode_id, entry.seat or seat.seat, room=self.room, study=seat.study)

    async def judge(self, seat: Pass, call: Mapping[str, Any]) -> Answer:
        """See `ui.rooms.StudyRoom.judge`."""
        raise TokenError("nobody judges here")

    def holders(self, episode_id: str) -> Mapping[str, str]:
        """See `ui.rooms.RoomActions.holders`."""
        return self.sessions.holders(episode_id)

    async def take_seat(self, seat: Pass, holder: str) -> bool:
        """See `ui.rooms.RoomActions.take_seat`."""
        return await self.sessions.take_seat(seat.episode_id, seat.seat, holder)

    async def page(self, frame: Frame, seat: Pass, asked: PageCall) -> str:
        """Return the page of an episode as it stands."""
        try:
            view = await self.sessions.view(seat.episode_id, seat.seat)
        except LookupError:
            return self._gone(frame, seat)
        return await self._shown(frame, seat, view)

    async def send(self, frame: Frame, seat: Pass, call: Mapping[str, Any]) -> Answer:
        """Take a turn; ``accepted`` tells whether it counts, so that what was typed may be dropped."""
        asked = self.move_call.model_validate(call)
        notice = None
        try:
            try:
                view = await self.sessions.submit(
                    seat.episode_id, seat.seat, asked.reply(), number=asked.number
                )
            except ConflictError:
                notice = Notice(frame.texts(self.moved))
            except (SeatError, InputError) as error:
                notice = self.refused(frame, error)
            if notice is not None:
                view = await self.sessions.view(seat.episode_id, seat.seat)
        except LookupError:
            return {"accepted": False, "html": self._gone(frame, seat)}
        if notice is not None and broken_off(view):
            # The place had been given to somebody else.
            return {"accepted": False, "html": self._message(frame, "full")}
        return {"accepted": notice is None, "html": await self._shown(frame, seat, view, notice)}

    async def check(self, frame: Frame, seat: Pass, call: Mapping[str, Any]) -> Answer:
        """See `ui.rooms.RoomActions.check`; of pages without forms nothing is to be said."""
        return {}

    async def withdraw(self, frame: Frame, seat: Pass) -> str:
        """See `ui.rooms.StudyRoom.withdraw`."""
        if not seat.study:
            raise InputError("Only a study can be withdrawn from.")
        try:
            await self.sessions.withdraw(seat.episode_id)
        except LookupError:
            return self._gone(frame, seat)
        return self._left(frame, seat, "withdrawn")

    async def leave(self, frame: Frame, seat: Pass) -> str:
        """See `ui.rooms.StudyRoom.leave`."""
        await self._pairs(seat).leave(seat.episode_id)
        return await self._stands(frame, seat)

    async def acknowledge(self, frame: Frame, seat: Pass, message: str) -> str:
        """See `ui.rooms.StudyRoom.acknowledge`."""
        await self.sessions.acknowledge(seat.episode_id, message)
        return await self._stands(frame, seat)

    async def wait_again(self, frame: Frame, seat: Pass) -> str:
        """See `ui.rooms.StudyRoom.wait_again`."""
        with suppress(ConflictError):  # it went on in another tab: the page says where it stands
            await self._pairs(seat).wait_again(seat.episode_id)
        return await self._stands(frame, seat)

    def _pairs(self, seat: Pass) -> Pairs:
        pairs = self.sessions.pairs(seat.episode_id)
        if pairs is None:
            raise InputError("Nobody is paired here.")
        return pairs

    async def _stands(self, frame: Frame, seat: Pass) -> str:
        return await self._shown(frame, seat, await self.sessions.view(seat.episode_id, seat.seat))

    async def state(self, seat: Pass) -> Answer:
        """Return where an episode stands, for a page that comes back into sight."""
        view = await self.sessions.view(seat.episode_id, seat.seat)
        ended = view.stage == "done"
        return {
            "number": view.number,
            "my_turn": not ended,
            "ended": ended,
            "trouble": view.warning is not None,
            "stage": view.stage,
        }

    # Pages

    async def _shown(self, frame: Frame, seat: Pass, view: Any, notice: Notice | None = None) -> str:
        card = self._seen(seat.study)
        frame = spoken(frame, card)
        if view.stage == "instructions_again":
            view, notice = replace(view, stage="instructions"), Notice(frame.texts("study.questions.again"))
        sets = self._sets(seat) if view.study else Sets()
        messages = self.sessions.messages(seat.episode_id) if view.study else ()
        here = Here(view=view, card=card, sets=sets, notice=notice, messages=messages, seat=seat)
        if view.stage in ASKED:
            return questions_page(frame, self.link, here, self.steps(view))
        if view.stage in (WAITING_ROOM, LOST):
            return waiting_page(
                frame, self.link, here, self.steps(view), self._pairs(seat).waiting(seat.episode_id)
            )
        if view.stage in (DEBRIEFING.kind, REST):
            return session_page(f"study/{view.stage}", frame, self.link, here, self.steps(view))
        if view.stage != "done":
            return self.session_page(frame, here)
        if broken_off(view) or (sets.completion is not None and not sets.completion.is_done):
            return self._left(frame, seat, self._why(seat, view, sets))
        return self.end_page(frame, here, await self._replay(seat))

    def _why(self, seat: Pass, view: View, sets: Sets) -> str:
        """Return the page for somebody whose episode was broken off, or who left afterwards."""
        if sets.completion is not None and sets.completion.outcome == "screened_out":
            return "screened_out"
        if view.ending is not None and view.ending.message == BY_RESEARCHER:
            return "ended"
        pairs = self.sessions.pairs(seat.episode_id)
        if pairs is not None and (reason := pairs.reason(seat.episode_id)):
            return PARTED[reason]
        cause = view.ending.cause if view.ending is not None else None
        return "broken" if broken_off(view) and cause != seat.seat else "declined"

    def _left(self, frame: Frame, seat: Pass, code: str) -> str:
        """Return a page for somebody who has left before the end, or afterwards."""
        try:
            return self._message(frame, code, self.sessions.completion(seat.episode_id))
        except LookupError:
            return self._message(frame, code)

    def _message(self, frame: Frame, code: str, completion: Any = None) -> str:
        return message_page(frame, code, home=self.link.path, completion=completion)

    def _gone(self, frame: Frame, seat: Pass) -> str:
        return self._message(frame, "gone") if seat.study else plain_message_page(frame, "gone")

    def _sets(self, seat: Pass) -> Sets:
        done, most = self.sessions.sets_done(seat.episode_id)
        return Sets(done=done, most=most, completion=self.sessions.completion(seat.episode_id))

    async def _replay(self, seat: Pass) -> Any:
        try:
            return await self.sessions.replay(seat.episode_id, seat.seat)
        except ConflictError:  # the study does not show it
            return None

    def refused(self, frame: Frame, error: SeatError | InputError) -> Notice:
        """Return why a turn does not count; a benchmark whose forms can be mended may say where."""
        code = getattr(error, "code", "")
        refusal = frame.texts.get(
            f"{self.link.name}.refused.{code}",
            problem_text(frame.texts, error),
            node=getattr(error, "node", ""),
        )
        return Notice(frame.texts("study.session.refused", message=refusal), "problem")

    def _seen(self, study_id: str) -> StudyCard | None:
        """Return a study's card, whose places may have been counted a while ago."""
        return (self._known.get(study_id) or self.study(study_id)) if study_id else None


PARTED: Final[Mapping[str, str]] = {
    LEFT: "left",
    AWAY: "away",
    NO_PARTNER: "unpaired",
    PARTNER_LEFT: "partner_left",
}
"""The page for somebody whose set ended before its task, by the reason."""


def study_of(query: str) -> str:
    """Return the id of the study that a query names; empty if it names none."""
    return dict(parse_qsl(query)).get("study", "")


def broken_off(view: View) -> bool:
    """Return True if a study's episode ended before it was through."""
    return view.study and view.ending is not None and view.ending.status == "aborted"
