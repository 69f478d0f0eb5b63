"""AmbiK's own entry: what it is about in one picture, free play in three seats, the studies that are open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, get_args

from simulator.ambik.terms import TASK_TYPES
from simulator.ambik.views import SeatName
from simulator.studies.cards import StudyCard
from ui.ambik.ports import Kind
from ui.render.environment import render
from ui.render.frame import Frame, RoomLink
from ui.study.pages import offer


class Picture(NamedTuple):
    """An instruction, what stands about, and what may be meant."""

    task: str
    things: tuple[str, ...]
    possible: tuple[str, ...]
    options: tuple[str, ...]


SEATS: Final[tuple[SeatName, ...]] = get_args(SeatName)
KINDS: Final[tuple[Kind, ...]] = ("any", *TASK_TYPES)
PICTURE: Final = Picture(
    "Put the soup into a bowl, please.",
    ("lentil soup", "ladle", "glass bowl", "wooden bowl", "bread rolls", "chopping board"),
    ("glass bowl", "wooden bowl"),
    ("ladle the soup into the glass bowl", "ladle the soup into the wooden bowl"),
)
"""Drawn on the entry; of no data set."""


def entry_page(frame: Frame, link: RoomLink, studies: Sequence[StudyCard]) -> str:
    """The entry: free play, and the studies that are open."""
    return render(
        "ambik/entry",
        frame.texts,
        frame=frame,
        room=link,
        offers=[offer(frame, card) for card in studies if card.open],
        seats=SEATS,
        types=KINDS,
        picture=PICTURE,
    )
