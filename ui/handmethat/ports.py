"""What HandMeThat's pages need from the simulator: the seam at which a test puts a stand-in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from simulator.handmethat.sessions import CatalogEntry, StudyStep
from simulator.handmethat.views import HumanView, Mode, Replay, RobotView
from simulator.runner.lobby import Opponent
from simulator.seats import Reply
from trees import Language
from ui.render.frame import RoomLink

ROOM = "handmethat"
ROBOT = "robot"
HUMAN = "human"
SEATS = (ROBOT, HUMAN)
LINK = RoomLink("household", "/handmethat", "house")
SeatView = RobotView | HumanView


def opposite(seat: str) -> str:
    """Return the other seat of the two."""
    return HUMAN if seat == ROBOT else ROBOT


class Sessions(Protocol):
    """Episodes with people in them; see `simulator.handmethat.sessions`."""

    def catalog(self, language: Language) -> Sequence[CatalogEntry]:
        """Return the tasks that can be played."""
        ...

    def opponents(self, seat: str) -> Sequence[Opponent]:
        """Return who can sit opposite a person in `seat`."""
        ...

    async def start(
        self,
        *,
        task_id: str | None,
        language: Language,
        seats: Mapping[str, str],
        options: Mapping[str, Any] | None = None,
        level: int | None = None,
    ) -> str:
        """Begin an episode and play it on to the first person's turn; returns its id."""
        ...

    def next_task(self, participant_key: str, *, mode: Mode = "partial") -> StudyStep | None:
        """Return what a participant of the paper's study plays next; None if everything has been played."""
        ...

    async def start_study(
        self, participant_key: str, *, language: Language, mode: Mode = "partial"
    ) -> str | None:
        """Begin or go on with a participant's next episode; None if everything has been played."""
        ...

    async def view(self, episode_id: str, seat: str) -> SeatView:
        """Return what a person in `seat` may see now."""
        ...

    async def submit(
        self, episode_id: str, seat: str, reply: Reply, *, number: int | None = None
    ) -> SeatView:
        """Take a person's reply, written for turn `number`, once."""
        ...

    async def replay(self, episode_id: str, seat: str) -> Replay:
        """Return an ended episode with everything that was hidden."""
        ...
