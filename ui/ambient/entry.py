"""AmbiEnt's own entry: what it is about in one picture, free play, the studies that are open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from simulator.ambient.labels import Label
from simulator.ambient.sessions import PLAYED
from simulator.studies.cards import StudyCard
from ui.render.environment import render
from ui.render.frame import Frame, RoomLink
from ui.study.pages import offer


class Reading(NamedTuple):
    """A reading of the picture's sentence, and the label that the claim then has."""

    sentence: str
    label: Label


class Picture(NamedTuple):
    """A sentence that can be read in two ways, a claim, and what becomes of it."""

    sentence: str
    claim: str
    readings: tuple[Reading, ...]


PICTURE: Final = Picture(
    "The library lends laptops and tablets with chargers.",
    "A borrowed laptop comes with a charger.",
    (
        Reading("The library lends laptops with chargers and tablets with chargers.", "entailment"),
        Reading("The library lends tablets with chargers, and laptops.", "neutral"),
    ),
)
"""Drawn on the entry; of no data set."""


def entry_page(frame: Frame, link: RoomLink, studies: Sequence[StudyCard]) -> str:
    """Return the entry: free play, and the studies that are open."""
    return render(
        "ambient/entry",
        frame.texts,
        frame=frame,
        room=link,
        offers=[offer(frame, card) for card in studies if card.open],
        plays=PLAYED,
        picture=PICTURE,
    )
