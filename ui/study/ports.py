"""What a study's pages need from a benchmark: the seam at which a test puts a stand-in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from logs.rows import Ending
from simulator.seats import Reply
from simulator.studies import Completion
from simulator.studies.cards import Entry, StudyCard


class View(Protocol):
    """What every participant's view has; a benchmark's has more."""

    @property
    def episode_id(self) -> str:
        """The episode."""
        ...

    @property
    def number(self) -> int:
        """The number of the turn that is due."""
        ...

    @property
    def stage(self) -> str:
        """Which page: ``consent``, ``instructions``, one of the benchmark's own, at the end ``done``."""
        ...

    @property
    def study(self) -> bool:
        """Whether it is part of a study, not free play."""
        ...

    @property
    def ending(self) -> Ending | None:
        """How the episode ended, if it has."""
        ...

    @property
    def warning(self) -> str | None:
        """What a model or the program met with, if anything."""
        ...


class StudySessions(Protocol):
    """Episodes of free play and of studies; see `simulator.studies.sessions`."""

    def studies(self) -> Sequence[StudyCard]:
        """Return the studies that there are."""
        ...

    async def enter(
        self, study_id: str, *, identity: Mapping[str, str], participant_key: str, language: str
    ) -> Entry:
        """Give somebody a place in a study, or the one they have."""
        ...

    async def next_set(self, episode_id: str) -> Entry:
        """Give a participant another set, or the one that they are at."""
        ...

    def sets_done(self, episode_id: str) -> tuple[int, int]:
        """Return sets that a participant has done, and may do at most."""
        ...

    async def withdraw(self, episode_id: str) -> None:
        """Erase a participant's sets."""
        ...

    def completion(self, episode_id: str) -> Completion | None:
        """Return code and address once a study's episode has ended."""
        ...

    async def view(self, episode_id: str, seat: str) -> Any:
        """Return what the participant may see now."""
        ...

    async def submit(self, episode_id: str, seat: str, reply: Reply, *, number: int | None = None) -> Any:
        """Take the participant's reply, written for turn `number`, once."""
        ...

    async def replay(self, episode_id: str, seat: str) -> Any:
        """Return an ended episode with what was hidden, if it may be shown."""
        ...
