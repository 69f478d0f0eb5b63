"""What AmbiK's pages need from the simulator: the seam at which a test puts a stand-in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, Protocol

from simulator.ambik.terms import TaskType
from simulator.ambik.views import SeatName
from simulator.runner.lobby import Opponent
from ui.study.ports import StudySessions

ROOM: Final = "ambik"
HOME: Final = "/ambik"
OPPOSITE: Final[Mapping[SeatName, SeatName]] = {"robot": "user", "user": "robot"}

Kind = TaskType | Literal["any"]
"""What kind of task free play begins with."""


class Sessions(StudySessions, Protocol):
    """Episodes with people in them; see `simulator.ambik.sessions`."""

    def opponents(self, seat: SeatName) -> Sequence[Opponent]:
        """Return who can sit opposite a person in `seat`; nobody opposite an annotator."""
        ...

    async def start(self, *, seat: SeatName, type: Kind, language: str, opposite: str | None = None) -> str:
        """Begin an episode of free play on a built-in task, or a built-in draft; returns its id."""
        ...
