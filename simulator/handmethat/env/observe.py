"""What the robot reads: views, confirmations, the inventory, the task (spec 9.3).

All of it derives from one state, so nothing can be shown that the rules do not know (B10). Wordings are in
tables/observations.*.yaml. The lists of things are kept by what lies there and how it is, since a command
changes little.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any, Final, Literal

import yaml

from simulator.handmethat.env.commands import Command, CommandError
from simulator.handmethat.env.naming import Language, Names
from simulator.handmethat.env.questions import official_questions
from simulator.handmethat.env.sight import shows
from simulator.handmethat.hierarchy import STATES, TABLES
from simulator.handmethat.views import Mode
from simulator.handmethat.world import HUMAN, NOTHING, BitSet, State, World, bit_set, entities

TextStyle = Literal["readable", "reference"]
_FIRST: Final = State._fields.index(STATES[0])
_LAST: Final = _FIRST + len(STATES)
_MOST_KEPT: Final = 20_000
_BLANKS: Final = re.compile(r"\s+")


@cache
def wording(language: Language) -> Mapping[str, Any]:
    """The table of a language."""
    text = (TABLES / f"observations.{language}.yaml").read_text(encoding="utf-8")
    return MappingProxyType(yaml.safe_load(text))


def reference_text(text: str) -> str:
    """As the published wrapper prints: "#" as a blank, no commas (B15)."""
    return text.replace("#", " ").replace(",", "")


def collapse(text: str) -> str:
    """With runs of white space as one blank, as the published wrapper does to observations."""
    return _BLANKS.sub(" ", text).strip()


class Observer:
    """Puts states of one household into words.

    Args:
        world: the household.
        language: of the words.
    """

    def __init__(self, world: World, language: Language = "en") -> None:
        self.world, self.language = world, language
        self.names = Names(world, language)
        self.table = wording(language)
        self._receptacles = world.of("receptacle")
        self._masks: dict[tuple[int, ...], BitSet] = {}
        self._lists: dict[tuple[object, ...], str] = {}
        self._nouns: dict[int, str] = {}
        self._things: dict[tuple[object, ...], str] = {}

    def view(self, state: State, mode: Mode, *, quirk: bool = False) -> str:
        """What the robot sees now.

        Args:
            state: of the household.
            mode: what it may see.
            quirk: in full mode, lids hide things at the current place (12.1 #25).
        """
        at, everything = state.at, mode == "full"
        lines = []
        if at == HUMAN:
            lines.append(self.table["with_human"])
        else:
            lines.append(self._place("here", state, at, lids=not everything or quirk))
        if everything:
            places = [place for place in self.world.locations if place != at]
            lines += [self._place("there", state, place, lids=False) for place in places]
        if everything or at == HUMAN:
            given = list(entities(state.given))
            lines.append(self.table["human_holds"].format(things=self._list(state, given)))
        return "\n".join(lines)

    def inventory(self, state: State) -> str:
        """What the robot holds."""
        held = [] if state.holding == NOTHING else [state.holding]
        return str(self.table["you_hold"].format(things=self._list(state, held)))

    def room(self) -> str:
        """The human and the locations, the floor excepted."""
        places = [self._noun(place) for place in self.world.locations if self.world.names[place] != "floor"]
        articles = [self._article(self.table["thing"].format(noun=noun), noun) for noun in places]
        things = self.table["between_things"].join([self.table["human_thing"], *articles])
        return str(self.table["room"].format(things=things))

    def opening(self, state: State, task: str | None, view: str) -> str:
        """What the robot reads first; without `task` (its description) as histories have it (spec 9.6)."""
        table, at = self.table, self._noun(state.at)
        lines = [table["greeting"], self.room()]
        if task is not None:
            lines.append(task)
        return "\n".join([*lines, table["start"].format(place=at), view, table["closing"]])

    def confirmation(self, command: Command) -> str:
        """That an action has been carried out."""
        names = [self.names.display(entity) for entity in command.args]
        if command.verb == "move" and command.args[0] == HUMAN:
            names = [self.table["human"]]
        return str(self.table["done"][command.verb].format(*names))

    def failure(self, error: CommandError) -> str:
        """That a command has not been carried out."""
        return str(self.table["failed"][error])

    @cached_property
    def help(self) -> str:
        """The commands and the questions."""
        between = self.table["between_things"]
        return str(
            self.table["help"].format(
                commands=between.join(self.table["command_forms"]),
                questions=between.join(official_questions(self.language)),
            )
        )

    def state_words(self, state: State, entity: int) -> tuple[str, ...]:
        """Words for how an entity is, in the order of 9.3: colour, size, then what is true, and lids."""
        world, table = self.world, self.table
        values = (world.colors[entity], world.sizes[entity])
        words = [table["value_words"][value] for value in values if value]
        for name in world.kinds[entity].states:
            truth = bool(getattr(state, name) >> entity & 1)
            if truth in table["state_words"][name]:
                words.append(table["state_words"][name][truth])
        return tuple(words)

    def _place(self, key: str, state: State, place: int, lids: bool) -> str:
        sentences = [self._header(key, state, place)]
        if lids and not shows(self.world, state, place):
            return sentences[0]
        here = state.contents(place)
        word = "in_it" if self.world.relation(place) == "inside" else "on_it"
        sentences.append(self.table[word].format(things=self._list(state, here)))
        for one in here:
            if self._receptacles >> one & 1 and (not lids or shows(self.world, state, one)):
                inner = state.contents(one)
                if inner:
                    word = "in_thing" if self.world.relation(one) == "inside" else "on_thing"
                    things = self._list(state, inner)
                    sentences.append(self.table[word].format(noun=self._noun(one), things=things))
        return " ".join(sentences) if self.language == "en" else "".join(sentences)

    def _header(self, key: str, state: State, place: int) -> str:
        bits = tuple([field >> place & 1 for field in state[_FIRST:_LAST]])  # type: ignore[operator]
        found = self._things.get((key, place, bits))
        if found is None:
            words = self.state_words(state, place)
            pattern = self.table[f"{key}_with_states" if words else key]
            text = pattern.format(states=self.table["between_states"].join(words), noun=self._noun(place))
            found = self._things[key, place, bits] = self._article(text, (*words, self._noun(place))[0])
        return found

    def _list(self, state: State, things: Sequence[int]) -> str:
        """Things with their states, separated; or that there is nothing."""
        if not things:
            return str(self.table["nothing"])
        which = tuple(things)
        mask = self._masks.get(which)
        if mask is None:
            mask = self._masks[which] = bit_set(which)
        key = (which, *(field & mask for field in state[_FIRST:_LAST]))  # type: ignore[operator]
        found = self._lists.get(key)
        if found is None:
            if len(self._lists) >= _MOST_KEPT:
                self._lists.clear()
                self._masks.clear()
            found = self._lists[key] = self.table["between_things"].join(
                self._thing(state, one) for one in things
            )
        return found

    def _thing(self, state: State, entity: int) -> str:
        bits = tuple([field >> entity & 1 for field in state[_FIRST:_LAST]])  # type: ignore[operator]
        found = self._things.get((entity, bits))
        if found is None:
            words, noun = self.state_words(state, entity), self._noun(entity)
            pattern = self.table["thing_with_states" if words else "thing"]
            text = pattern.format(states=self.table["between_states"].join(words), noun=noun)
            found = self._things[entity, bits] = self._article(text, (*words, noun)[0])
        return found

    def _noun(self, entity: int) -> str:
        found = self._nouns.get(entity)
        if found is None:
            pattern = self.table["noun"]
            found = pattern.format(word=self.names.word(entity), label=self.names.labels[entity])
            self._nouns[entity] = found
        return found

    def _article(self, text: str, word: str) -> str:
        """`text` with the right article in front of `word`."""
        other = self.table["other_article"]
        if not other or word[0] not in "aeiou":
            return text
        return text.replace(f"a {word}", other + word, 1)
