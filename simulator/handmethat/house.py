"""The drawing of the household as the robot sees it: pictures, piles of things, and possible commands.

The positions of the furniture are made up for the pages; the data only list the places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simulator.blocks import Words, message
from simulator.handmethat.env.observe import state_values, traits_of, visible
from simulator.handmethat.env.observe import wording as observation_wording
from simulator.handmethat.hierarchy import hierarchy, read_table, state_word, word
from simulator.handmethat.meanings.render import label
from simulator.handmethat.playing import Play
from simulator.handmethat.world import HUMAN, NOTHING, State, entities, is_unlocked
from simulator.plan_blocks import Area, Offer, Pile, Place, Places, Shape, Thing, Tone, Trait
from trees import Language

_CLASSES: Final[Mapping[str, Tone]] = {
    "FOOD": "accent",
    "TOOL": "blue",
    "THING": "gold",
    "RECEPTACLE": "clay",
    "other": "",
}
"""Classes of things in the order of listing, with the colours of their pictures."""
_TONES: Final[Mapping[str, Tone]] = {
    **{"dusty": "gold", "stained": "gold", "toggled": "accent", "frozen": "water", "cooked": "clay"},
    **{"red": "red", "green": "green", "blue": "blue"},
}


def pictures() -> Mapping[str, Any]:
    """Read tables/pictures.yaml."""
    return read_table("pictures")


def wording(language: Language) -> Mapping[str, Any]:
    """Read tables/play.<language>.yaml."""
    return read_table(f"play.{language}")


def sentence(text: str) -> str:
    """Return a text with a capital first letter."""
    return text[:1].upper() + text[1:]


def offer(play: Play, text: str) -> Offer:
    """Return the offer of a command, with its label in words."""
    command = play.game.reader.read(text)
    names = [label(play.task.world, entity, play.language) for entity in command.args]
    key = "move-human" if command.verb == "move" and command.args[0] == HUMAN else command.verb
    return Offer(text, sentence(wording(play.language)["commands"][key].format(*names)))


def glyph_of(kind: str) -> str:
    """Return the name of the picture of a type: its subclass, or ``thing``."""
    entry = hierarchy().kinds.get(kind)
    return entry.subclass if entry is not None and entry.movable else "thing"


class House:
    """The household in one state, with the commands that are offered."""

    def __init__(self, play: Play, state: State, commands: Sequence[str] = ()) -> None:
        self._play, self._state, self._world = play, state, play.task.world
        self._full = play.options.mode == "full"
        self._seen = visible(self._world, state, play.options.mode)
        self._traits = traits_of(self._world)
        self._offers: dict[int, list[Offer]] = {}
        self._moves: dict[int, Offer] = {}
        for text in commands:
            command = play.game.reader.read(text)
            if command.verb == "move":
                self._moves[command.args[0]] = offer(play, text)
            else:
                for entity in dict.fromkeys(command.args):
                    self._offers.setdefault(entity, []).append(offer(play, text))

    @property
    def to_human(self) -> Offer | None:
        """The move to the human, if it is offered."""
        return self._moves.get(HUMAN)

    @property
    def given(self) -> tuple[Thing, ...]:
        """The things that the human holds."""
        return tuple(map(self._make_thing, entities(self._state.given)))

    def plan(self, notes: Sequence[Words] = ()) -> Places:
        """Return the house as a block, with `notes` above it."""
        table, held = pictures(), self._state.holding
        names = {self._world.names[place]: place for place in self._world.locations}
        places = [self._place(names[name]) for name in table["at"] if name in names]
        hand = None if held == NOTHING else self._piles([held])[0]
        used = {glyph for place in places for glyph, _ in place.marks} | ({hand.glyph} if hand else set())
        return Places(
            areas=[
                Area(message(f"rooms.{room}"), row["floor"], tuple(row["at"]))
                for room, row in table["rooms"].items()
            ],
            places=places,
            # A page must not name things that cannot be seen.
            glyphs={name: path for name, path in table["glyphs"].items() if name in used},
            notes=notes,
            hand=hand,
            beside=message("beside_human") if self._state.at == HUMAN else "",
            peeks=self._full,
        )

    def _place(self, place: int) -> Place:
        name = self._world.names[place]
        here = self._state.at == place
        in_view = here or self._full
        keys = self._keys(place) if in_view else {}
        lid = self._lid(place) if in_view else None
        tags = {key: Trait(text, _TONES.get(key, "")) for key, text in keys.items()}
        quiet = [tag for key, tag in tags.items() if key == "not-toggled"]
        groups = self._groups(place) if in_view else None
        return Place(
            name=name,
            label=label(self._world, place, self._play.language),
            picture=[Shape(*shape) for shape in pictures()["places"][name]],
            at=tuple(pictures()["at"][name]),
            shows=_glyph_names(lid is not None and not lid.locked, keys),
            here=here,
            is_shut=groups is None and lid is not None,
            tags=[tag for tag in tags.values() if tag not in quiet],
            more_tags=[*([lid] if lid else []), *quiet],
            groups=groups,
            go=None if here else self._moves.get(place),
            offers=self._offers.get(place, ()),
        )

    def _make_thing(self, entity: int) -> Thing:
        name, text = self._world.names[entity], label(self._world, entity, self._play.language)
        _, sign, number = name.partition("#")
        lid = self._lid(entity)
        tags = [Trait(text, _TONES.get(key, "")) for key, text in self._keys(entity).items()]
        contents = self._contents(entity) if self._world.kinds[entity].receptacle else ()
        return Thing(
            name=name,
            label=text,
            number=sign + number if sign and text.rstrip().endswith(sign + number) else "",
            tags=[*tags, *([lid] if lid else [])],
            offers=self._offers.get(entity, ()),
            piles=None if contents is None else self._piles(contents),
        )

    def _groups(self, place: int) -> list[tuple[Words, Sequence[Pile]]] | None:
        contents = self._contents(place)
        if contents is None:
            return None
        classes = {name: [thing for thing in contents if self._class(thing) == name] for name in _CLASSES}
        return [(message(f"classes.{name}"), self._piles(group)) for name, group in classes.items() if group]

    def _piles(self, things: Sequence[int]) -> list[Pile]:
        by_kind: dict[str, list[int]] = {}
        for thing in things:
            by_kind.setdefault(self._world.kinds[thing].name, []).append(thing)
        return [
            Pile(
                word(kind, self._play.language) if kind in hierarchy().kinds else kind,
                glyph_of(kind),
                [*map(self._make_thing, group)],
                _CLASSES[self._class(group[0])],
            )
            for kind, group in by_kind.items()
        ]

    def _class(self, thing: int) -> str:
        kind = hierarchy().kinds.get(self._world.kinds[thing].name)
        return kind.cls if kind is not None and kind.cls in _CLASSES else "other"

    def _keys(self, entity: int) -> dict[str, str]:
        traits, language = self._traits[entity], self._play.language
        values = (value for value in (traits.color, traits.size) if value)
        table = observation_wording(language)
        words = {value: table["value_words"][value] for value in values}
        for field, value in zip(traits.states, state_values(self._state, traits, entity), strict=True):
            name, holds = State._fields[field], bool(value)
            is_worded = holds in table["state_words"][name]
            if is_worded and not (name == "open" and self._lid(entity) is not None):
                words[name if holds else f"not-{name}"] = state_word(name, holds, language)
        return words

    def _lid(self, entity: int) -> Trait | None:
        """Return the trait ``open`` or ``closed``; None for a thing that cannot be opened."""
        if not self._world.find_all("openable") >> entity & 1:
            return None
        is_open = is_unlocked(self._world, self._state, entity)
        return Trait(state_word("open", is_open, self._play.language), locked=not is_open)

    def _contents(self, container: int) -> tuple[int, ...] | None:
        lid = self._lid(container)
        if not self._full and lid is not None and lid.locked:
            return None
        return tuple(content for content in self._state.contents(container) if self._shows(content))

    def _shows(self, entity: int) -> bool:
        # The contents of a thing in the hands of the robot or the human are always in view.
        return bool(self._seen >> entity & 1) or self._in_hands(entity)

    def _in_hands(self, entity: int) -> bool:
        held = self._state.given | (1 << self._state.holding if self._state.holding >= 0 else 0)
        container = self._state.container(entity)
        return container >= 0 and bool(held >> container & 1)


def _glyph_names(is_open: bool, keys: Mapping[str, str]) -> list[str]:
    worn = "dusty" in keys or "stained" in keys
    return ["open" if is_open else "closed", *["on"] * ("toggled" in keys), *["worn"] * worn]
