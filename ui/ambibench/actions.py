"""What AmbiBench's pages can ask of the server: the entry, a study's welcome, an episode's page and moves.

`ui.actions.Actions` checks who asks, and leaves to this what is AmbiBench's own. Every page is made from
what the sessions show, never from what the browser said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, Field

from simulator.ambibench.features import Feature, Format
from simulator.ambibench.sessions import setting_with
from simulator.ambibench.views import ParticipantView, Replay
from simulator.errors import ConflictError, InputError, SeatError
from simulator.seats import Reply
from simulator.studies.cards import StudyCard
from ui.ambibench.entry import entry_page, message_page, welcome_page
from ui.ambibench.play import session_page
from ui.ambibench.ports import ROOM, SEAT, Sessions
from ui.ambibench.result import end_page
from ui.i18n import strings
from ui.render.frame import Frame
from ui.render.play import Notice
from ui.tokens import Pass

_KEY = r"^[A-Za-z0-9_-]{16,64}$"
_NO = "no"


class _Call(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class StartCall(_Call):
    """Begin an episode of free play; what is None is drawn."""

    language: str = Field(default="en", max_length=16)
    setting: Literal["instruction", "multiple"]
    kind: Literal["uninformative", "informative", "wug"]
    format: Format | None = None
    feature: Feature | None = None


class EnterCall(_Call):
    """Ask for a place in a study.

    Attributes:
        query: of the welcome page; names the study, and whom a platform sent.
        participant_key: stands for the browser where no platform says who comes.
    """

    language: str = Field(default="en", max_length=16)
    query: str = Field(default="", max_length=2000)
    participant_key: str = Field(pattern=_KEY)


class MoveCall(_Call):
    """A person's turn.

    Attributes:
        render: drawn once per turn by the browser; with `number` the idempotency key.
        number: number that the turn was to have when the page was rendered.
        keys_used: whether it was sent without the mouse.
    """

    render: str = Field(pattern=r"^[\w-]{8,64}$")
    number: int = Field(ge=0, le=10_000)
    text: str = Field(default="", max_length=4000)
    seconds: float | None = Field(default=None, ge=0, le=1e7)
    shown_at: datetime | None = None
    keys_used: bool | None = None


@dataclass(frozen=True)
class AmbiBenchActions:
    """The calls, on live sessions."""

    sessions: Sessions
    _known: dict[str, StudyCard] = field(default_factory=dict)

    def home(self, frame: Frame) -> str:
        """The entry."""
        return entry_page(frame, self.sessions.studies())

    def welcome(self, frame: Frame) -> str:
        """The welcome page of the study that the frame's query names. Nothing begins here."""
        card = self._card(study_of(frame.query))
        if card is None:
            return message_page(frame, "unknown")
        return welcome_page(spoken(frame, card), card)

    async def start(self, call: Mapping[str, Any]) -> Pass:
        """Begin an episode of free play; the pass to it.

        Raises:
            AskbackError: if it cannot begin.
            ValidationError: if the call is not of the right form.
        """
        asked = StartCall.model_validate(call)
        episode_id = await self.sessions.start(
            setting=setting_with(asked.setting, asked.kind),
            kind=asked.kind,
            format=asked.format,
            feature=asked.feature,
            language=asked.language,
        )
        return Pass(episode_id, SEAT, room=ROOM)

    async def enter(self, frame: Frame, call: Mapping[str, Any]) -> Pass | str:
        """Give somebody a place in the study that they ask for: a pass, or a page that says why not.

        Raises:
            AskbackError: if the study cannot go on.
            ValidationError: if the call is not of the right form.
        """
        asked = EnterCall.model_validate(call)
        card = self._card(study_of(asked.query))
        if card is None:
            return message_page(frame, "unknown")
        frame = spoken(frame, card)
        entry = await self.sessions.enter(
            card.id,
            identity=dict(parse_qsl(asked.query)),
            participant_key=asked.participant_key,
            language=frame.texts.language,
        )
        if entry.episode_id is None:
            return message_page(frame, entry.refusal or "closed", completion=entry.completion)
        return Pass(entry.episode_id, SEAT, room=ROOM, study=card.id)

    async def page(self, frame: Frame, seat: Pass) -> str:
        """The page of an episode as it stands."""
        try:
            view = await self.sessions.view(seat.episode_id, seat.seat)
        except LookupError:
            return message_page(frame, "gone")
        return await self._shown(frame, seat, view)

    async def send(self, frame: Frame, seat: Pass, call: Mapping[str, Any]) -> dict[str, Any]:
        """Take a turn; ``accepted`` tells whether it counts, so that what was typed may be dropped."""
        asked = MoveCall.model_validate(call)
        # A study begins with the consent.
        declined = bool(seat.study) and asked.number == 0 and asked.text == _NO
        notice = None
        try:
            try:
                view = await self._take(seat, asked)
                if declined:
                    return {"accepted": True, "html": self._left(frame, seat, "declined")}
            except ConflictError:
                notice = Notice(frame.texts("ambibench.trial.moved"))
            except (SeatError, InputError) as error:
                notice = Notice(_refused(frame, error), "problem")
            if notice is not None:
                view = await self.sessions.view(seat.episode_id, seat.seat)
        except LookupError:
            return {"accepted": False, "html": message_page(frame, "gone")}
        if notice is not None and broken_off(view):
            # The place had been given to somebody else.
            return {"accepted": False, "html": message_page(frame, "full")}
        return {"accepted": notice is None, "html": await self._shown(frame, seat, view, notice)}

    async def withdraw(self, frame: Frame, seat: Pass) -> str:
        """Erase a participant's session, and say so.

        Raises:
            InputError: if it is not a study's.
        """
        if not seat.study:
            raise InputError("Only a study can be withdrawn from.")
        try:
            await self.sessions.withdraw(seat.episode_id)
        except LookupError:
            return message_page(frame, "gone")
        return self._left(frame, seat, "withdrawn")

    async def state(self, seat: Pass) -> dict[str, Any]:
        """Where an episode stands, for a page that comes back into sight."""
        view = await self.sessions.view(seat.episode_id, seat.seat)
        ended = view.stage == "done"
        return {
            "number": view.number,
            "my_turn": not ended,
            "ended": ended,
            "trouble": view.warning is not None,
        }

    async def _take(self, seat: Pass, asked: MoveCall) -> ParticipantView:
        move: dict[str, Any] = {"keys_used": asked.keys_used}
        if asked.shown_at is not None:
            move["shown_at"] = asked.shown_at.isoformat()
        key = f"{asked.number}.{asked.render}"
        reply = Reply(text=asked.text, move=move, key=key, seconds=asked.seconds)
        return await self.sessions.submit(seat.episode_id, seat.seat, reply, number=asked.number)

    async def _shown(
        self, frame: Frame, seat: Pass, view: ParticipantView, notice: Notice | None = None
    ) -> str:
        card = self._known.get(seat.study) or self._card(seat.study)
        frame = spoken(frame, card)
        if view.stage != "done":
            return session_page(frame, view, card, notice=notice)
        completion = self.sessions.completion(seat.episode_id) if view.study else None
        if broken_off(view) or (completion is not None and completion.outcome != "complete"):
            return self._left(frame, seat, "declined")
        return end_page(frame, view, card, completion, await self._replay(seat), notice=notice)

    def _left(self, frame: Frame, seat: Pass, code: str) -> str:
        """A page for somebody who has left before the end, or afterwards."""
        try:
            return message_page(frame, code, completion=self.sessions.completion(seat.episode_id))
        except LookupError:
            return message_page(frame, code)

    async def _replay(self, seat: Pass) -> Replay | None:
        try:
            replay = await self.sessions.replay(seat.episode_id, seat.seat)
        except ConflictError:  # the study does not show it
            return None
        return replay if isinstance(replay, Replay) else None

    def _card(self, study_id: str) -> StudyCard | None:
        if not study_id:
            return None
        # Of what the pages of an episode show nothing changes, and counting places takes time.
        self._known.update((card.id, card) for card in self.sessions.studies())
        return self._known.get(study_id)


def study_of(query: str) -> str:
    """The id of the study that a query names; empty if it names none."""
    return dict(parse_qsl(query)).get("study", "")


def broken_off(view: ParticipantView) -> bool:
    """Whether a study's episode ended before it was through."""
    return view.study and view.ending is not None and view.ending.status != "completed"


def spoken(frame: Frame, card: StudyCard | None) -> Frame:
    """The frame in a language that the study has, if it belongs to one."""
    if card is None:
        return frame
    language = frame.texts.language
    if language not in card.languages:
        language = card.languages[0]
    return replace(frame, texts=strings(language))


def _refused(frame: Frame, error: Exception) -> str:
    code = getattr(error, "code", "")
    said = frame.texts("ambibench.trial.empty") if code == "nothing_said" else str(error)
    return frame.texts("ambibench.trial.refused", message=said)
