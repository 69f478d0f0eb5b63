"""AmbiBench's own entry, and a study's welcome page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from simulator.ambibench.features import FEATURES, FORMATS, Hypothesis
from simulator.ambibench.instructions import instruction
from simulator.studies import Completion
from simulator.studies.cards import StudyCard
from ui.ambibench.ports import INVITATION
from ui.render.environment import render
from ui.render.frame import Frame

KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "multiple": ("uninformative", "informative", "wug"),
    "instruction": ("uninformative", "informative"),
}
"""Amount of free play -> the instructions it can be played with."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A study in words.

    Attributes:
        address: of its welcome page.
        minutes: how long it takes; empty if nobody says.
        places: how many are left, in words.
    """

    card: StudyCard
    address: str
    minutes: str
    places: str


def entry_page(frame: Frame, studies: Sequence[StudyCard]) -> str:
    """The entry: free play, and the studies that are open."""
    return render(
        "ambibench/entry",
        frame.texts,
        frame=frame,
        offers=[offer(frame, card) for card in studies if card.open],
        kinds=KINDS,
        formats=FORMATS,
        features=FEATURES,
        picture=picture(),
    )


def picture() -> str:
    """A task as it is seen, with its third label due: human or indoors?"""
    said = (("The hiker is in the museum.", "X"), ("The duck is in the meadow.", "Y"))
    lines = [line for sentence, label in said for line in (sentence, f">{label}")]
    told = instruction("uninformative", Hypothesis("subject", True))
    return "\n".join([told, *lines, "The reporter is in the canyon.", ">"])


def welcome_page(frame: Frame, card: StudyCard) -> str:
    """What a participant sees first: what the study is; nothing has begun."""
    return render("ambibench/welcome", frame.texts, frame=frame, offer=offer(frame, card))


def message_page(frame: Frame, code: str, *, completion: Completion | None = None) -> str:
    """Why somebody is not taking part, or no longer, and what they can do.

    Args:
        frame: its frame.
        code: a refusal, ``declined``, ``withdrawn``, ``gone`` or ``unknown``.
        completion: the code that they may hand in all the same.
    """
    handed = completion if completion is not None and completion.code else None
    return render("ambibench/message", frame.texts, frame=frame, code=code, completion=handed)


def offer(frame: Frame, card: StudyCard) -> Offer:
    """A study as the page says it."""
    left = card.places_left
    name = "no_places" if not card.open or left < 1 else "one_place" if left == 1 else "places"
    places = frame.texts(f"ambibench.entry.{name}", count=left)
    return Offer(card, f"{INVITATION}{card.id}", whole(card.minutes) if card.minutes else "", places)


def whole(value: float) -> str:
    """A number without decimals that say nothing."""
    return f"{value:.1f}".removesuffix(".0")
