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
from typing import Final, Literal

from simulator.handmethat.env.game import Game, GameState
from simulator.handmethat.env.observe import Mode
from simulator.handmethat.env.scripts import histories
from simulator.handmethat.task import Task

PAD: Final = 0
UNKNOWN: Final = 1
BEGIN: Final = 2
END: Final = 3
_SPECIAL: Final = ("<pad>", "<unknown>", "<begin>", "<end>", "[SEP]")
_WORDS: Final = re.compile(r"\[SEP\]|\w+|[^\w\s]")
Oracle = Literal["none", "goal", "subgoal"]
"""What a robot is told beside the task: nothing, the goal's formula or the subgoal's."""


@dataclass(frozen=True)
class Vocabulary:
    """Known words; a word's number is its place."""

    words: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Word -> number."""
        return {word: number for number, word in enumerate(self.words)}

    def encode(self, text: str) -> list[int]:
        """Return the numbers of the words of `text`."""
        return [self.numbers.get(word, UNKNOWN) for word in split(text)]

    def decode(self, numbers: Sequence[int]) -> str:
        """Return the words of `numbers` up to the end mark, joined by blanks."""
        end = numbers.index(END) if END in numbers else len(numbers)
        return " ".join(self.words[number] for number in numbers[:end])


def split(text: str) -> list[str]:
    """Return the words of `text` in lower case; marks of punctuation are words of their own."""
    return [word if word == "[SEP]" else word.lower() for word in _WORDS.findall(text)]


def build_vocabulary(texts: Iterable[str]) -> Vocabulary:
    """Return every word that occurs, the most frequent first."""
    counts = Counter(word for text in texts for word in split(text))
    words = sorted(counts, key=lambda word: (-counts[word], word))
    return Vocabulary((*_SPECIAL, *(word for word in words if word not in _SPECIAL)))


@dataclass(frozen=True, slots=True)
class PromptText:
    """The text before a command.

    Attributes:
        history: the first observation without the task, then every command and what it led to.
        task: what the human did and said.
        observation: the last one alone.
        inventory: what the robot holds, and the task.
    """

    history: str
    task: str
    observation: str
    look: str
    inventory: str
    valid: tuple[str, ...]


def reading_game(task: Task, mode: Mode, limit: int) -> Game:
    """Return the game as a learned robot reads it."""
    return Game(task, mode=mode, limit=limit, style="reference")


def read(game: Game, commands: Sequence[str], oracle: Oracle = "none") -> PromptText:
    """Return what is read after `commands`.

    Raises:
        ValueError: if the episode was over before the last of them.
    """
    *_, (history, observation, state) = histories(game, commands)
    return seen(game, state, history, observation, oracle)


def seen(game: Game, state: GameState, history: str, observation: str, oracle: Oracle = "none") -> PromptText:
    """Return what is read in `state`."""
    formula = {"none": "", "goal": game.task.goal, "subgoal": game.task.subgoal or ""}[oracle]
    return PromptText(
        history=history,
        task=f"{game.description} {formula}".strip(),
        observation=observation,
        look=game.look(state),
        inventory=game.inventory(state),
        valid=game.valid(state, reference=True),
    )
