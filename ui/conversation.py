"""Calls of the pages of a conversation between two seats, beside those of all studies.

A person plays opposite a built-in player, a model, or a second person who comes by a link. The page of the
conversation is the same in free play and in a study, where other pages stand before and after it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from simulator.errors import InputError, SeatError
from simulator.studies.cards import StudyCard
from simulator.studies.sessions import StudySessions
from ui.calls import Answer
from ui.invitations import invitation
from ui.problems import problem_text
from ui.render.frame import Frame
from ui.render.opponents import opposite
from ui.render.play import Company, Notice
from ui.study.actions import StudyActions
from ui.study.pages import Here, session_page, welcome_page
from ui.tokens import Pass, Signer

STEPS: Final[Mapping[str, str]] = {"consent": "consent", "instructions": "instructions", "": "task"}
"""The step of a study that each stage belongs to; the conversation itself has no name."""


class ConversationActions(StudyActions):
    """The calls of such a benchmark, on live sessions; passes to second people are signed.

    Attributes:
        seats: both of them.
        templates: the folder of its pages: ``consent``, ``instructions``, ``play_{seat}``, ``done``, …
        stages: the step of a study that each stage belongs to.
    """

    seats: ClassVar[tuple[str, str]]
    templates: ClassVar[str]
    stages: ClassVar[Mapping[str, str]] = STEPS
    moved = "play.conflict"

    def __init__(self, sessions: StudySessions, signer: Signer) -> None:
        super().__init__(sessions)
        self.signer = signer

    @abstractmethod
    def play_parts(self, frame: Frame, view: Any) -> Mapping[str, object]:
        """Return what the page of a conversation shows beside the view."""

    @abstractmethod
    def end_parts(self, frame: Frame, view: Any, replay: Any) -> Mapping[str, object]:
        """Return what the page of an ended conversation shows beside the view and the replay."""

    async def state(self, seat: Pass) -> Answer:
        """Return where a conversation stands, for a page that waits."""
        view = await self.sessions.view(seat.episode_id, seat.seat)
        return {
            "number": view.number,
            "my_turn": view.my_turn or bool(view.stage),
            "ended": view.ended,
            "trouble": view.warning is not None,
            "stage": view.stage,
        }

    def seat_of(self, card: StudyCard) -> str:
        """Return the seat of a study's participants: it is what the study calls their task."""
        return card.task if card.task in self.seats else self.seat

    def welcome_page(self, frame: Frame, card: StudyCard) -> str:
        """Return a study's welcome page."""
        return welcome_page(f"{self.templates}/welcome", frame, self.link, card)

    def steps(self, view: Any) -> Mapping[str, str]:
        """Return the step of a study that each stage belongs to."""
        return self.stages

    def session_page(self, frame: Frame, here: Here) -> str:
        """Return the page of a step, or of the conversation that is going on."""
        if here.view.stage:
            return self._page(here.view.stage, frame, here)
        return self.play_page(frame, here, self._company(here))

    def play_page(self, frame: Frame, here: Here, company: Company) -> str:
        """Return the page of the conversation, for the seat that the view belongs to."""
        view = here.view
        return self._page(
            f"play_{view.seat}",
            frame,
            here,
            company=company,
            other=opposite(self.seats, view.seat),
            **self.play_parts(frame, view),
        )

    def end_page(self, frame: Frame, here: Here, replay: Any) -> str:
        """Return the page of a conversation that has ended: thanks, the result, or both."""
        parts = {} if replay is None else self.end_parts(frame, here.view, replay)
        return self._page("done", frame, here, replay=replay, **parts)

    def refused(self, frame: Frame, error: SeatError | InputError) -> Notice:
        """Return why a turn does not count."""
        texts, message = frame.texts, problem_text(frame.texts, error)
        if isinstance(error, SeatError):
            message = texts.get(f"play.refused_{error.code}", message, node=error.node)
        return Notice(texts("play.refused", message=message), "problem")

    def _page(self, name: str, frame: Frame, here: Here, **more: object) -> str:
        return session_page(f"{self.templates}/{name}", frame, self.link, here, self.stages, **more)

    def _company(self, here: Here) -> Company:
        """Return who sits opposite; with a link for them, if a person is to come whom this page invites."""
        seat = here.seat
        if seat is None or not seat.host:
            return Company(seat is not None and seat.person_opposite)
        other = opposite(self.seats, seat.seat)
        taken = other in self.holders(seat.episode_id)
        return Company(True, invitation(self.signer, seat, other, taken=taken))
