"""The Heuristic robot: more of what the human has been picking up (spec 11.1).

It sees everything and reads the symbolic utterance and A(u). It makes one guess, plays a script for it and
stops.
"""

from __future__ import annotations

from random import Random
from typing import Final, NamedTuple

from simulator.handmethat.actions import Action
from simulator.handmethat.env.scripts import script_for
from simulator.handmethat.meanings.model import Grounding, Utterance
from simulator.handmethat.task import Task
from simulator.handmethat.world import State, World

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
    """What the robot may know of `task`: nothing of what is meant."""
    floor = task.world.entity("floor")
    state = task.current._replace(at=floor, given=0, waiting=False)
    return Known(task.world, state, task.actions, task.utterance, task.in_utterance)


def next_command(known: Known, seed: int, moves: int, *, changes: bool = False) -> str:
    """The command after `moves` commands.

    Args:
        known: the task, as the robot knows it.
        seed: of the episode; decides the guess.
        moves: commands so far.
        changes: also has scripts for change_state, which the published robot gives up (12.1 #28).
    """
    commands = plan(known, seed, changes=changes)
    return commands[moves] if moves < len(commands) else STOP


def plan(known: Known, seed: int, *, changes: bool = False) -> tuple[str, ...]:
    """All its commands, ``stop`` the last."""
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
    """Where the human has put things, each once, in the order of its actions."""
    return tuple(dict.fromkeys(action.args[1] for action in known.actions if "-put-" in action.name))


def _one_of(random: Random, options: tuple[int, ...]) -> int:
    return options[int(random.random() * len(options))]
