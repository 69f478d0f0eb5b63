"""The house as it is drawn: which room a place stands in, which picture a thing has, what lies together.

Where the furniture stands is this page's own; the data say only that there are such places.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from simulator.handmethat.env.observe import wording
from simulator.handmethat.hierarchy import STATES, hierarchy
from simulator.handmethat.views import CommandView, PlaceView, ThingView
from simulator.handmethat.words import state_word, word
from trees import Language

ROOMS: Final[Mapping[str, tuple[str, ...]]] = {
    "kitchen": (
        "refrigerator",
        "cabinet",
        "countertop",
        "microwave",
        "oven",
        "stove",
        "sink",
        "dishwasher",
    ),
    "bath": ("toilet", "bathtub"),
    "terrace": ("pool",),
    "living": ("floor", "table", "sofa", "shelf"),
    "bedroom": ("bed",),
}
PLACES: Final = tuple(place for places in ROOMS.values() for place in places)
CLASSES: Final = ("FOOD", "TOOL", "THING", "RECEPTACLE")
_TILE_GLYPHS: Final = 5
_COLOURS: Final = ("red", "green", "blue")


@dataclass(frozen=True, slots=True)
class Tag:
    """A state, as a small label.

    Attributes:
        word: what is shown.
        key: which state (``dusty``, ``frozen``, ``red``); empty if the word is not known.
    """

    word: str
    key: str


@dataclass(frozen=True, slots=True)
class Chip:
    """A thing as it is drawn.

    Attributes:
        title: what it is called in a row of its own kind: ``#1``, or nothing if it is the only one.
        tags: its states.
        commands: what can be done with it now.
        piles: what lies in or on it, by kind; None if that cannot be seen.
    """

    thing: ThingView
    title: str
    tags: tuple[Tag, ...]
    commands: tuple[CommandView, ...]
    piles: tuple[Pile, ...] | None

    @property
    def colour(self) -> str:
        """Its colour's key, or empty."""
        return next((tag.key for tag in self.tags if tag.key in _COLOURS), "")


@dataclass(frozen=True, slots=True)
class Pile:
    """The things of one kind at one place.

    Attributes:
        kind: the type; `glyph` names its picture, `cls` its class.
        word: what the kind is called.
    """

    kind: str
    word: str
    glyph: str
    cls: str
    chips: tuple[Chip, ...]

    @property
    def roomy(self) -> bool:
        """Whether it needs a row of its own: something lies in it, or it has a lid."""
        return any(chip.piles or chip.thing.lid for chip in self.chips)


@dataclass(frozen=True, slots=True)
class Mark:
    """A picture with a number, as the plan shows it."""

    glyph: str
    count: int


@dataclass(frozen=True, slots=True)
class Tile:
    """A place on the plan.

    Attributes:
        marks: the commonest pictures, commonest first.
        more: how many things have none among `marks`.
        count: how many things can be seen there; None if it cannot be seen.
        go: the command that leads there, if it can be given now.
        commands: what can be done with the place itself now.
        classes: its things by class, then by kind.
    """

    place: PlaceView
    room: str
    tags: tuple[Tag, ...]
    marks: tuple[Mark, ...]
    more: int
    count: int | None
    go: CommandView | None
    commands: tuple[CommandView, ...]
    classes: tuple[tuple[str, tuple[Pile, ...]], ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """All of the house.

    Attributes:
        tiles: the places, in the order of the plan.
        to_human: the command that leads to the human, if it can be given now.
        stop: the command that ends the episode, if it can be given now.
    """

    tiles: tuple[Tile, ...]
    to_human: CommandView | None
    stop: CommandView | None

    @property
    def here(self) -> Tile | None:
        """The place where the robot stands; None beside the human."""
        return next((tile for tile in self.tiles if tile.place.here), None)


def draw(places: Sequence[PlaceView], commands: Sequence[CommandView], language: Language) -> Drawing:
    """Return the house with what can be done in it.

    Args:
        places: the locations as the robot sees them.
        commands: what it may do now.
        language: of the episode.
    """
    about = _by_name(commands)
    bare = [command for command in commands if not command.things]
    return Drawing(
        tuple(_tile(place, about, language) for place in sorted(places, key=_rank)),
        next((command for command in bare if command.verb == "move"), None),
        next((command for command in bare if command.verb == "stop"), None),
    )


def chip(thing: ThingView, commands: Sequence[CommandView], language: Language) -> Chip:
    """Return a thing on its own, as in a hand."""
    return _chip(thing, _by_name(commands), language)


def glyph_of(kind: str) -> str:
    """Return the picture of a type: that of its subclass."""
    known = hierarchy().kinds.get(kind)
    return known.subclass if known is not None and known.movable else "thing"


@cache
def tag_keys(language: Language) -> Mapping[str, str]:
    """Return word -> key, for the states, colours and sizes, as observations and as labels word them."""
    table, observed = hierarchy(), wording(language)
    values = {word(key, language): key for key in (*table.colors, *table.sizes)}
    values |= {value: key for key, value in observed["value_words"].items()}
    for state in STATES:
        for holds, key in ((False, f"not-{state}"), (True, state)):
            values[state_word(state, holds, language)] = key
            if holds in observed["state_words"][state]:
                values[observed["state_words"][state][holds]] = key
    return values


def _rank(place: PlaceView) -> int:
    return PLACES.index(place.name) if place.name in PLACES else len(PLACES)


def _by_name(commands: Iterable[CommandView]) -> dict[str, list[CommandView]]:
    views: dict[str, list[CommandView]] = {}
    for command in commands:
        for name in dict.fromkeys(command.things):
            views.setdefault(name, []).append(command)
    return views


def _all(things: Iterable[ThingView]) -> list[ThingView]:
    return [part for thing in things for part in (thing, *_all(thing.contents or ()))]


def _tile(place: PlaceView, about: Mapping[str, Sequence[CommandView]], language: Language) -> Tile:
    mine = about.get(place.name, ())
    seen = None if place.contents is None else _all(place.contents)
    marks = Counter(glyph_of(thing.kind) for thing in seen or ()).most_common()
    return Tile(
        place=place,
        room=next((room for room, places in ROOMS.items() if place.name in places), "living"),
        tags=_tags(place.states, place.lid, language),
        marks=tuple(Mark(glyph, count) for glyph, count in marks[:_TILE_GLYPHS]),
        more=sum(count for _, count in marks[_TILE_GLYPHS:]),
        count=None if seen is None else len(seen),
        go=next((command for command in mine if command.verb == "move"), None),
        commands=tuple(command for command in mine if command.verb != "move"),
        classes=_classes(_piles(place.contents or (), about, language)),
    )


def _classes(piles: Sequence[Pile]) -> tuple[tuple[str, tuple[Pile, ...]], ...]:
    names = (*CLASSES, "other")
    grouped = ((name, tuple(pile for pile in piles if pile.cls == name)) for name in names)
    return tuple((name, piles) for name, piles in grouped if piles)


def _piles(
    things: Sequence[ThingView], about: Mapping[str, Sequence[CommandView]], language: Language
) -> tuple[Pile, ...]:
    by_kind: dict[str, list[ThingView]] = {}
    for thing in things:
        by_kind.setdefault(thing.kind, []).append(thing)
    return tuple(
        Pile(
            kind,
            word(kind, language) if kind in hierarchy().kinds else kind,
            glyph_of(kind),
            hierarchy().kinds[kind].cls if kind in hierarchy().kinds else "other",
            tuple(_chip(thing, about, language) for thing in things),
        )
        for kind, things in by_kind.items()
    )


def _chip(thing: ThingView, about: Mapping[str, Sequence[CommandView]], language: Language) -> Chip:
    _, sign, number = thing.name.partition("#")
    numbered = sign and thing.label.rstrip().endswith(sign + number)
    return Chip(
        thing,
        sign + number if numbered else "",
        _tags(thing.states, thing.lid, language),
        tuple(about.get(thing.name, ())),
        None if thing.contents is None else _piles(thing.contents, about, language),
    )


def _tags(states: Sequence[str], lid: str | None, language: Language) -> tuple[Tag, ...]:
    """Return states as labels; of what has a lid that it is open or closed is drawn otherwise."""
    keys = tag_keys(language)
    tags = (Tag(_label(state, keys.get(state, ""), language), keys.get(state, "")) for state in states)
    return tuple(tag for tag in tags if lid is None or tag.key not in ("open", "not-open"))


def _label(label: str, key: str, language: Language) -> str:
    """Return a state in words for people: ``switched on`` where an observation says ``toggled-on``."""
    name = key.removeprefix("not-")
    return state_word(name, name == key, language) if name in STATES else label
