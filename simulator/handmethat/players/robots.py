"""Robots that do not ask: random, heuristic, expert and trained ones (spec 9.6, 11)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

from simulator.errors import InputError, SeatError
from simulator.handmethat.env.scripts import expert_commands, script_for
from simulator.handmethat.items import Task
from simulator.handmethat.learn.seen import read, reading_game
from simulator.handmethat.players.knows import InsiderKnows
from simulator.seats import Kind, Reply, View
from simulator.seeds import derive_seed, one_of

if TYPE_CHECKING:
    from simulator.handmethat.learn.train import Policy

STOP: Final = "stop"
LEARNED: Final = ("seq2seq", "drrn", "drrn-greedy")
"""Prefixes of the names of trained robots; a colon and the checkpoint follow."""


class RandomRobot:
    """``offline/random``: a random valid command each turn."""

    kind: Kind = "offline"
    insider = True
    name = "offline/random"

    async def reply(self, view: View) -> Reply:
        """Return the next command."""
        knows: InsiderKnows = view.task
        valid = knows.play.valid(knows.game)
        return Reply(text=random_command(valid, knows.seed, len(knows.commands)))


def random_command(valid: Sequence[str], seed: int, moves: int) -> str:
    """Return a random valid command, determined by `seed` and the number of `moves` so far."""
    return one_of(Random(derive_seed(seed, "random", moves)), valid)


class HeuristicRobot:
    """``offline/heuristic``: guesses one more thing of the types that the human has picked up.

    It sees everything and reads the symbolic utterance and A(u). It makes one guess, follows a script for it
    and stops.

    Args:
        changes: ``offline/heuristic:changes``: also follow scripts for change_state, where the published
            robot stops immediately (spec 12.1 #28).
    """

    kind: Kind = "offline"
    insider = True

    def __init__(self, *, changes: bool = False) -> None:
        self._changes = changes
        self.name = "offline/heuristic:changes" if changes else "offline/heuristic"

    async def reply(self, view: View) -> Reply:
        """Return the next command of the script."""
        knows: InsiderKnows = view.task
        commands, moves = plan(knows.play.task, knows.seed, changes=self._changes), len(knows.commands)
        return Reply(text=commands[moves] if moves < len(commands) else STOP)


def plan(task: Task, seed: int, *, changes: bool = False) -> tuple[str, ...]:
    """Return all commands of `HeuristicRobot`, ending with ``stop``. They do not depend on the meaning."""
    random, world = Random(seed), task.world
    quest, argument = task.utterance.quest, task.utterance.argument
    candidates = _candidates(task)
    if not candidates or (quest == "change_state" and not changes):
        return (STOP,)
    entity = one_of(random, candidates)
    if quest == "move_to" and argument is None:
        # Places where the human has put things, without duplicates, in the order of the actions.
        places = list(dict.fromkeys(action.args[1] for action in task.actions if "-put-" in action.name))
        if not places:
            return (STOP,)
        argument = world.names[one_of(random, places)]
    state = task.current._replace(at=world.entity("floor"), given=0, waiting=False)
    return (*(script_for(world, state, quest, entity, argument) or ()), STOP)


def _candidates(task: Task) -> tuple[int, ...]:
    """Return the objects of A(u) whose type the human picked up, except those picked up; if none, all."""
    kinds = task.world.kinds
    picked = {action.args[0] for action in task.actions if "pick-up" in action.name}
    names = {kinds[entity].name for entity in picked}
    uttered = tuple(dict.fromkeys(entity for entity, _ in task.in_utterance))
    return (
        tuple(entity for entity in uttered if kinds[entity].name in names and entity not in picked) or uttered
    )


class ExpertRobot:
    """``offline/expert``: follows the demonstration of the file, or a script for an object of A(m)."""

    kind: Kind = "offline"
    insider = True
    name = "offline/expert"

    async def reply(self, view: View) -> Reply:
        """Return the next command of the demonstration, then ``stop``."""
        knows: InsiderKnows = view.task
        task, moves = knows.play.task, len(knows.commands)
        demo = task.demo or expert_commands(task, derive_seed(knows.seed, "demo"))
        if not demo:
            raise SeatError(f"{task.id}: no script of the expert succeeds.", "robot")
        return Reply(text=demo[moves] if moves < len(demo) else STOP)


class LearnedRobot:
    """A trained policy. It reads the texts it was trained on, in the style of the published wrapper."""

    kind: Kind = "model"
    insider = True

    def __init__(self, name: str, policy: Policy) -> None:
        self._policy = policy
        self.name = name

    async def reply(self, view: View) -> Reply:
        """Return the next command; an empty one becomes a dash, which is an invalid command."""
        knows: InsiderKnows = view.task
        game = reading_game(knows.play.task, knows.play.options.mode, knows.play.options.limit)
        observation = read(game, knows.commands, self._policy.oracle)
        seed = derive_seed(knows.seed, "policy", len(knows.commands))
        return Reply(text=self._policy.command(observation, seed).strip() or "-")


def load_robot(name: str) -> LearnedRobot:
    """Return the robot of a checkpoint: ``seq2seq:FILE``, ``drrn:FILE`` or ``drrn-greedy:FILE``.

    Raises:
        InputError: if the name or the file is not of that kind, or torch is not installed.
    """
    file = name.partition(":")[2]
    if not Path(file).is_file():  # torch takes seconds to import
        raise InputError(
            f"{name}: there is no checkpoint {file!r}; train one with `askback train handmethat`."
        )
    try:
        from simulator.handmethat.learn.train import load_policy
    except ModuleNotFoundError as error:
        raise InputError(
            f"{name}: learned robots need torch; install it with `pip install 'askback[local]'`."
        ) from error
    return LearnedRobot(name, load_policy(name))
