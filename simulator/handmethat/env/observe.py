"""The robot's observations: views, confirmations, the inventory, the task (spec 9.3).

All texts derive from one state, so they always agree with the rules (B10). The wording is in
tables/observations.*.yaml. Lists of things are cached by their members and states, since a command changes
few of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Final, Literal, NamedTuple

from simulator.handmethat.env.commands import Command, CommandError
from simulator.handmethat.env.questions import official_questions
from simulator.handmethat.hierarchy import STATES, read_table, word
from simulator.handmethat.meanings.render import display_name
from simulator.handmethat.world import (
    HUMAN,
    NOTHING,
    BitSet,
    State,
    World,
    bit_set,
    entities,
    location_of,
    shows,
)
from trees import Language


def visible(world: World, state: State, mode: Mode, *, quirk: bool = False) -> BitSet:
    """Return the entities that the robot sees now, including the locations and the thing it holds.

    `quirk`: in full mode, shut lids hide things at the current place only, as in the published program.
    """
    if mode == "full":
        everything = (1 << len(world)) - 1
        if not quirk or state.at == HUMAN:
            return everything
        here, seen = (_contents_at(world, state, state.at, lids) for lids in (False, True))
        return everything & ~(here & ~seen)
    held = 1 << state.holding if state.holding >= 0 else 0
    here = state.given if state.at == HUMAN else _contents_at(world, state, state.at, lids=True)
    return bit_set(world.locations) | held | here


def _contents_at(world: World, state: State, container: int, lids: bool) -> BitSet:
    """Return the direct and nested contents of `container`; with `lids`, without those behind a shut lid."""
    if lids and not shows(world, state, container):
        return 0
    seen = 0
    for content in state.contents(container):
        seen |= 1 << content
        if world.kinds[content].receptacle:
            seen |= _contents_at(world, state, content, lids)
    return seen


Mode = Literal["full", "partial"]
TextStyle = Literal["readable", "reference"]
_FIRST: Final = State._fields.index(STATES[0])
_LAST: Final = _FIRST + len(STATES)
_CACHE_SIZE: Final = 20_000


def reference_text(text: str) -> str:
    """Return `text` as the published wrapper prints it: "#" as a blank, no commas (B15)."""
    return text.replace("#", " ").replace(",", "")


def collapse(text: str) -> str:
    """Replace each run of white space by one blank, as the published wrapper does in observations."""
    return " ".join(text.split())


class Observer:
    """Texts about states of one household."""

    def __init__(self, world: World, language: Language = "en") -> None:
        self.world, self.language = world, language
        self._traits = traits_of(world)
        self.table = wording(language)
        self._receptacles = world.find_all("receptacle")
        self._masks: dict[tuple[int, ...], BitSet] = {}
        self._lists: dict[tuple[object, ...], str] = {}
        self._last_state: State | None = None
        self._remote_views: dict[int, str] = {}

    def view(self, state: State, mode: Mode, *, quirk: bool = False) -> str:
        """Return the robot's view.

        `quirk`: in full mode, shut lids hide things at the current place (12.1 #25).
        """
        at, everything = state.at, mode == "full"
        lines = []
        if at == HUMAN:
            lines.append(self.table["with_human"])
        else:
            lines.append(self._place("here", state, at, lids=not everything or quirk))
        if everything:
            views = self._update_remote_views(state)
            lines += [views[place] for place in self.world.locations if place != at]
        if everything or at == HUMAN:
            things = self._list(state, list(entities(state.given)))
            lines.append(self.table["human_holds"].format(things=things))
        return "\n".join(lines)

    def _update_remote_views(self, state: State) -> dict[int, str]:
        """Return the text of every location as seen from another, rewriting only those that changed."""
        before, views = self._last_state, self._remote_views
        stale = self.world.locations if before is None else _changed_places(self.world, before, state)
        for place in stale:
            views[place] = self._place("there", state, place, lids=False)
        self._last_state = state
        return views

    def inventory(self, state: State) -> str:
        """Return the sentence about the robot's hand."""
        held = [] if state.holding == NOTHING else [state.holding]
        return str(self.table["you_hold"].format(things=self._list(state, held)))

    def room(self) -> str:
        """Return the sentence that lists the human and the locations except the floor."""
        places = [place for place in self.world.locations if self.world.names[place] != "floor"]
        nouns = [
            phrase(self.language, "thing", self._traits[place]._replace(states=()), ()) for place in places
        ]
        things = self.table["between_things"].join([self.table["human_thing"], *nouns])
        return str(self.table["room"].format(things=things))

    def opening(self, state: State, task: str | None, view: str) -> str:
        """Return the first observation; `task`: the task description, None in histories (spec 9.6)."""
        table, at = self.table, self._noun(state.at)
        lines = [table["greeting"], self.room()]
        if task is not None:
            lines.append(task)
        return "\n".join([*lines, table["start"].format(place=at), view, table["closing"]])

    def confirmation(self, command: Command) -> str:
        """Return the sentence for an action that was carried out."""
        names = [display_name(self.world, entity, self.language) for entity in command.args]
        if command.verb == "move" and command.args[0] == HUMAN:
            names = [self.table["human"]]
        return str(self.table["done"][command.verb].format(*names))

    def failure(self, error: CommandError) -> str:
        """Return the sentence for a command that had no effect."""
        return str(self.table["failed"][error])

    @cached_property
    def help(self) -> str:
        """The help text: forms of commands, and the questions."""
        separator = self.table["between_things"]
        return str(
            self.table["help"].format(
                commands=separator.join(self.table["command_forms"]),
                questions=separator.join(official_questions(self.language)),
            )
        )

    def _place(self, form: Form, state: State, place: int, lids: bool) -> str:
        sentences = [self._phrase(form, state, place)]
        if lids and not shows(self.world, state, place):
            return sentences[0]
        here = state.contents(place)
        word = "in_it" if self.world.relation(place) == "inside" else "on_it"
        sentences.append(self.table[word].format(things=self._list(state, here)))
        for content in here:
            if self._receptacles >> content & 1 and (not lids or shows(self.world, state, content)):
                inner = state.contents(content)
                if inner:
                    word = "in_thing" if self.world.relation(content) == "inside" else "on_thing"
                    things = self._list(state, inner)
                    sentences.append(self.table[word].format(noun=self._noun(content), things=things))
        return " ".join(sentences) if self.language == "en" else "".join(sentences)

    def _list(self, state: State, things: Sequence[int]) -> str:
        """Return the phrases of things, separated, or the word for nothing."""
        if not things:
            return str(self.table["nothing"])
        members = tuple(things)
        mask = self._masks.get(members)
        if mask is None:
            mask = self._masks[members] = bit_set(members)
        key = (members, *(field & mask for field in state[_FIRST:_LAST]))  # type: ignore[operator]
        text = self._lists.get(key)
        if text is None:
            if len(self._lists) >= _CACHE_SIZE:
                self._lists.clear()
                self._masks.clear()
            text = self._lists[key] = self.table["between_things"].join(
                [self._phrase("thing", state, thing) for thing in things]
            )
        return text

    def _phrase(self, form: Form, state: State, entity: int) -> str:
        traits = self._traits[entity]
        return phrase(self.language, form, traits, state_values(state, traits, entity))

    def _noun(self, entity: int) -> str:
        return noun(self.language, self._traits[entity])


def _changed_places(world: World, before: State, after: State) -> set[int]:
    changed: BitSet = 0
    if before.place != after.place:
        pairs = zip(before.place, after.place, strict=True)
        changed = bit_set(i for i, (old, new) in enumerate(pairs) if old != new)
    for old, new in zip(before[_FIRST:_LAST], after[_FIRST:_LAST], strict=True):
        changed |= old ^ new  # type: ignore[operator]
    places = (location_of(world, state, entity) for entity in entities(changed) for state in (before, after))
    return {place for place in places if place >= 0}


# ---- phrases for things, cached for all households


Form = Literal["thing", "here", "there"]
"""A thing in a list; the robot's location; another location."""
_MOST_PHRASES: Final = 1 << 16


def wording(language: Language) -> Mapping[str, Any]:
    """Read tables/observations.<language>.yaml."""
    return read_table(f"observations.{language}")


class Traits(NamedTuple):
    """Traits on which an entity's phrases depend; `states`: those it can have, indices of `State`."""

    label: str
    kind: str
    states: tuple[int, ...]
    color: str | None
    size: str | None


def traits_of(world: World) -> list[Traits]:
    """Return the traits of every entity."""
    kinds = world.kinds
    states = {kind.name: kind.states for kind in kinds}
    fields = {name: tuple(map(State._fields.index, names)) for name, names in states.items()}
    rows = zip(world.labels, kinds, world.colors, world.sizes, strict=True)
    return [Traits(label, kind.name, fields[kind.name], color, size) for label, kind, color, size in rows]


def state_values(state: State, traits: Traits, entity: int) -> tuple[int, ...]:
    """Return 1 or 0 for each state that an entity can have."""
    return tuple([state[field] >> entity & 1 for field in traits.states])  # type: ignore[operator]


@lru_cache(maxsize=_MOST_PHRASES)
def phrase(language: Language, form: Form, traits: Traits, values: tuple[int, ...]) -> str:
    """Return a noun with its states in front; `values`: see `state_values`."""
    table, name = wording(language), noun(language, traits)
    words = state_words(language, traits, values)
    pattern = table[f"{form}_with_states" if words else form]
    text: str = pattern.format(states=table["between_states"].join(words), noun=name)
    first, an = (*words, name)[0], table["other_article"]
    return text.replace(f"a {first}", an + first, 1) if an and first[0] in "aeiou" else text


def state_words(language: Language, traits: Traits, values: tuple[int, ...]) -> tuple[str, ...]:
    """Return the words for colour, size and the states worth mentioning (spec 9.3)."""
    table = wording(language)
    words = [table["value_words"][value] for value in (traits.color, traits.size) if value]
    for field, value in zip(traits.states, values, strict=True):
        by_value: Mapping[bool, str] = table["state_words"][State._fields[field]]
        if bool(value) in by_value:
            words.append(by_value[bool(value)])
    return tuple(words)


@lru_cache(maxsize=_MOST_PHRASES)
def noun(language: Language, traits: Traits) -> str:
    """Return the word for the type (in English its identifier) with the name used in commands."""
    name = word(traits.kind, language) if language != "en" else traits.kind
    return str(wording(language)["noun"].format(word=name, label=traits.label))
