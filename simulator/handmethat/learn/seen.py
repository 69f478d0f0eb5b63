"""Input texts of learned robots, their vocabulary, and the networks' configurations.

Texts are in the published wrapper's style (``reference``), so that models get the same words in training, in
play and on official files. The configurations are in tables/learning.yaml (spec 11.2 and 11.3).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, Literal, Self

from simulator.errors import InputError
from simulator.fields import Fields
from simulator.handmethat.env.game import Game, GameState
from simulator.handmethat.env.observe import Mode
from simulator.handmethat.env.scripts import histories
from simulator.handmethat.hierarchy import read_table
from simulator.handmethat.items import Task

PAD: Final = 0
UNKNOWN: Final = 1
BEGIN: Final = 2
END: Final = 3
_SPECIAL: Final = ("<pad>", "<unknown>", "<begin>", "<end>", "[SEP]")
_WORDS: Final = re.compile(r"\[SEP\]|\w+|[^\w\s]")
Oracle = Literal["none", "goal", "subgoal"]
"""Information given in addition to the task: nothing, the goal's formula or the subgoal's."""


@dataclass(frozen=True)
class Vocabulary:
    """Known words; the number of a word is its index."""

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
    """Return the words of `text` in lower case; punctuation marks are separate words."""
    return [word if word == "[SEP]" else word.lower() for word in _WORDS.findall(text)]


def build_vocabulary(texts: Iterable[str]) -> Vocabulary:
    """Return the vocabulary of `texts`, most frequent words first."""
    counts = Counter(word for text in texts for word in split(text))
    words = sorted(counts, key=lambda word: (-counts[word], word))
    return Vocabulary((*_SPECIAL, *(word for word in words if word not in _SPECIAL)))


@dataclass(frozen=True, slots=True)
class PromptText:
    """The text before a command; `history`: the first observation, then each command with its own."""

    history: str
    task: str
    observation: str
    look: str
    inventory: str
    valid: tuple[str, ...]


def reading_game(task: Task, mode: Mode, limit: int) -> Game:
    """Return the game in the style that learned robots read."""
    return Game(task, mode=mode, limit=limit, style="reference")


def read(game: Game, commands: Sequence[str], oracle: Oracle = "none") -> PromptText:
    """Return the text after `commands`.

    Raises:
        ValueError: if the episode is over before the last command.
    """
    *_, (history, observation, state) = histories(game, commands)
    return prompt_text(game, state, history, observation, oracle)


def prompt_text(
    game: Game, state: GameState, history: str, observation: str, oracle: Oracle = "none"
) -> PromptText:
    """Return the text in `state`."""
    formula = {"none": "", "goal": game.task.goal, "subgoal": game.task.subgoal or ""}[oracle]
    return PromptText(
        history=history,
        task=f"{game.description} {formula}".strip(),
        observation=observation,
        look=game.look(state),
        inventory=game.inventory(state),
        valid=game.valid(state, reference=True),
    )


# ---- the configurations of the networks


class _Config(Fields):
    """A configuration of a network and its training.

    Attributes:
        clip: largest norm of a gradient.
        longest_text: largest number of words of a text.
    """

    kind: ClassVar[str]
    embedding: int
    width: int
    rate: float
    clip: float
    batch: int
    longest_text: int

    @classmethod
    def named(cls, name: str, **changed: Any) -> Self:
        """Return the configuration called `name`, with some values changed; None keeps a value.

        Raises:
            InputError: if the name is unknown.
        """
        table = read_table("learning")[cls.kind]
        if name not in table:
            raise InputError(f"There is no {cls.kind} configuration {name!r}; use one of {', '.join(table)}.")
        changes = {key: value for key, value in changed.items() if value is not None}
        return cls.parse({**table[name], **changes})


class Seq2SeqConfig(_Config):
    """Configuration of behaviour cloning; a longer text is shortened to its first and last words."""

    kind = "seq2seq"
    convolutions: int
    kernel: int
    heads: int
    dropout: float
    label_smoothing: float
    updates: int
    longest_command: int


class DrrnConfig(_Config):
    """Configuration of a deep reinforcement relevance network; a longer text is shortened to its last words.

    Attributes:
        discount: gamma, per move.
        replay: capacity of the replay buffer in transitions.
        priority: share of replay and batch for the episodes that equal or beat the best score so far.
        target_every: steps between copies to the target network.
        environments: environments played in parallel.
        steps: total steps of each environment.
    """

    kind = "drrn"
    discount: float
    replay: int
    priority: float
    target_every: int
    environments: int
    steps: int
    limit: int
