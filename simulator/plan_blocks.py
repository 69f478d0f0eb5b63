"""Blocks of a plan of places to walk through: things, possible actions, and the story so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from simulator.blocks import Block, Words

Tone = Literal["", "accent", "gold", "clay", "water", "red", "green", "blue"]
"""The colour of a label or picture; the last three are colours of things, shown as a dot."""
Figure = Literal["robot", "person"]
"""A figure on the plan."""


class Offer(NamedTuple):
    """A possible action or question, chosen by a click or by typing it.

    Attributes:
        label: a description in the item's language.
        price: the cost, as text; empty for none.
    """

    text: str
    label: str
    price: Words = ""


class Suggestions(NamedTuple):
    """Suggestions while a person types: the offers that contain every word typed so far."""

    offers: Sequence[Offer]


class Menu(NamedTuple):
    """A menu next to the input; a click sends an offer."""

    heading: Words
    text: Words
    offers: Sequence[Offer]
    note: Words = ""


class StoryStep(NamedTuple):
    """A step of a story.

    Attributes:
        place: the name of the place where it happened, highlighted on the plan.
        things: the names of the things involved, highlighted on the plan.
    """

    text: str
    place: str = ""
    things: Sequence[str] = ()


class Story(NamedTuple):
    """A story to go through step by step.

    Attributes:
        none: the text shown if there are no steps.
    """

    heading: Words
    steps: Sequence[StoryStep]
    none: Words


class Trait(NamedTuple):
    """A property, as a small label.

    Attributes:
        locked: True if the property hides something.
    """

    text: Words
    tone: Tone = ""
    locked: bool = False


@dataclass(frozen=True, slots=True)
class Thing:
    """A thing at a place.

    Attributes:
        name: the unique name in commands.
        number: a number that distinguishes it from others of its kind, such as ``#1``; empty for none.
        piles: the things in or on it, by kind; None if they cannot be seen.
    """

    name: str
    label: str
    number: str = ""
    tags: Sequence[Trait] = ()
    offers: Sequence[Offer] = ()
    piles: Sequence[Pile] | None = ()


@dataclass(frozen=True, slots=True)
class Pile:
    """The things of one kind at one place.

    Attributes:
        label: the displayed name of the kind.
        glyph: the name of its picture (`Places.glyphs`).
    """

    label: str
    glyph: str
    things: Sequence[Thing]
    tone: Tone = ""

    @property
    def is_roomy(self) -> bool:
        """True if it needs a separate row, for the contents of its things."""
        return any(thing.piles is None or thing.piles for thing in self.things)


class Shape(NamedTuple):
    """A part of a picture.

    Attributes:
        look: the material, such as ``wood``, a name of the stylesheet.
        path: an SVG path.
        when: the only state in which it is visible.
    """

    look: str
    path: str
    when: Literal["", "open", "closed", "on"] = ""


Picture = Sequence[Shape]
"""A picture, 120 wide and 72 high; later shapes are drawn on top."""


class Area(NamedTuple):
    """A part of the ground.

    Attributes:
        at: the position (see `Place.at`).
    """

    label: Words
    floor: Literal["tiles", "mosaic", "grass", "boards", "planks"]
    at: tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A place on the plan.

    Attributes:
        name: the name in commands.
        at: the positions on a wide and on a narrow plan, as CSS ``grid-area``.
        shows: the states in which it is drawn: ``open`` or ``closed``, ``on``.
        here: True if the plan's figure is there.
        is_shut: True if its contents are hidden until it is opened.
        more_tags: properties shown only where its things are listed, before the others.
        groups: its things, in groups by name; None if they cannot be seen.
        go: the action that leads there, if possible now.
    """

    name: str
    label: str
    picture: Picture
    at: tuple[str, str]
    shows: Sequence[str] = ()
    here: bool = False
    is_shut: bool = False
    tags: Sequence[Trait] = ()
    more_tags: Sequence[Trait] = ()
    groups: Sequence[tuple[Words, Sequence[Pile]]] | None = ()
    go: Offer | None = None
    offers: Sequence[Offer] = ()

    @property
    def count(self) -> int | None:
        """The number of visible things; None if its contents cannot be seen."""
        return None if self.groups is None else sum(count for _, count in self.marks)

    @property
    def marks(self) -> Sequence[tuple[str, int]]:
        """The glyphs of its things with their counts, most frequent first."""
        counts: dict[str, int] = {}
        for _, piles in self.groups or ():
            _count(piles, counts)
        return sorted(counts.items(), key=lambda mark: -mark[1])


def _count(piles: Sequence[Pile], counts: dict[str, int]) -> None:
    for pile in piles:
        counts[pile.glyph] = counts.get(pile.glyph, 0) + len(pile.things)
        for thing in pile.things:
            _count(thing.piles or (), counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """A plan of places to walk through. The things at the current place are listed below it.

    Attributes:
        glyphs: SVG paths, 24 by 24, by name.
        hand: what the figure holds.
        beside: the figure's location if it is not at one of the places; otherwise empty.
        peeks: True if things at other places are visible from afar.
    """

    areas: Sequence[Area]
    places: Sequence[Place]
    glyphs: Mapping[str, str]
    figure: Figure = "robot"
    notes: Sequence[Words] = ()
    hand: Pile | None = None
    beside: Words = ""
    peeks: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A figure with what it has said.

    Attributes:
        text: what it has said, in the item's language or the page's.
        label: a label of the text, for screen readers.
        go: the action that leads to it, if possible now.
        visitor: another figure next to it.
        holds: what it holds, with a title; None to show nothing.
    """

    text: Words
    label: Words
    figure: Figure = "person"
    go: Offer | None = None
    visitor: Figure | None = None
    holds: tuple[Words, Sequence[Thing]] | None = None
    blocks: Sequence[Block] = ()
