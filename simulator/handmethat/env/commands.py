"""What a command says (spec 9.2): its form is told by the first word and by marker words in between.

Only the last word of each part names a thing, so articles and adjectives do no harm. Reading a command
never fails with an exception; what cannot be read has an error, of one of four kinds:

* ``parse``: no such form, or a name that nothing (or more than one thing) has.
* ``grounding``: the things are there, but nothing of their kind can be in that role.
* ``precondition``: found by the game, when an action is not possible in its state.
* ``length``: found by the game too: longer than any command or question need be.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple

from simulator.handmethat.actions import Action
from simulator.handmethat.world import HUMAN, World

CommandKind = Literal["action", "look", "inventory", "help", "stop", "question", "invalid"]
CommandError = Literal["parse", "grounding", "precondition", "length"]
# Characters of a command or a question, ``question:`` included.
LONGEST_COMMAND: Final = 256
HUMAN_WORD: Final = "human"
_MOST_KEPT: Final = 10_000

_TO_BLANK: Final = str.maketrans({".": " ", ",": " "})
_NUMBER: Final = re.compile(r"(?<=\S)\s*#\s*(?=\d)|(?<=\S)\s+(?=[0-3](?:\s|$))")
_QUESTION: Final = re.compile(r"\s*question\s*[:：]\s*", re.IGNORECASE)
_PLAIN: Final[Mapping[str, CommandKind]] = {
    "look": "look",
    "examine": "look",
    "inventory": "inventory",
    "help": "help",
    "stop": "stop",
}


class Command(NamedTuple):
    """A command that has been read.

    Attributes:
        verb: of an action: ``move``, ``pick-up``, ``pick-up-from``, ``put-inside``, ``put-ontop``, ``give``,
            ``take``, ``open``, ``close``, ``toggle-on``, ``toggle-off``, ``heat``, ``cool``, ``soak``,
            ``slice`` or ``clean``.
        args: of an action: the entities it names, in the order of its words.
        text: the words of a question; of an error of parsing the word that has no meaning here.
        error: why it cannot be read; None if it can.
    """

    kind: CommandKind
    verb: str = ""
    args: tuple[int, ...] = ()
    text: str = ""
    error: CommandError | None = None


class Reader:
    """Reads the commands of one household."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._entities = {label: entity for entity, label in enumerate(world.labels)} | world.index
        self._entities[HUMAN_WORD] = HUMAN
        self._known: dict[str, Command] = {}

    def read(self, text: str) -> Command:
        """Return the command that `text` gives; never raises."""
        known = self._known.get(text)
        if known is None:
            known = self._read(text)
            # Nonsense and questions can be any text, so they are not kept.
            if known.kind not in ("invalid", "question") and len(self._known) < _MOST_KEPT:
                self._known[text] = known
        return known

    def ground(self, command: Command, at: int) -> Action | None:
        """Return the action that `command` means for a robot at `at`; None if its things fit no action."""
        return _ground(self._world, at, command)

    def _read(self, text: str) -> Command:
        question = _QUESTION.match(text)
        if question:
            return Command("question", text=text[question.end() :].strip())
        words = normalize(text).split()
        if not words:
            return Command("invalid", error="parse")
        first, rest = words[0], words[1:]
        if first in _PLAIN:
            return Command(_PLAIN[first])
        form = _FORMS.get(first)
        parts = form(rest) if form else None
        if parts is None:
            return Command("invalid", text=first, error="parse")
        verb, names = parts
        args = []
        for name in names:
            if name not in self._entities:
                return Command("invalid", text=name, error="parse")
            args.append(self._entities[name])
        return Command("action", verb, tuple(args))


def normalize(text: str) -> str:
    """Lower case, stops and commas as blanks, ``apple 1`` as ``apple#1``, ``gym _ shoe`` as ``gym_shoe``."""
    text = text.lower().translate(_TO_BLANK)
    return _NUMBER.sub("#", text).replace(" _ ", "_")


_Parts = tuple[str, tuple[str, ...]] | None


def _last(words: list[str]) -> str | None:
    return words[-1] if words else None


def _one(verb: str) -> Callable[[list[str]], _Parts]:
    """``verb O``."""
    return lambda words: (verb, (words[-1],)) if words else None


def _two(verbs: Mapping[str, str]) -> Callable[[list[str]], _Parts]:
    """``verb O marker X`` with one of several markers, each making its own verb."""

    def read(words: list[str]) -> _Parts:
        for i, word in enumerate(words):
            if word in verbs:
                names = _last(words[:i]), _last(words[i + 1 :])
                return (verbs[word], (names[0], names[1])) if names[0] and names[1] else None
        return None

    return read


def _after(verbs: Mapping[str, str]) -> Callable[[list[str]], _Parts]:
    """``verb marker X``."""

    def read(words: list[str]) -> _Parts:
        marker = next((word for word in words[:-1] if word in verbs), None)
        return (verbs[marker], (words[-1],)) if marker else None

    return read


def _pick(words: list[str]) -> _Parts:
    return _two({"from": "pick-up-from"})(words) if "from" in words else _one("pick-up")(words)


_FORMS: Final[Mapping[str, Callable[[list[str]], _Parts]]] = {
    "move": _after({"to": "move"}),
    "pick": _pick,
    "put": _two({"into": "put-inside", "onto": "put-ontop"}),
    "give": _two({"to": "give"}),
    "take": _two({"from": "take"}),
    "open": _one("open"),
    "close": _one("close"),
    "toggle": _after({"on": "toggle-on", "off": "toggle-off"}),
    "heat": _one("heat"),
    "cool": _one("cool"),
    "soak": _one("soak"),
    "slice": _two({"with": "slice"}),
    "clean": _two({"with": "clean"}),
}


def _ground(world: World, at: int, command: Command) -> Action | None:
    verb, args = command.verb, command.args
    if verb in ("give", "take"):
        if args[1] != HUMAN or args[0] == HUMAN:
            return None
        name = "robot-bring-to-human" if verb == "give" else "robot-take-from-human"
        return Action(name, args)
    target = args[-1]
    if verb == "move":
        stands = target == HUMAN or not world.kinds[target].movable
        return Action("robot-move", (at, target)) if stands else None
    if HUMAN in args:
        return None
    return _GROUNDED[verb](world, at, args)


def _container(verb: str) -> Callable[[World, int, tuple[int, ...]], Action | None]:
    """Return the variant for a location or for a movable receptacle; nothing for what holds nothing."""

    def ground(world: World, at: int, args: tuple[int, ...]) -> Action | None:
        kind = world.kinds[args[-1]]
        if not kind.receptacle:
            return None
        if kind.movable:
            return Action(f"robot-{verb}-receptacle-at-location", (*args, at))
        return Action(f"robot-{verb}-location", args)

    return ground


def _either(location: str, movable: str) -> Callable[[World, int, tuple[int, ...]], Action | None]:
    def ground(world: World, at: int, args: tuple[int, ...]) -> Action | None:
        if world.kinds[args[0]].movable:
            return Action(movable, (*args, at))
        return Action(location, (*args[1:], args[0]))

    return ground


def _here(name: str) -> Callable[[World, int, tuple[int, ...]], Action | None]:
    return lambda world, at, args: Action(name, (*args, at))


_GROUNDED: Final[Mapping[str, Callable[[World, int, tuple[int, ...]], Action | None]]] = {
    "pick-up": _here("robot-pick-up-at-location"),
    "pick-up-from": _here("robot-pick-up-from-receptacle-at-location"),
    "put-inside": _container("put-inside"),
    "put-ontop": _container("put-ontop"),
    "open": _container("open"),
    "close": _container("close"),
    "toggle-on": _either("robot-toggle-on-location", "robot-toggle-on-movable-at-location"),
    "toggle-off": _either("robot-toggle-off-location", "robot-toggle-off-movable-at-location"),
    "heat": _here("robot-heat-obj"),
    "cool": _here("robot-cool-obj"),
    "soak": _here("robot-soak-obj"),
    "slice": _here("robot-slice-obj"),
    "clean": _either("robot-clean-location", "robot-clean-obj-at-location"),
}
