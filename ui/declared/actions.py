"""Calls of the pages of a benchmark that are made of blocks, beside those of all studies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field

from simulator.errors import InputError
from simulator.runner.declared_views import Result, SeatPage
from simulator.runner.lobby import PERSON
from simulator.studies.cards import StudyCard
from simulator.studies.declared import PlaySessions
from simulator.studies.graph import COMMENT
from ui.calls import Answer, Call, PageCall
from ui.declared.forms import FormCall, check_answer, form_in
from ui.declared.pages import STEPS, end_page, entry_page, link_to, step_page, task_page
from ui.i18n import DEFAULT, declared_texts
from ui.invitations import invitation
from ui.render.frame import Frame
from ui.render.play import Invitation
from ui.study.actions import MoveCall, StudyActions
from ui.study.pages import Here, welcome_page
from ui.tokens import Pass, Signer, TokenError

TAKEN: Final = ("api", "askback", "assets", "config", "gradio_api", "health", "play", "research", "study")
"""First parts of addresses at which something else stands; no benchmark may be called so."""

TASK: Final = ("qualification", "task")
"""Stages at which the benchmark says what is done."""
_Name = Annotated[str, Field(max_length=200)]


class StartCall(Call):
    """Begin an episode of free play.

    Attributes:
        item: its place among the items; None for any.
        item_language: of the item, where that can be chosen.
        others: who sits in each other seat.
        rules: what was chosen beside them.
    """

    language: str = Field(default="en", max_length=16)
    seat: _Name
    item: int | None = None
    item_language: Literal["", "en", "zh"] = ""
    others: dict[_Name, _Name] = Field(default_factory=dict, max_length=20)
    rules: dict[_Name, bool | int | float | _Name] = Field(default_factory=dict, max_length=100)


class JudgeCall(PageCall):
    """A person's own verdict on an episode of free play that is over."""

    render: str = Field(pattern=r"^[\w-]{8,64}$")
    success: bool


class DeclaredActions(StudyActions):
    """The calls of one benchmark, on live sessions; invitations to its episodes are signed.

    Raises:
        InputError: if the benchmark's name is that of another page, or its texts are none.
    """

    sessions: PlaySessions
    move_call: ClassVar[type[MoveCall]] = FormCall

    def __init__(self, sessions: PlaySessions, signer: Signer, *, home: bool = False) -> None:
        super().__init__(sessions)
        self.benchmark = sessions.benchmark
        self.room = self.benchmark.name
        if self.room in TAKEN:
            raise InputError(f"No benchmark can be called {self.room!r}: another page has that address.")
        declared_texts(self.benchmark, DEFAULT)  # else every page would fail
        self.link = link_to(self.benchmark, home=home)
        self._signer = signer

    async def home(self, frame: Frame) -> str:
        """Return the entry."""
        return entry_page(frame, self.link, self.sessions, self.studies())

    async def start(self, call: Mapping[str, Any]) -> Pass:
        """See `ui.rooms.RoomActions.start`."""
        asked = StartCall.model_validate(call)
        episode_id = await self.sessions.start(
            seat=asked.seat,
            others=asked.others,
            rules=asked.rules,
            item=asked.item,
            language=asked.item_language or asked.language,
        )
        company = PERSON in asked.others.values()
        return Pass(episode_id, asked.seat, person_opposite=company, host=company, room=self.room)

    async def judge(self, seat: Pass, call: Mapping[str, Any]) -> Answer:
        """See `ui.rooms.StudyRoom.judge`."""
        asked = JudgeCall.model_validate(call)
        if seat.seat not in self.sessions.judges:
            raise TokenError("nobody in this seat judges")
        await self.sessions.judge(seat.episode_id, seat.seat, asked.success, f"{asked.render}.judge")
        return {"accepted": True}

    async def state(self, seat: Pass) -> Answer:
        """Return where an episode stands, for a page that waits for another seat."""
        view: SeatPage = await self.sessions.view(seat.episode_id, seat.seat)
        ended = view.stage == "done"
        return {
            "number": view.number,
            "my_turn": view.my_turn if view.stage in TASK else view.stage != "gather",
            "ended": ended,
            "trouble": view.warning is not None,
            "stage": view.stage,
        }

    async def check(self, frame: Frame, seat: Pass, call: Mapping[str, Any]) -> Answer:
        """See `ui.rooms.RoomActions.check`; ``html`` is what the form shows beside."""
        view: SeatPage = await self.sessions.view(seat.episode_id, seat.seat)
        return check_answer(self, frame, view, form_in(view.blocks), call, view.language)

    def seat_of(self, card: StudyCard) -> str:
        """Return the seat of a study's participants."""
        seats = [seat.name for seat in self.benchmark.seats]
        return card.task if card.task in seats else seats[0]

    def welcome_page(self, frame: Frame, card: StudyCard) -> str:
        """Return a study's welcome page."""
        return welcome_page("declared/welcome", frame, self.link, card)

    def steps(self, view: Any) -> Mapping[Any, str]:
        """Return the step of a study that each stage belongs to."""
        asked = {step.page or step.kind for step in self.sessions.around}
        there = {COMMENT.kind: COMMENT.kind in asked, "qualification": view.tested}
        known = {stage: step for stage, step in STEPS.items() if there.get(stage, True)}
        return {**known, **dict.fromkeys(asked - set(STEPS), "task")}

    def session_page(self, frame: Frame, here: Here) -> str:
        """Return the page of consent, instructions, the task or the comment."""
        steps = self.steps(here.view)
        if here.view.stage in TASK:
            return task_page(frame, self.link, here, steps, self._invitations(here))
        return step_page(frame, self.link, here, steps, self._invitations(here))

    def _invitations(self, here: Here) -> Mapping[str, Invitation]:
        """Return the invitations for the other people, if this page's person began the episode."""
        seat, view = here.seat, here.view
        if seat is None or not seat.host:
            return {}
        taken = self.holders(seat.episode_id)
        return {name: invitation(self._signer, seat, name, taken=name in taken) for name in view.people}

    def end_page(self, frame: Frame, here: Here, replay: Any) -> str:
        """Return the page of an episode that is through."""
        result = replay if isinstance(replay, Result) else None
        return end_page(frame, self.link, here, self.steps(here.view), self.benchmark, result)
