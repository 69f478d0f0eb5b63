"""A trained policy in the robot's seat: ``seq2seq:FILE``, ``drrn:FILE`` or ``drrn-greedy:FILE``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from simulator.errors import InputError
from simulator.handmethat.learn.seen import read, reading_game
from simulator.handmethat.players.knows import InsiderKnows
from simulator.seats import Kind, Reply, View
from simulator.seeds import derive_seed

if TYPE_CHECKING:
    from simulator.handmethat.learn.policy import Policy

KINDS: Final = ("seq2seq", "drrn", "drrn-greedy")


class LearnedRobot:
    """Reads what it was trained to read, in the published wrapper's style; it never asks."""

    kind: Kind = "model"
    insider = True

    def __init__(self, name: str, policy: Policy) -> None:
        self._policy = policy
        self.name = name

    async def reply(self, view: View) -> Reply:
        """The next command; an empty one is said as a dash, which the household does not understand."""
        knows: InsiderKnows = view.task
        game = reading_game(knows.play.task, knows.play.options.mode, knows.play.options.limit)
        seen = read(game, knows.commands, self._policy.oracle)
        seed = derive_seed(knows.seed, "policy", len(knows.commands))
        return Reply(text=self._policy.command(seen, seed).strip() or "-")


def load_robot(name: str) -> LearnedRobot:
    """Return the robot of a checkpoint.

    Raises:
        InputError: if the name or the file is none of that kind, or torch is not installed.
    """
    file = name.partition(":")[2]
    if not Path(file).is_file():  # torch takes seconds to import
        raise InputError(
            f"{name}: there is no checkpoint {file!r}; train one with `askback train handmethat`."
        )
    try:
        from simulator.handmethat.learn.policy import load_policy
    except ModuleNotFoundError as error:
        raise InputError(
            f"{name}: learned robots need torch; install it with `pip install 'askback[local]'`."
        ) from error
    return LearnedRobot(name, load_policy(name))
