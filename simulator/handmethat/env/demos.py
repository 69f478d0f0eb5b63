"""What an expert does who knows what is meant, and what it reads before each command (spec 9.6)."""

from __future__ import annotations

from random import Random
from typing import Final, NamedTuple

from simulator.handmethat.env.game import Game, GameState
from simulator.handmethat.env.observe import TextStyle
from simulator.handmethat.env.scripts import script_for
from simulator.handmethat.task import Task

SEPARATOR: Final = "[SEP]"


class Demo(NamedTuple):
    """An expert's commands for a task.

    Attributes:
        commands: the last one succeeds, none before it does.
        full: what it has read before each of them, fully observable.
        partial: the same, partially observable, with the view after each command.
    """

    commands: tuple[str, ...]
    full: tuple[str, ...]
    partial: tuple[str, ...]


def expert_demo(task: Task, seed: int, *, style: TextStyle = "reference") -> Demo | None:
    """A demonstration for one object of A(m), drawn by `seed`.

    Args:
        task: what is asked.
        seed: decides which object.
        style: ``reference``: commands and histories as published (``apple 1``).

    Returns:
        None if the script does not succeed, in both modes, exactly with its last command.
    """
    commands = expert_commands(task, seed)
    if commands is None:
        return None
    full = Game(task, mode="full", style=style)
    partial = full.in_mode("partial")
    commands = tuple(map(full.styled, commands))
    of_full, of_partial = _history(full, commands), _history(partial, commands)
    if of_full is None or of_partial is None:
        return None
    return Demo(commands, of_full, of_partial)


def expert_commands(task: Task, seed: int) -> tuple[str, ...] | None:
    """The commands of `expert_demo` alone, readable; the rules are the same in both modes."""
    if not task.in_meaning:
        return None
    entity, argument = task.in_meaning[int(Random(seed).random() * len(task.in_meaning))]
    game = Game(task, text=False)
    state = game.start()
    commands = script_for(task.world, state.state, task.meaning.quest, entity, argument)
    for number, command in enumerate(commands or (), start=1):
        state = game.act(state, command).game
        if state.done:
            return commands if state.success and number == len(commands or ()) else None
    return None


def history(game: Game, commands: tuple[str, ...]) -> tuple[tuple[str, ...], GameState]:
    """What is read before each of some commands, and where they lead."""
    text, state = game.opening(with_task=False), game.start()
    read: list[str] = []
    for command in commands:
        read.append(text)
        outcome = game.act(state, command)
        state = outcome.game
        text = f"{text} {SEPARATOR} {command} {SEPARATOR} {outcome.observation}"
        if game.mode == "partial":
            text = f"{text} {game.look(state)}"
        if state.done:
            break
    return tuple(read), state


def _history(game: Game, commands: tuple[str, ...]) -> tuple[str, ...] | None:
    """The history, if success comes exactly with the last command."""
    read, state = history(game, commands)
    return read if state.success and state.moves == len(commands) else None
