"""Blocks of places that are walked through: what stands there, what can be done with it, what came before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from simulator.blocks import Block, Words

Tone = Literal["", "accent", "gold", "clay", "water", "red", "green", "blue"]
"""How a label or a picture is coloured; the last three are colours of things, shown as a dot."""
Figure = Literal["robot", "person"]
"""Somebody who is drawn."""


class Offer(NamedTuple):
    """Something that can be said now, by a click or by typing it.

    Attributes:
        text: what is sent.
        label: it in words, in the item's language.
        price: what it costs, in words; empty for nothing to be told.
    """

    text: str
    label: str
    price: Words = ""


class Suggestions(NamedTuple):
    """Suggestions while somebody types: those in which every word so far occurs."""

    offers: Sequence[Offer]


class Menu(NamedTuple):
    """A list that folds out beside the place to type in; a click says what stands there.

    Attributes:
        heading: what it is for.
        text: what to know before.
        offers: what can be said.
        note: what to know beside.
    """

    heading: Words
    text: Words
    offers: Sequence[Offer]
    note: Words = ""


class StoryStep(NamedTuple):
    """A step of a story.

    Attributes:
        text: what happened.
        place: the name of the place where it did; lit on the plan.
        things: the names of the things that it was about; lit likewise.
    """

    text: str
    place: str = ""
    things: Sequence[str] = ()


class Story(NamedTuple):
    """Something that happened, to go through step by step.

    Attributes:
        heading: above it.
        steps: in their order.
        none: what is said if there are none.
    """

    heading: Words
    steps: Sequence[StoryStep]
    none: Words


class Trait(NamedTuple):
    """A property, as a small label.

    Attributes:
        text: it.
        tone: its colour.
        locked: True if it keeps something from being seen.
    """

    text: Words
    tone: Tone = ""
    locked: bool = False


@dataclass(frozen=True, slots=True)
class Thing:
    """Something that lies somewhere.

    Attributes:
        name: in commands; no other thing on a page has it.
        label: what it is called.
        number: what tells it from others of its kind, such as ``#1``; empty if it needs none.
        tags: its properties.
        offers: what can be done with it now.
        piles: what lies in or on it, by kind; None if that cannot be seen.
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
        label: what the kind is called.
        glyph: its picture, among those of the plan.
        things: at least one.
        tone: of the picture.
    """

    label: str
    glyph: str
    things: Sequence[Thing]
    tone: Tone = ""

    @property
    def is_roomy(self) -> bool:
        """True if it needs a row of its own, for what lies in its things."""
        return any(thing.piles is None or thing.piles for thing in self.things)


class Shape(NamedTuple):
    """A part of a picture.

    Attributes:
        look: what it is made of, such as ``wood``, as the stylesheet names it.
        path: of SVG.
        when: the state in which alone it is seen.
    """

    look: str
    path: str
    when: Literal["", "open", "closed", "on"] = ""


Picture = Sequence[Shape]
"""Something drawn, 120 wide and 72 high; what comes later lies on top."""


class Area(NamedTuple):
    """A part of the ground.

    Attributes:
        label: its name.
        floor: its pattern.
        at: where it lies (see `Place.at`).
    """

    label: Words
    floor: Literal["tiles", "mosaic", "grass", "boards", "planks"]
    at: tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A place on the plan.

    Attributes:
        name: in commands.
        label: what it is called.
        picture: of it.
        at: where it lies on a wide plan and on a narrow one, as ``grid-area`` of CSS.
        shows: the states in which it is drawn: ``open`` or ``closed``, ``on``.
        here: True if the figure of the plan stands there.
        is_shut: True if nothing in it can be seen before it is opened.
        tags: its properties, as the plan shows them.
        more_tags: those that are shown only where its things are listed, before the others.
        groups: what lies there, in groups by name; None if that cannot be seen.
        go: what leads there, if anything does now.
        offers: what can be done with the place itself now.
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
        """The number of things that can be seen there; None if none can."""
        return None if self.groups is None else sum(count for _, count in self.marks)

    @property
    def marks(self) -> Sequence[tuple[str, int]]:
        """The glyphs of its things, each with how many there are, the commonest first."""
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
    """Places that somebody walks through. The things of the place where they stand are listed below it.

    Attributes:
        areas: the ground.
        places: on it.
        glyphs: paths of SVG, 24 by 24, by name.
        figure: who walks.
        notes: what to know of the plan, in a few words each.
        hand: what they hold.
        beside: where they are if at none of the places; empty if at one.
        peeks: True if the things of other places can be looked at from afar.
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
    """Somebody who is drawn, with what they have said.

    Attributes:
        text: what they have said, in the item's language or the page's.
        figure: they.
        label: of what they said, for screen readers.
        go: what leads to them, if anything does now.
        visitor: who stands beside them.
        holds: what they hold, under a name; None where that is nothing to be told.
        blocks: what stands beside.
    """

    text: Words
    label: Words
    figure: Figure = "person"
    go: Offer | None = None
    visitor: Figure | None = None
    holds: tuple[Words, Sequence[Thing]] | None = None
    blocks: Sequence[Block] = ()
