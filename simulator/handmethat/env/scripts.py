"""Fixed scripts of commands that help with one thing, and the expert's demonstrations (spec 9.6).

Each command of a script is carried out as it is written, so that later ones take open lids and moved things
into account.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Final

from simulator.handmethat.actions import domain
from simulator.handmethat.env.commands import HUMAN_WORD, Reader
from simulator.handmethat.env.game import Game, GameState
from simulator.handmethat.items import Task
from simulator.handmethat.meanings.model import Quest
from simulator.handmethat.world import HUMAN, State, World, is_unlocked, location_of
from simulator.seeds import one_of

KNIFE: Final = "knife#0"
_DISHES: Final = ("vessel", "tableware", "utensil", "tray")


def script_for(
    world: World, state: State, quest: Quest, entity: int, argument: str | None
) -> tuple[str, ...] | None:
    """Return commands that help with one thing, some maybe impossible; None if there is no script.

    `argument`: the name of the destination or the verb; None for bring_me.
    """
    writer = _Writer(world, state)
    if quest == "bring_me":
        complete = _fetch(writer, entity) and _bring(writer, entity)
    elif quest == "move_to":
        complete = argument is not None and _move(writer, entity, world.entity(argument))
    else:
        change = _CHANGES.get(argument or "")
        complete = change is not None and change(writer, entity)
    return tuple(writer.commands) if complete else None


class _Writer:
    """A script in progress, with the state after its commands so far."""

    def __init__(self, world: World, state: State) -> None:
        self.world, self.state = world, state
        self.commands: list[str] = []
        self.labels = world.labels
        self._reader = Reader(world)

    def write(self, text: str) -> None:
        self.commands.append(text)
        action = self._reader.ground(self._reader.read(text), self.state.at)
        if action is not None:
            schema = domain("robot")[action.name]
            if schema.applicable(self.world, self.state, action.args):
                self.state = schema.apply(self.state, action.args)

    def go(self, place: int) -> None:
        self.write(f"move to {self.labels[place] if place != HUMAN else HUMAN_WORD}")

    def open_up(self, container: int) -> None:
        if not is_unlocked(self.world, self.state, container):
            self.write(f"open {self.labels[container]}")

    def put(self, entity: int, container: int) -> None:
        word = "into" if self.world.relation(container) == "inside" else "onto"
        self.write(f"put {self.labels[entity]} {word} {self.labels[container]}")

    def switch_on(self, entity: int) -> None:
        if not self.state.toggled >> entity & 1:
            self.write(f"toggle on {self.labels[entity]}")


def _fetch(writer: _Writer, entity: int) -> bool:
    world, container = writer.world, writer.state.container(entity)
    place = location_of(world, writer.state, entity)
    if place < 0:
        return False
    writer.go(place)
    writer.open_up(place)
    if container == place:
        writer.write(f"pick up {writer.labels[entity]}")
    else:
        writer.open_up(container)
        writer.write(f"pick up {writer.labels[entity]} from {writer.labels[container]}")
    return True


def _bring(writer: _Writer, entity: int) -> bool:
    writer.go(HUMAN)
    writer.write(f"give {writer.labels[entity]} to {HUMAN_WORD}")
    return True


def _move(writer: _Writer, entity: int, destination: int) -> bool:
    if not (writer.world.kinds[destination].receptacle and _fetch(writer, entity)):
        return False
    place = location_of(writer.world, writer.state, destination)
    if place < 0:
        return False
    writer.go(place)
    writer.open_up(place)
    if destination != place:
        writer.open_up(destination)
    writer.put(entity, destination)
    return True


def _act_there(verb: str) -> Callable[[_Writer, int], bool]:
    def change(writer: _Writer, entity: int) -> bool:
        place = location_of(writer.world, writer.state, entity)
        if place < 0:
            return False
        writer.go(place)
        writer.open_up(place)
        writer.write(f"{verb} {writer.labels[entity]}")
        return True

    return change


def _with_appliance(verb: str, appliance: str, *, shut: bool = False) -> Callable[[_Writer, int], bool]:
    """Return a script: put the thing into an appliance, close it if `shut`, switch it on, and act."""

    def change(writer: _Writer, entity: int) -> bool:
        place = writer.world.entity(appliance)
        if not _move(writer, entity, place):
            return False
        if shut:
            writer.write(f"close {writer.labels[place]}")
        writer.switch_on(place)
        writer.write(f"{verb} {writer.labels[entity]}")
        return True

    return change


_soak: Final = _with_appliance("soak", "sink")


def cloth_for(world: World, entity: int) -> str:
    """Return the name of the cloth with which the script cleans a thing."""
    return "dishtowel#0" if world.kinds[entity].subclass in _DISHES else "rag#0"


def _clean(writer: _Writer, entity: int) -> bool:
    world = writer.world
    tool, place = world.index.get(cloth_for(world, entity)), entity
    if tool is None:
        return False
    if world.kinds[entity].movable:
        place = writer.world.entity("table")
        if not _move(writer, entity, place):
            return False
    if not _soak(writer, tool):
        return False
    writer.write(f"pick up {writer.labels[tool]}")
    writer.go(place)
    writer.write(f"clean {writer.labels[entity]} with {writer.labels[tool]}")
    return True


def _slice(writer: _Writer, entity: int) -> bool:
    knife, table = writer.world.index.get(KNIFE), writer.world.entity("table")
    if knife is None or not _move(writer, entity, table) or not _fetch(writer, knife):
        return False
    writer.go(table)
    writer.write(f"slice {writer.labels[entity]} with {writer.labels[knife]}")
    return True


_CHANGES: Final[Mapping[str, Callable[[_Writer, int], bool]]] = {
    "open": _act_there("open"),
    "toggle": _act_there("toggle on"),
    "soak": _soak,
    "heat": _with_appliance("heat", "stove"),
    "cool": _with_appliance("cool", "refrigerator", shut=True),
    "clean": _clean,
    "slice": _slice,
}


SEPARATOR: Final = "[SEP]"


def demonstrate(task: Task, seed: int) -> Task | None:
    """Add the expert's commands for a drawn object of A(m); None unless exactly the last one succeeds."""
    commands = expert_commands(task, seed)
    if commands is None:
        return None
    full = Game(task, mode="full", style="reference")
    demo = tuple(map(full.styled, commands))

    def texts(game: Game) -> tuple[str, ...]:
        return tuple(text for text, _, _ in list(histories(game, demo))[:-1])

    partial = full.in_mode("partial")
    return replace(
        task, demo=demo, demo_full=texts(full), demo_partial=texts(partial), description=full.description
    )


def expert_commands(task: Task, seed: int) -> tuple[str, ...] | None:
    """Return the commands of `demonstrate` in readable style, or None; they are the same in both modes."""
    if not task.in_meaning:
        return None
    entity, argument = one_of(Random(seed), task.in_meaning)
    game = Game(task, text=False)
    state = game.start()
    commands = script_for(task.world, state.state, task.meaning.quest, entity, argument)
    for number, command in enumerate(commands or (), start=1):
        state = game.act(state, command).game
        if state.done:
            return commands if state.success and number == len(commands or ()) else None
    return None


def histories(game: Game, commands: Sequence[str]) -> Iterator[tuple[str, str, GameState]]:
    """Yield the text so far, the last observation and the state, before each command and after the last.

    Raises:
        ValueError: if the episode is over before the last command.
    """
    state, observation = game.start(), game.opening(with_task=False)
    text = observation
    yield text, observation, state
    for command in commands:
        outcome = game.act(state, command)
        state, observation = outcome.game, outcome.observation
        # In full mode the first observation had the view.
        view = f" {game.look(state)}" if game.mode == "partial" else ""
        text = f"{text} {SEPARATOR} {command} {SEPARATOR} {observation}{view}"
        yield text, observation, state
