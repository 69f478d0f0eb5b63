"""What the players' pages need from the simulator: the seam at which a test puts a stand-in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from simulator.clarq.views import Replay, SeatView
from simulator.seats import Reply

SEEKER = "seeker"
PROVIDER = "provider"
SEATS = (SEEKER, PROVIDER)
PERSON = "person"


def opposite(seat: str) -> str:
    """The other seat of the two."""
    return PROVIDER if seat == SEEKER else SEEKER


class CatalogEntry(Protocol):
    """One task that can be played."""

    @property
    def task_id(self) -> str:
        """Its id, the same in every language."""
        ...

    @property
    def type(self) -> int:
        """Number of its task type."""
        ...

    @property
    def type_name(self) -> str:
        """Name of its task type, in the catalog's language."""
        ...

    @property
    def title(self) -> str:
        """What to call it, in the catalog's language."""
        ...

    @property
    def uncertainties(self) -> int:
        """How many things there are to find out."""
        ...

    @property
    def depth(self) -> int:
        """Depth of its tree."""
        ...


class Opponent(Protocol):
    """Somebody who can sit in a seat opposite a person."""

    @property
    def name(self) -> str:
        """How the log names it."""
        ...

    @property
    def label(self) -> str:
        """How people name it."""
        ...

    @property
    def available(self) -> bool:
        """Whether it can play now."""
        ...

    @property
    def reason(self) -> str:
        """Why it cannot."""
        ...


class Sessions(Protocol):
    """Episodes with people in them; see `simulator.runner.sessions`."""

    def catalog(self, language: str) -> Sequence[CatalogEntry]:
        """The tasks that can be played in `language`."""
        ...

    def opponents(self, seat: str) -> Sequence[Opponent]:
        """Who can sit in `seat`."""
        ...

    async def start(
        self,
        *,
        task_id: str,
        language: str,
        seats: Mapping[str, str],
        options: Mapping[str, object] | None = None,
    ) -> str:
        """Begin an episode and play it on to the first person's turn; returns its id."""
        ...

    async def view(self, episode_id: str, seat: str) -> SeatView:
        """What a person in `seat` may see now."""
        ...

    async def submit(self, episode_id: str, seat: str, reply: Reply) -> SeatView:
        """Take a person's reply, once."""
        ...

    async def judge(self, episode_id: str, seat: str, success: bool, key: str) -> None:
        """A person's own verdict on an ended episode."""
        ...

    async def replay(self, episode_id: str, seat: str) -> Replay:
        """An ended episode with everything that was hidden."""
        ...
