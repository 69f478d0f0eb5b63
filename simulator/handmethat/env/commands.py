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
from collections.abc import Mapping
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
        verb, args, kinds = command.verb, command.args, self._world.kinds
        target = args[-1]
        if verb in _OF_HUMAN:
            return Action(_OF_HUMAN[verb], args) if target == HUMAN != args[0] else None
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
        if words[0] in _PLAIN:
            return Command(_PLAIN[words[0]])
        verb, names = _parts(words[0], words[1:])
        unknown = next((name for name in names if name not in self._entities), None) if verb else words[0]
        if unknown is not None:
            return Command("invalid", text=unknown, error="parse")
        return Command("action", verb, tuple(self._entities[name] for name in names))


def normalize(text: str) -> str:
    """Lower case, stops and commas as blanks, ``apple 1`` as ``apple#1``, ``gym _ shoe`` as ``gym_shoe``."""
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
"""Of these the marker stands before the only thing; of others between two."""


def _parts(first: str, words: list[str]) -> tuple[str, list[str]]:
    """Return the verb of a form, and the last word of each of its parts; no verb if there is no such form."""
    forms = _FORMS.get(first, {})
    at = next((i for i, word in enumerate(words) if word in forms), None)
    if at is None:
        return (forms[""], words[-1:]) if words and "" in forms else ("", [])
    names = [*words[:at][-1:], *words[at + 1 :][-1:]] if first not in _MARKER_FIRST else words[at + 1 :][-1:]
    complete = len(names) == (1 if first in _MARKER_FIRST else 2)
    return (forms[words[at]], names) if complete else ("", [])


_OF_HUMAN: Final = {"give": "robot-bring-to-human", "take": "robot-take-from-human"}
_CONTAINERS: Final = ("put-inside", "put-ontop", "open", "close")
"""Done with a location, or with a movable receptacle at one."""
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
"""The action with a thing here, and with a location itself, where that is another."""
