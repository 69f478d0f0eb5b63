"""The reader of commands (spec 9.2): the first word and marker words determine the form.

Only the last word of each part names a thing, so articles and adjectives are ignored. Reading a command
never raises; a command that cannot be executed has one of four errors:

* ``parse``: unknown form, or a name that no thing (or more than one) has.
* ``grounding``: the things exist, but things of their kind cannot have that role.
* ``precondition``: set by the game if the action is not possible in the state.
* ``length``: set by the game if the command or question is too long.

`Offers` lists the commands that make sense in a state (spec 9.4).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, Literal, NamedTuple

from simulator.handmethat.actions import Action
from simulator.handmethat.world import HUMAN, NOTHING, State, World, bit_set, entities

CommandKind = Literal["action", "look", "inventory", "help", "stop", "question", "invalid"]
CommandError = Literal["parse", "grounding", "precondition", "length"]
# Characters of a command or a question, including ``question:``.
LONGEST_COMMAND: Final = 256
HUMAN_WORD: Final = "human"
_CACHE_SIZE: Final = 10_000

_TO_BLANK: Final = str.maketrans({".": " ", ",": " "})
_NUMBER: Final = re.compile(r"(?<=\S)\s*#\s*(?=\d)|(?<=\S)\s+(?=[0-3](?:\s|$))")
_QUESTION: Final = re.compile(r"\s*question\s*[:：]\s*", re.IGNORECASE)
_SINGLE_WORDS: Final[Mapping[str, CommandKind]] = {
    "look": "look",
    "examine": "look",
    "inventory": "inventory",
    "help": "help",
    "stop": "stop",
}


class Command(NamedTuple):
    """A command that has been read.

    Attributes:
        verb: verb of an action: ``move``, ``pick-up``, ``pick-up-from``, ``put-inside``, ``put-ontop``,
            ``give``, ``take``, ``open``, ``close``, ``toggle-on``, ``toggle-off``, ``heat``, ``cool``,
            ``soak``, ``slice`` or ``clean``.
        args: entities of an action, in the order of its words.
        text: the words of a question; after a parse error, the unknown word.
        error: why it cannot be read; None without an error.
    """

    kind: CommandKind
    verb: str = ""
    args: tuple[int, ...] = ()
    text: str = ""
    error: CommandError | None = None


class Reader:
    """The reader of commands for one household."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._entities = {label: entity for entity, label in enumerate(world.labels)} | world.index
        self._entities[HUMAN_WORD] = HUMAN
        self._cache: dict[str, Command] = {}

    def read(self, text: str) -> Command:
        """Return the command in `text`; never raises."""
        command = self._cache.get(text)
        if command is None:
            command = self._read(text)
            # Invalid commands and questions can be any text, so they are not cached.
            if command.kind not in ("invalid", "question") and len(self._cache) < _CACHE_SIZE:
                self._cache[text] = command
        return command

    def ground(self, command: Command, at: int) -> Action | None:
        """Return the action of `command` for a robot at `at`; None if its things fit no action."""
        verb, args, kinds = command.verb, command.args, self._world.kinds
        target = args[-1]
        if verb in _WITH_HUMAN:
            return Action(_WITH_HUMAN[verb], args) if target == HUMAN != args[0] else None
        if verb == "move":
            return (
                Action("robot-move", (at, target)) if target == HUMAN or not kinds[target].movable else None
            )
        if HUMAN in args:
            return None
        if verb in _CONTAINERS:
            if not kinds[target].receptacle:
                return None
            if kinds[target].movable:
                return Action(f"robot-{verb}-receptacle-at-location", (*args, at))
            return Action(f"robot-{verb}-location", args)
        here, of_location = _GROUNDED[verb]
        if of_location and not kinds[args[0]].movable:
            return Action(of_location, (*args[1:], args[0]))
        return Action(here, (*args, at))

    def _read(self, text: str) -> Command:
        question = _QUESTION.match(text)
        if question:
            return Command("question", text=text[question.end() :].strip())
        words = normalize(text).split()
        if not words:
            return Command("invalid", error="parse")
        if words[0] in _SINGLE_WORDS:
            return Command(_SINGLE_WORDS[words[0]])
        verb, names = _parts(words[0], words[1:])
        unknown = next((name for name in names if name not in self._entities), None) if verb else words[0]
        if unknown is not None:
            return Command("invalid", text=unknown, error="parse")
        return Command("action", verb, tuple(self._entities[name] for name in names))


def normalize(text: str) -> str:
    """Return `text` in lower case, with blanks for ``.,``, ``apple#1`` for ``apple 1``, ``_`` for `` _ ``."""
    text = text.lower().translate(_TO_BLANK)
    return _NUMBER.sub("#", text).replace(" _ ", "_")


_FORMS: Final[Mapping[str, Mapping[str, str]]] = {
    "move": {"to": "move"},
    "pick": {"from": "pick-up-from", "": "pick-up"},
    "put": {"into": "put-inside", "onto": "put-ontop"},
    "give": {"to": "give"},
    "take": {"from": "take"},
    "toggle": {"on": "toggle-on", "off": "toggle-off"},
    "slice": {"with": "slice"},
    "clean": {"with": "clean"},
    **{verb: {"": verb} for verb in ("open", "close", "heat", "cool", "soak")},
}
"""First word -> marker -> verb; a form without a marker names one thing."""
_MARKER_FIRST: Final = ("move", "toggle")
"""First words whose marker comes before the only thing; other markers separate two things."""


def _parts(first: str, words: list[str]) -> tuple[str, list[str]]:
    """Return the verb of a form and the last word of each part; an empty verb if the form is unknown."""
    forms = _FORMS.get(first, {})
    marker = next((i for i, word in enumerate(words) if word in forms), None)
    if marker is None:
        return (forms[""], words[-1:]) if words and "" in forms else ("", [])
    before = [] if first in _MARKER_FIRST else words[:marker][-1:]
    names = before + words[marker + 1 :][-1:]
    complete = len(names) == (1 if first in _MARKER_FIRST else 2)
    return (forms[words[marker]], names) if complete else ("", [])


_WITH_HUMAN: Final = {"give": "robot-bring-to-human", "take": "robot-take-from-human"}
_CONTAINERS: Final = ("put-inside", "put-ontop", "open", "close")
"""Verbs that apply to a location or to a movable receptacle at one."""
_GROUNDED: Final[Mapping[str, tuple[str, str]]] = {
    "pick-up": ("robot-pick-up-at-location", ""),
    "pick-up-from": ("robot-pick-up-from-receptacle-at-location", ""),
    "heat": ("robot-heat-obj", ""),
    "cool": ("robot-cool-obj", ""),
    "soak": ("robot-soak-obj", ""),
    "slice": ("robot-slice-obj", ""),
    "toggle-on": ("robot-toggle-on-movable-at-location", "robot-toggle-on-location"),
    "toggle-off": ("robot-toggle-off-movable-at-location", "robot-toggle-off-location"),
    "clean": ("robot-clean-obj-at-location", "robot-clean-location"),
}
"""Verb -> the action on a thing, and the action on a location if it is a different one."""


# ---- commands that make sense in a state


CLEANING_TOOLS: Final = ("rag", "dishtowel", "hand_towel", "scrub_brush", "vacuum", "broom")
_PUT: Final = {"inside": "into", "ontop": "onto"}
# Role of an appliance -> the command, and the ability that it requires.
_APPLIANCE_COMMANDS: Final = {
    "heats": ("heat", "cookable"),
    "cools": ("cool", "freezable"),
    "soaks": ("soak", "soakable"),
}


class Offers:
    """Lists of valid commands in one household.

    `listed` is the published list, which includes some commands that are not applicable (dry cloths, wrong
    cleaning tools, slicing in a sink). `strict` is exactly what the robot's schemas allow. Both have a
    fixed order: moves, the human, the place, the things there.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._labels = world.labels
        self._moves = (
            *(f"move to {self._labels[place]}" for place in world.locations),
            f"move to {HUMAN_WORD}",
        )
        members = world.find_all
        self._openable, self._receptacles = members("openable"), members("receptacle")
        self._toggleable, self._sliceable = members("toggleable"), members("sliceable")
        self._cleanable = members("dustyable") | members("stainable")
        self._brushes = bit_set(
            entity for word in CLEANING_TOOLS for entity in entities(_of_type(world, word))
        )
        self._knives = _of_type(world, "knife")
        self._pick = tuple(f"pick up {label}" for label in self._labels)

    def listed(self, state: State, *, only_filled: bool = False) -> tuple[str, ...]:
        """Return the published list, without duplicates.

        `only_filled`: leave out lids of empty receptacles while the hand is empty (B11).
        """
        commands = list(self._moves)
        if state.at == HUMAN:
            commands += self._at_human(state)
        else:
            commands += self._at_place(state, only_filled)
        return tuple(commands)

    def strict(self, state: State) -> tuple[str, ...]:
        """Return the commands whose preconditions hold now."""
        if state.at == HUMAN:
            return (*self._moves, *self._at_human(state))
        return (*self._moves, *self._applicable_here(state))

    def _at_human(self, state: State) -> list[str]:
        if state.holding != NOTHING:
            return [f"give {self._labels[state.holding]} to {HUMAN_WORD}"]
        return [f"take {self._labels[entity]} from {HUMAN_WORD}" for entity in entities(state.given)]

    def _at_place(self, state: State, only_filled: bool) -> list[str]:
        at, held, labels = state.at, state.holding, self._labels
        commands = self._lid(state, at) + self._switch(state, at)
        brush, knife = (held >= 0 and bool(tools >> held & 1) for tools in (self._brushes, self._knives))
        if brush:
            commands.append(f"clean {labels[at]} with {labels[held]}")
        here = state.contents(at)
        if not self._openable >> at & 1 or state.open >> at & 1:
            things = bit_set(here)
            if brush:
                dusty = entities(things & self._cleanable)
                commands += [f"clean {labels[thing]} with {labels[held]}" for thing in dusty]
            if knife:
                sliceable = entities(things & self._sliceable)
                commands += [f"slice {labels[thing]} with {labels[held]}" for thing in sliceable]
            if held == NOTHING:
                commands += [self._pick[thing] for thing in here]
                for entity in entities(things & self._receptacles):
                    commands += self._commands_taking_from(state, entity, only_filled)
            else:
                commands.append(self._put(held, at))
                for entity in entities(things & self._receptacles):
                    commands += self._lid(state, entity)
                    if not self._receptacles >> held & 1 and not self._is_shut(state, entity):
                        commands.append(self._put(held, entity))
            for entity in entities(things & self._toggleable):
                commands += self._switch(state, entity)
        if held == NOTHING:
            commands += self._appliance(state, here)
        return commands

    def _commands_taking_from(self, state: State, receptacle: int, only_filled: bool) -> list[str]:
        inner = state.contents(receptacle)
        commands = self._lid(state, receptacle) if inner or not only_filled else []
        if not self._is_shut(state, receptacle):
            label = self._labels[receptacle]
            commands += [f"{self._pick[thing]} from {label}" for thing in inner]
        return commands

    def _appliance(self, state: State, here: Iterable[int]) -> list[str]:
        role = self._world.kinds[state.at].role
        if not role or not state.toggled >> state.at & 1:
            return []
        verb, ability = _APPLIANCE_COMMANDS[role]
        able = self._world.find_all(ability)
        return [f"{verb} {self._labels[thing]}" for thing in here if able >> thing & 1]

    def _lid(self, state: State, entity: int) -> list[str]:
        if not self._openable >> entity & 1:
            return []
        return [f"{'close' if state.open >> entity & 1 else 'open'} {self._labels[entity]}"]

    def _switch(self, state: State, entity: int) -> list[str]:
        if not self._toggleable >> entity & 1:
            return []
        return [f"toggle {'off' if state.toggled >> entity & 1 else 'on'} {self._labels[entity]}"]

    def _put(self, held: int, container: int) -> str:
        return f"put {self._labels[held]} {_PUT[self._world.relation(container)]} {self._labels[container]}"

    def _is_shut(self, state: State, entity: int) -> bool:
        return bool(self._openable >> entity & ~state.open >> entity & 1)

    def _applicable_here(self, state: State) -> list[str]:
        """Return the applicable commands at a location, except moves."""
        world, at, held, here = self._world, state.at, state.holding, state.contents(state.at)
        reachable = [] if self._is_hidden(state, at) else here
        commands = self._lid(state, at) + self._switch(state, at)
        if held == NOTHING:
            commands += [self._pick[thing] for thing in reachable]
        else:
            if not self._is_hidden(state, at):
                commands.append(self._put(held, at))
            commands += self._use(state, held, at, here, reachable)
        for thing in reachable:
            commands += self._lid(state, thing) + self._switch(state, thing)
            if not self._receptacles >> thing & 1 or self._is_hidden(state, thing):
                continue
            if held == NOTHING:
                label = self._labels[thing]
                commands += [f"{self._pick[inner]} from {label}" for inner in state.contents(thing)]
            elif not self._receptacles >> held & 1:
                commands.append(self._put(held, thing))
        # Only soaking works without a free hand.
        if held == NOTHING or world.kinds[at].role == "soaks":
            commands += self._appliance(state, here)
        return commands

    def _use(
        self, state: State, tool: int, at: int, here: Iterable[int], reachable: Iterable[int]
    ) -> list[str]:
        world, label, commands = self._world, self._labels[tool], list[str]()
        kind = world.kinds[tool].name
        if not world.find_all("soakable") >> tool & ~state.soaked >> tool & 1:
            targets = [thing for thing in (at, *reachable) if kind in world.kinds[thing].cleaners]
            dirty = [target for target in targets if self._cleanable >> target & 1]
            commands += [f"clean {self._labels[thing]} with {label}" for thing in dirty]
        if self._knives >> tool & 1 and world.relation(at) == "ontop":
            cut = [thing for thing in here if self._sliceable >> thing & 1]
            commands += [f"slice {self._labels[thing]} with {label}" for thing in cut]
        return commands

    def _is_hidden(self, state: State, container: int) -> bool:
        return self._world.relation(container) == "inside" and self._is_shut(state, container)


def _of_type(world: World, name: str) -> int:
    return bit_set(i for i, kind in enumerate(world.kinds) if kind.name == name)
