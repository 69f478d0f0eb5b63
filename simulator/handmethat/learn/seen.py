"""What a learned robot reads before a command, out of a game and the commands given so far.

Texts are the published wrapper's (``reference`` style), so that models meet the same words in training, in
play and on official files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from simulator.handmethat.env.game import Game, GameState
from simulator.handmethat.task import Task
from simulator.handmethat.views import Mode

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
        """The next command; everything random in it descends from `seed`."""
        ...


def reading_game(task: Task, mode: Mode, limit: int) -> Game:
    """The game as a learned robot reads it."""
    return Game(task, mode=mode, limit=limit, style="reference")


def read(game: Game, commands: Sequence[str], oracle: Oracle = "none") -> tuple[Seen, GameState]:
    """What is read after `commands`, and where the game stands then.

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
    """What is read in `state`."""
    formula = {"none": "", "goal": game.task.goal, "subgoal": game.task.subgoal or ""}[oracle]
    return Seen(
        history=history,
        task=f"{game.description} {formula}".strip(),
        observation=observation,
        look=game.look(state),
        inventory=game.inventory(state),
        valid=game.valid(state, reference=True),
    )
