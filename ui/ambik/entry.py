"""AmbiK's own entry: what it is about in one picture, free play in three seats, the studies that are open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, get_args

from simulator.ambik.terms import TASK_TYPES
from simulator.ambik.views import SeatName
from simulator.runner.lobby import PERSON, Opponent
from simulator.studies.cards import StudyCard
from ui.ambik.ports import Kind
from ui.i18n import Strings
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
_ICONS: Final = {"offline": "computer", "model": "chip", PERSON: "person"}


@dataclass(frozen=True, slots=True)
class Choice:
    """Somebody who can be chosen to sit opposite, in the page's language."""

    name: str
    icon: str
    label: str
    note: str
    available: bool


def entry_page(
    frame: Frame,
    link: RoomLink,
    studies: Sequence[StudyCard],
    opponents: Mapping[SeatName, Sequence[Opponent]],
) -> str:
    """Return the entry: free play, and the studies that are open."""
    return render(
        "ambik/entry",
        frame.texts,
        frame=frame,
        room=link,
        offers=[offer(frame, card) for card in studies if card.open],
        seats=SEATS,
        types=KINDS,
        choices={seat: [choice(frame.texts, one) for one in some] for seat, some in opponents.items()},
        picture=PICTURE,
    )


def choice(texts: Strings, opponent: Opponent) -> Choice:
    """Return an opponent in words."""
    provider = opponent.name.partition("/")[0]
    kind = provider if provider in ("offline", PERSON) else "model"
    slug = f"ambik.entry.opponent.{opponent.name.replace('/', '_')}"
    note = texts.get(f"{slug}_note", texts("ambik.entry.opponent.model_note"))
    if not opponent.available:
        note = texts("home.needs_key", variable=opponent.requires)
    label = texts.get(slug, opponent.label)
    return Choice(opponent.name, _ICONS[kind], label, note, opponent.available)
