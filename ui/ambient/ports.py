"""What AmbiEnt's pages need from the simulator: the seam at which a test puts a stand-in."""

from __future__ import annotations

from typing import Final, Literal, Protocol

from ui.study.ports import StudySessions

ROOM: Final = "ambient"
SEAT: Final = "annotator"
HOME: Final = "/ambient"

Play = Literal["crowd", "annotate", "true_false"]
"""What free play offers."""


class Sessions(StudySessions, Protocol):
    """Episodes with people in them; see `simulator.ambient.sessions`."""

    async def start(self, *, task: Play, language: str) -> str:
        """Begin an episode of free play on a built-in example; returns its id."""
        ...
