"""What a benchmark's pages offer the app. A further benchmark is one more of these in `ui.server`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Protocol, runtime_checkable

from simulator.studies.cards import StudyCard
from ui.calls import Answer, PageCall
from ui.render.frame import Frame, RoomLink
from ui.tokens import Pass

STUDY: Final = "/study"
"""The welcome page of the study that the query names: Gradio's page works on the first level only."""

Call = Callable[[Mapping[str, Any]], Awaitable[Answer]]


class RoomActions(Protocol):
    """A benchmark's calls, on live sessions; `ui.actions.Actions` has checked who asks."""

    @property
    def link(self) -> RoomLink:
        """How the other pages lead there."""
        ...

    @property
    def calls(self) -> Mapping[str, Call]:
        """What only this benchmark's pages call, by name."""
        ...

    async def home(self, frame: Frame) -> str:
        """Return the benchmark's entry."""
        ...

    async def start(self, call: Mapping[str, Any]) -> Pass:
        """Begin an episode of free play; the pass to it.

        Raises:
            AskbackError: if it cannot begin.
            ValidationError: if the call is not of the right form.
        """
        ...

    def holders(self, episode_id: str) -> Mapping[str, str]:
        """Return who has taken each seat of an episode that somebody was invited to and has taken.

        Raises:
            LookupError: if there is no such episode.
        """
        ...

    async def take_seat(self, seat: Pass, holder: str) -> bool:
        """Give a seat to `holder` if it is free; return True if it is theirs.

        Raises:
            LookupError: if there is no such episode.
        """
        ...

    async def page(self, frame: Frame, seat: Pass, asked: PageCall) -> str:
        """Return the page of an episode as it stands."""
        ...

    async def send(self, frame: Frame, seat: Pass, call: Mapping[str, Any]) -> Answer:
        """Take a turn; ``accepted`` tells whether it counts, so that the draft may be dropped."""
        ...

    async def check(self, frame: Frame, seat: Pass, call: Mapping[str, Any]) -> Answer:
        """Return what is wrong with a form that is being filled in: ``problems`` by field, ``errors``.

        Raises:
            ValidationError: if the call is not of the right form.
        """
        ...

    async def state(self, seat: Pass) -> Answer:
        """Return for a page that waits: ``number``, ``my_turn``, ``ended``, ``trouble``."""
        ...


@runtime_checkable
class StudyRoom(RoomActions, Protocol):
    """A benchmark that holds studies."""

    def studies(self) -> Sequence[StudyCard]:
        """Return the studies that there are."""
        ...

    def study(self, study_id: str) -> StudyCard | None:
        """Return a study, or the preview of one; None if it is not held here."""
        ...

    def welcome(self, frame: Frame, study_id: str) -> str:
        """Return the welcome page of a study. Nothing begins there."""
        ...

    async def enter(self, frame: Frame, study_id: str, call: Mapping[str, Any]) -> Pass | str:
        """Give somebody a place: a pass, or a page that says why there is none.

        Raises:
            AskbackError: if the study cannot go on.
            ValidationError: if the call is not of the right form.
        """
        ...

    async def next_set(self, frame: Frame, seat: Pass) -> Pass | str:
        """Give the participant of an episode another set: a pass, or a page that says why there is none.

        Raises:
            AskbackError: if it is not a study's.
        """
        ...

    async def judge(self, seat: Pass, call: Mapping[str, Any]) -> Answer:
        """Note what somebody says of an episode of free play that is over.

        Raises:
            TokenError: if nobody in this seat is asked.
            ValidationError: if the call is not of the right form.
        """
        ...

    async def leave(self, frame: Frame, seat: Pass) -> str:
        """End the set of somebody who is paired, before its end; what they did stays. Return the page.

        Raises:
            AskbackError: if nobody is paired there.
        """
        ...

    async def acknowledge(self, frame: Frame, seat: Pass, message: str) -> str:
        """Record that somebody has read a researcher's message; return the page without it.

        Raises:
            AskbackError: if it is no study.
        """
        ...

    async def wait_again(self, frame: Frame, seat: Pass) -> str:
        """Let somebody whose partner has left wait for another one; return the page.

        Raises:
            AskbackError: if nobody is paired there.
        """
        ...

    async def withdraw(self, frame: Frame, seat: Pass) -> str:
        """Erase a participant's sets, and say so.

        Raises:
            AskbackError: if it is not a study's.
        """
        ...
