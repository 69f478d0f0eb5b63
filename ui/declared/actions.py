"""Calls of the pages of a benchmark that is a declaration, beside those of all studies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import Field

from simulator.errors import InputError
from simulator.runner.declared_views import Result, SeatPage
from simulator.runner.lobby import PERSON
from simulator.studies.cards import StudyCard
from simulator.studies.declared import DeclaredSessions
from ui.calls import Answer, Call
from ui.declared.pages import STEPS, end_page, entry_page, play_page
from ui.i18n import DECLARED, DEFAULT, declared_texts
from ui.invitations import invitation
from ui.render.frame import Frame, RoomLink
from ui.render.play import Invitation
from ui.study.actions import StudyActions
from ui.study.pages import Here, session_page, welcome_page
from ui.tokens import Pass, Signer

TAKEN: Final = ("api", "askback", "assets", "config", "gradio_api", "health", "play", "research", "study")
"""First parts of addresses at which something else stands; no benchmark may be called so."""

_Name = Annotated[str, Field(max_length=200)]


class StartCall(Call):
    """Begin an episode of free play.

    Attributes:
        item: its place among the items; None for any.
        others: who sits in each other seat.
        rules: those that were filled in.
    """

    language: str = Field(default="en", max_length=16)
    seat: _Name
    item: int | None = None
    others: dict[_Name, _Name] = Field(default_factory=dict, max_length=20)
    rules: dict[_Name, bool | int | float | _Name] = Field(default_factory=dict, max_length=100)


class DeclaredActions(StudyActions):
    """The calls of one benchmark, on live sessions; invitations to its episodes are signed.

    Raises:
        InputError: if the benchmark's name is that of another page, or its texts are none.
    """

    sessions: DeclaredSessions

    def __init__(self, sessions: DeclaredSessions, signer: Signer) -> None:
        super().__init__(sessions)
        self.benchmark = sessions.benchmark
        self.room = self.benchmark.name
        if self.room in TAKEN:
            raise InputError(f"No benchmark can be called {self.room!r}: another page has that address.")
        declared_texts(self.benchmark, DEFAULT)  # else every page would fail
        self.link = RoomLink(f"{DECLARED}.{self.room}", f"/{self.room}", "ask")
        self._signer = signer

    async def home(self, frame: Frame) -> str:
        """Return the entry."""
        opponents = {seat.name: self.sessions.opponents(seat.name) for seat in self.benchmark.seats}
        items = len(self.sessions.items)
        return entry_page(frame, self.link, self.benchmark, items, self.studies(), opponents)

    async def start(self, call: Mapping[str, Any]) -> Pass:
        """See `ui.rooms.RoomActions.start`."""
        asked = StartCall.model_validate(call)
        episode_id = await self.sessions.start(
            seat=asked.seat, others=asked.others, rules=asked.rules, item=asked.item, language=asked.language
        )
        company = PERSON in asked.others.values()
        return Pass(episode_id, asked.seat, person_opposite=company, host=company, room=self.room)

    async def state(self, seat: Pass) -> Answer:
        """Return where an episode stands, for a page that waits for another seat."""
        view: SeatPage = await self.sessions.view(seat.episode_id, seat.seat)
        ended = view.stage == "done"
        return {
            "number": view.number,
            "my_turn": view.my_turn or view.stage != "task",
            "ended": ended,
            "trouble": view.warning is not None,
            "stage": view.stage,
        }

    def seat_of(self, card: StudyCard) -> str:
        """Return the seat of a study's participants."""
        return card.task

    def welcome_page(self, frame: Frame, card: StudyCard) -> str:
        """Return a study's welcome page."""
        return welcome_page("declared/welcome", frame, self.link, card)

    def steps(self, view: Any) -> Mapping[Any, str]:
        """Return the step of a study that each stage belongs to."""
        return STEPS

    def session_page(self, frame: Frame, here: Here) -> str:
        """Return the page of consent, instructions or play."""
        if here.view.stage == "task":
            return play_page(frame, self.link, here, self._invitations(here))
        return session_page(f"declared/{here.view.stage}", frame, self.link, here, STEPS)

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
        return end_page(frame, self.link, here, self.benchmark, result)
