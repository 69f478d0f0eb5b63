"""HandMeThat's own entry: what it is, and the form that begins an episode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from simulator.runner.lobby import Opponent
from simulator.studies.cards import StudyCard
from ui.i18n import LANGUAGES, strings
from ui.render.environment import render
from ui.render.frame import Frame, RoomLink
from ui.render.opponents import opponent_options
from ui.study.pages import offer

LINK: Final = RoomLink("household", "/handmethat", "house")
MODES: Final = ("partial", "full")


def entry_page(
    frame: Frame,
    levels: Sequence[int],
    opponents: Mapping[str, Sequence[Opponent]],
    studies: Sequence[StudyCard],
) -> str:
    """Return the entry.

    Args:
        frame: its frame.
        levels: levels of which there are tasks; empty if there are no tasks.
        opponents: who can sit opposite, by the person's own seat.
        studies: of this benchmark.
    """
    return render(
        "handmethat/entry",
        frame.texts,
        frame=frame,
        languages=[(language, strings(language)("language.name")) for language in LANGUAGES],
        levels=levels,
        modes=MODES,
        offers=[offer(frame, card) for card in studies if card.open],
        seats=[
            (seat, opponent_options(frame.texts, known, "household.home.opponent"))
            for seat, known in opponents.items()
        ],
    )
