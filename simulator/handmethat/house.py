"""The household as its robot sees it, drawn: which picture a thing has, what lies together, what can be done.

Where the furniture stands is these pages' own; the data say only that there are such places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simulator.blocks import Words, message
from simulator.handmethat.env.observe import traits_of, truths, visible
from simulator.handmethat.env.observe import wording as observed
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
"""Classes of things in the order in which they are listed, with the colours of their pictures."""
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
    """Return a text with a capital letter."""
    return text[:1].upper() + text[1:]


def offer(play: Play, text: str) -> Offer:
    """Return a command in words."""
    command = play.game.reader.read(text)
    names = [label(play.task.world, entity, play.language) for entity in command.args]
    key = "move-human" if command.verb == "move" and command.args[0] == HUMAN else command.verb
    return Offer(text, sentence(wording(play.language)["commands"][key].format(*names)))


def glyph_of(kind: str) -> str:
    """Return the picture of a type: that of its subclass."""
    known = hierarchy().kinds.get(kind)
    return known.subclass if known is not None and known.movable else "thing"


class House:
    """The household at some moment."""

    def __init__(self, play: Play, state: State, commands: Sequence[str] = ()) -> None:
        self._play, self._state, self._world = play, state, play.task.world
        self._full = play.options.mode == "full"
        self._seen = visible(self._world, state, play.options.mode)
        self._traits = traits_of(self._world)
        self._about: dict[int, list[Offer]] = {}
        self._ways: dict[int, Offer] = {}
        for text in commands:
            command = play.game.reader.read(text)
            if command.verb == "move":
                self._ways[command.args[0]] = offer(play, text)
            else:
                for entity in dict.fromkeys(command.args):
                    self._about.setdefault(entity, []).append(offer(play, text))

    @property
    def to_human(self) -> Offer | None:
        """The command that leads to the human, if it can be given now."""
        return self._ways.get(HUMAN)

    @property
    def given(self) -> tuple[Thing, ...]:
        """The things that the human holds."""
        return tuple(map(self._make_thing, entities(self._state.given)))

    def plan(self, notes: Sequence[Words] = ()) -> Places:
        """Return it all as a block; `notes` stand above it."""
        drawn, held = pictures(), self._state.holding
        names = {self._world.names[place]: place for place in self._world.locations}
        places = [self._place(names[name]) for name in drawn["at"] if name in names]
        hand = None if held == NOTHING else self._piles([held])[0]
        seen = {glyph for place in places for glyph, _ in place.marks} | ({hand.glyph} if hand else set())
        return Places(
            areas=[
                Area(message(f"rooms.{room}"), of_room["floor"], tuple(of_room["at"]))
                for room, of_room in drawn["rooms"].items()
            ],
            places=places,
            # No page names what cannot be seen.
            glyphs={name: path for name, path in drawn["glyphs"].items() if name in seen},
            notes=notes,
            hand=hand,
            beside=message("beside_human") if self._state.at == HUMAN else "",
            peeks=self._full,
        )

    def _place(self, place: int) -> Place:
        name = self._world.names[place]
        here = self._state.at == place
        known = here or self._full
        keys = self._keys(place) if known else {}
        lid = self._lid(place) if known else None
        tags = {key: Trait(text, _TONES.get(key, "")) for key, text in keys.items()}
        quiet = [tag for key, tag in tags.items() if key == "not-toggled"]
        groups = self._groups(place) if known else None
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
            go=None if here else self._ways.get(place),
            offers=self._about.get(place, ()),
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
            offers=self._about.get(entity, ()),
            piles=None if contents is None else self._piles(contents),
        )

    def _groups(self, place: int) -> list[tuple[Words, Sequence[Pile]]] | None:
        contents = self._contents(place)
        if contents is None:
            return None
        kinds = {name: [each for each in contents if self._class(each) == name] for name in _CLASSES}
        return [(message(f"classes.{name}"), self._piles(mine)) for name, mine in kinds.items() if mine]

    def _piles(self, things: Sequence[int]) -> list[Pile]:
        by_kind: dict[str, list[int]] = {}
        for thing in things:
            by_kind.setdefault(self._world.kinds[thing].name, []).append(thing)
        return [
            Pile(
                word(kind, self._play.language) if kind in hierarchy().kinds else kind,
                glyph_of(kind),
                [*map(self._make_thing, each)],
                _CLASSES[self._class(each[0])],
            )
            for kind, each in by_kind.items()
        ]

    def _class(self, thing: int) -> str:
        known = hierarchy().kinds.get(self._world.kinds[thing].name)
        return known.cls if known is not None and known.cls in _CLASSES else "other"

    def _keys(self, entity: int) -> dict[str, str]:
        traits, language = self._traits[entity], self._play.language
        values = (value for value in (traits.color, traits.size) if value)
        words = {value: observed(language)["value_words"][value] for value in values}
        for field, truth in zip(traits.states, truths(self._state, traits, entity), strict=True):
            name, holds = State._fields[field], bool(truth)
            is_worded = holds in observed(language)["state_words"][name]
            if is_worded and not (name == "open" and self._lid(entity) is not None):
                words[name if holds else f"not-{name}"] = state_word(name, holds, language)
        return words

    def _lid(self, entity: int) -> Trait | None:
        """Return the label that says of what opens whether it is open."""
        if not self._world.of("openable") >> entity & 1:
            return None
        is_open = is_unlocked(self._world, self._state, entity)
        return Trait(state_word("open", is_open, self._play.language), locked=not is_open)

    def _contents(self, container: int) -> tuple[int, ...] | None:
        lid = self._lid(container)
        if not self._full and lid is not None and lid.locked:
            return None
        return tuple(content for content in self._state.contents(container) if self._shows(content))

    def _shows(self, entity: int) -> bool:
        # What is in the robot's hand or with the human is in its sight wherever it is.
        return bool(self._seen >> entity & 1) or self._in_hands(entity)

    def _in_hands(self, entity: int) -> bool:
        held = self._state.given | (1 << self._state.holding if self._state.holding >= 0 else 0)
        container = self._state.container(entity)
        return container >= 0 and bool(held >> container & 1)


def _glyph_names(is_open: bool, keys: Mapping[str, str]) -> list[str]:
    worn = "dusty" in keys or "stained" in keys
    return ["open" if is_open else "closed", *["on"] * ("toggled" in keys), *["worn"] * worn]
