"""The hand-coded robots: Random, Heuristic and the expert (spec 9.6, 11.1).

Heuristic does more of what the human has been picking up. It sees everything and reads the symbolic utterance
and A(u). It makes one guess, plays a script for it and stops.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final, NamedTuple

from simulator.errors import SeatError
from simulator.handmethat.actions import Action
from simulator.handmethat.env.scripts import expert_commands, script_for
from simulator.handmethat.meanings.model import Grounding, Utterance
from simulator.handmethat.players.knows import InsiderKnows
from simulator.handmethat.task import Task
from simulator.handmethat.world import State, World
from simulator.seats import Kind, Reply, View
from simulator.seeds import derive_seed


def random_command(valid: Sequence[str], seed: int, moves: int) -> str:
    """Return one of `valid`.

    Args:
        valid: the commands that are listed now.
        seed: of the episode.
        moves: commands so far.
    """
    return valid[int(Random(derive_seed(seed, "random", moves)).random() * len(valid))]


STOP: Final = "stop"


class Known(NamedTuple):
    """All that the robot knows of a task.

    Attributes:
        state: of the household when the human asks, the robot's hand empty.
        actions: what the human did.
        utterance: u.
        in_utterance: A(u).
    """

    world: World
    state: State
    actions: tuple[Action, ...]
    utterance: Utterance
    in_utterance: tuple[Grounding, ...]


def known_of(task: Task) -> Known:
    """Return what the robot may know of `task`: nothing of what is meant."""
    floor = task.world.entity("floor")
    state = task.current._replace(at=floor, given=0, waiting=False)
    return Known(task.world, state, task.actions, task.utterance, task.in_utterance)


def heuristic_command(known: Known, seed: int, moves: int, *, changes: bool = False) -> str:
    """Return the command after `moves` commands.

    Args:
        known: the task, as the robot knows it.
        seed: of the episode; decides the guess.
        moves: commands so far.
        changes: also has scripts for change_state, which the published robot gives up (12.1 #28).
    """
    commands = plan(known, seed, changes=changes)
    return commands[moves] if moves < len(commands) else STOP


def plan(known: Known, seed: int, *, changes: bool = False) -> tuple[str, ...]:
    """Return all its commands, ``stop`` the last."""
    random = Random(seed)
    candidates = _candidates(known)
    quest, argument = known.utterance.quest, known.utterance.argument
    if not candidates or (quest == "change_state" and not changes):
        return (STOP,)
    entity = _one_of(random, candidates)
    if quest == "move_to" and argument is None:
        destinations = _destinations(known)
        if not destinations:
            return (STOP,)
        argument = known.world.names[_one_of(random, destinations)]
    commands = script_for(known.world, known.state, quest, entity, argument)
    return (*(commands or ()), STOP)


def _candidates(known: Known) -> tuple[int, ...]:
    """Objects of A(u) of a type that the human picked up, those it picked up left out; else all of A(u)."""
    picked = {action.args[0] for action in known.actions if "pick-up" in action.name}
    kinds = {known.world.kinds[one].name for one in picked}
    said = tuple(dict.fromkeys(one for one, _ in known.in_utterance))
    alike = tuple(one for one in said if known.world.kinds[one].name in kinds and one not in picked)
    return alike or said


def _destinations(known: Known) -> tuple[int, ...]:
    """Return where the human has put things, each once, in the order of its actions."""
    return tuple(dict.fromkeys(action.args[1] for action in known.actions if "-put-" in action.name))


def _one_of(random: Random, options: tuple[int, ...]) -> int:
    return options[int(random.random() * len(options))]


class RandomRobot:
    """``offline/random``: any of the valid commands."""

    kind: Kind = "offline"
    insider = True
    name = "offline/random"

    async def reply(self, view: View) -> Reply:
        """Return the next command."""
        knows: InsiderKnows = view.task
        valid = knows.play.valid(knows.game)
        return Reply(text=random_command(valid, knows.seed, len(knows.commands)))


class HeuristicRobot:
    """``offline/heuristic``: more of what the human has been picking up. It sees everything.

    Args:
        changes: ``offline/heuristic:changes``: it also has scripts for change_state (spec 12.1 #28).
    """

    kind: Kind = "offline"
    insider = True

    def __init__(self, *, changes: bool = False) -> None:
        self._changes = changes
        self.name = "offline/heuristic:changes" if changes else "offline/heuristic"

    async def reply(self, view: View) -> Reply:
        """Return the next command of its one guess."""
        knows: InsiderKnows = view.task
        known = known_of(knows.play.task)
        moves = len(knows.commands)
        return Reply(text=heuristic_command(known, knows.seed, moves, changes=self._changes))


class ExpertRobot:
    """``offline/expert``: plays the demonstration of the file, or a script for an object of A(m)."""

    kind: Kind = "offline"
    insider = True
    name = "offline/expert"

    async def reply(self, view: View) -> Reply:
        """Return the next command of the demonstration; it stops where that is over."""
        knows: InsiderKnows = view.task
        task = knows.play.task
        demo = task.demo
        if not demo:
            demo = expert_commands(task, derive_seed(knows.seed, "demo")) or ()
            if not demo:
                raise SeatError(f"{task.id}: no script of the expert's succeeds.", "robot")
        done = len(knows.commands)
        return Reply(text=demo[done] if done < len(demo) else STOP)
