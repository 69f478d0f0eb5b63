"""What a learned robot reads before a command, out of a game and the commands so far; words as numbers.

Texts are the published wrapper's (``reference`` style), so that models meet the same words in training, in
play and on official files.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Final, Literal, Protocol

from simulator.handmethat.env.game import Game, GameState
from simulator.handmethat.task import Task
from simulator.handmethat.views import Mode

PAD: Final = 0
UNKNOWN: Final = 1
BEGIN: Final = 2
END: Final = 3
_SPECIAL: Final = ("<pad>", "<unknown>", "<begin>", "<end>", "[SEP]")
_WORDS: Final = re.compile(r"\[SEP\]|\w+|[^\w\s]")


@dataclass(frozen=True)
class Vocabulary:
    """Known words; a word's number is its place."""

    words: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def numbers(self) -> MappingProxyType[str, int]:
        """Word -> number."""
        return MappingProxyType({word: number for number, word in enumerate(self.words)})

    def encode(self, text: str) -> list[int]:
        """Return the numbers of the words of `text`."""
        return [self.numbers.get(word, UNKNOWN) for word in split(text)]

    def decode(self, numbers: Iterable[int]) -> str:
        """Return the words of `numbers` up to the end mark, joined by blanks."""
        words = []
        for number in numbers:
            if number == END:
                break
            words.append(self.words[number])
        return " ".join(words)


def split(text: str) -> list[str]:
    """Return the words of `text` in lower case; marks of punctuation are words of their own."""
    return [word if word == "[SEP]" else word.lower() for word in _WORDS.findall(text)]


def build_vocabulary(texts: Iterable[str], least: int = 1) -> Vocabulary:
    """Return every word that occurs at least `least` times, the most frequent first."""
    counts = Counter(word for text in texts for word in split(text))
    kept = sorted((word for word, n in counts.items() if n >= least), key=lambda word: (-counts[word], word))
    return Vocabulary((*_SPECIAL, *(word for word in kept if word not in _SPECIAL)))


SEPARATOR: Final = " [SEP] "
# What an oracle variant is told beside the task: nothing, the goal's formula or the subgoal's.
Oracle = Literal["none", "goal", "subgoal"]


@dataclass(frozen=True, slots=True)
class Seen:
    """What is read before a command.

    Attributes:
        history: the first observation without the task, then every command and what it led to.
        task: what the human did and said.
        observation: the last one alone.
        look: the view now.
        inventory: what the robot holds, and the task.
        valid: the listed commands.
    """

    history: str
    task: str
    observation: str
    look: str
    inventory: str
    valid: tuple[str, ...]


class Policy(Protocol):
    """A learned robot."""

    @property
    def name(self) -> str:
        """How the log names it: ``seq2seq:FILE`` or ``drrn:FILE``."""
        ...

    @property
    def oracle(self) -> Oracle:
        """What it is told beside the task."""
        ...

    def command(self, seen: Seen, seed: int) -> str:
        """Return the next command; everything random in it descends from `seed`."""
        ...


def reading_game(task: Task, mode: Mode, limit: int) -> Game:
    """Return the game as a learned robot reads it."""
    return Game(task, mode=mode, limit=limit, style="reference")


def read(game: Game, commands: Sequence[str], oracle: Oracle = "none") -> tuple[Seen, GameState]:
    """Return what is read after `commands`, and where the game stands then.

    Raises:
        ValueError: if the episode was over before the last of them.
    """
    state = game.start()
    observation = game.opening(with_task=False)
    history = observation
    for command in commands:
        outcome = game.act(state, command)
        state, observation = outcome.game, outcome.observation
        history = extend(history, command, observation, game.look(state) if game.mode == "partial" else "")
    return seen(game, state, history, observation, oracle), state


def extend(history: str, command: str, observation: str, view: str) -> str:
    """The history after one more command; `view` is empty where everything was in the first observation."""
    return SEPARATOR.join((history, command, f"{observation} {view}".strip()))


def seen(game: Game, state: GameState, history: str, observation: str, oracle: Oracle = "none") -> Seen:
    """Return what is read in `state`."""
    formula = {"none": "", "goal": game.task.goal, "subgoal": game.task.subgoal or ""}[oracle]
    return Seen(
        history=history,
        task=f"{game.description} {formula}".strip(),
        observation=observation,
        look=game.look(state),
        inventory=game.inventory(state),
        valid=game.valid(state, reference=True),
    )
