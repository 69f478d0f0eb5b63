"""What the players' pages need from the simulator: the seam at which a test puts a stand-in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from simulator.clarq.sessions import CatalogEntry
from simulator.clarq.views import Replay, SeatView
from simulator.runner.lobby import Opponent
from simulator.seats import Reply
from trees import Language

SEEKER = "seeker"
PROVIDER = "provider"
SEATS = (SEEKER, PROVIDER)
PERSON = "person"


def opposite(seat: str) -> str:
    """Return the other seat of the two."""
    return PROVIDER if seat == SEEKER else SEEKER


class Sessions(Protocol):
    """Episodes with people in them; see `simulator.clarq.sessions`."""

    def catalog(self, language: Language) -> Sequence[CatalogEntry]:
        """Return the tasks that can be played in `language`."""
        ...

    def opponents(self, seat: str) -> Sequence[Opponent]:
        """Return who can sit opposite a person in `seat`."""
        ...

    async def start(
        self,
        *,
        task_id: str,
        language: Language,
        seats: Mapping[str, str],
        options: Mapping[str, Any] | None = None,
    ) -> str:
        """Begin an episode and play it on to the first person's turn; returns its id."""
        ...

    async def view(self, episode_id: str, seat: str) -> SeatView:
        """Return what a person in `seat` may see now."""
        ...

    async def submit(
        self, episode_id: str, seat: str, reply: Reply, *, number: int | None = None
    ) -> SeatView:
        """Take a person's reply, written for turn `number`, once."""
        ...

    async def judge(self, episode_id: str, seat: str, success: bool, key: str) -> None:
        """Log a person's own verdict on an ended episode."""
        ...

    async def replay(self, episode_id: str, seat: str) -> Replay:
        """Return an ended episode with everything that was hidden."""
        ...
