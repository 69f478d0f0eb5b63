"""What AmbiBench's pages need from the simulator: the seam at which a test puts a stand-in."""

from __future__ import annotations

from typing import Protocol

from simulator.ambibench.assignment import Played
from simulator.ambibench.features import Feature, Format, Kind
from ui.render.frame import RoomLink
from ui.study.ports import StudySessions

ROOM = "ambibench"
SEAT = "participant"
LINK = RoomLink(ROOM, "/ambibench", "letters")


class Sessions(StudySessions, Protocol):
    """Episodes with people in them; see `simulator.ambibench.sessions`.

    Their views are `ParticipantView`, their replays `Replay` or `TextReplay`.
    """

    async def start(
        self,
        *,
        setting: Played,
        kind: Kind = "uninformative",
        format: Format | None = None,
        feature: Feature | None = None,
        language: str,
    ) -> str:
        """Begin an episode of free play; what is None is drawn. Returns its id."""
        ...
