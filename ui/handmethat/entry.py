"""HandMeThat's own entry: what it is, and the form that begins an episode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from simulator.handmethat.graph import HUMAN, ROBOT
from simulator.runner.lobby import Opponent
from ui.i18n import LANGUAGES, strings
from ui.render.environment import render
from ui.render.frame import Frame, RoomLink
from ui.render.opponents import opponent_options

LINK: Final = RoomLink("household", "/handmethat", "house")
SEATS: Final = (ROBOT, HUMAN)
MODES: Final = ("partial", "full")
PROTOCOLS: Final = ("free", "paper")


def entry_page(frame: Frame, levels: Sequence[int], opponents: Mapping[str, Sequence[Opponent]]) -> str:
    """Return the entry.

    Args:
        frame: its frame.
        levels: levels of which there are tasks; empty if there are no tasks.
        opponents: who can sit opposite, by the person's own seat.
    """
    return render(
        "handmethat/entry",
        frame.texts,
        frame=frame,
        languages=[(language, strings(language)("language.name")) for language in LANGUAGES],
        levels=levels,
        modes=MODES,
        protocols=PROTOCOLS,
        seats=[
            (seat, opponent_options(frame.texts, opponents[seat], "household.home.opponent"))
            for seat in SEATS
        ],
    )
