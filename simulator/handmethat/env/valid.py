"""Commands that make sense in a state (spec 9.4).

`Offers.listed` is the published list: most of it applicable, some of it not (dry cloths, tools that clean
something else, slicing in a sink). `Offers.strict` is exactly what the robot's schemas allow. Both come in
a fixed order: moves, the human, the place, the things there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from simulator.handmethat.env.commands import HUMAN_WORD
from simulator.handmethat.env.questions import official_questions
from simulator.handmethat.world import HUMAN, NOTHING, State, World, bit_set, entities
from trees import Language

CLEANING_TOOLS: Final = ("rag", "dishtowel", "hand_towel", "scrub_brush", "vacuum", "broom")
_PUT: Final = {"inside": "into", "ontop": "onto"}
# What an appliance does to what is in or on it: the command, and the ability that it takes.
_DOES: Final = {
    "heats": ("heat", "cookable"),
    "cools": ("cool", "freezable"),
    "soaks": ("soak", "soakable"),
}


class Offers:
    """Lists the commands of one household."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._labels = world.labels
        self._moves = (
            *(f"move to {self._labels[place]}" for place in world.locations),
            f"move to {HUMAN_WORD}",
        )
        members = world.of
        self._openable, self._receptacles = members("openable"), members("receptacle")
        self._toggleable, self._sliceable = members("toggleable"), members("sliceable")
        self._cleanable = members("dustyable") | members("stainable")
        self._brushes = bit_set(
            entity for word in CLEANING_TOOLS for entity in entities(_of_type(world, word))
        )
        self._knives = _of_type(world, "knife")
        self._pick = tuple(f"pick up {label}" for label in self._labels)

    def listed(self, state: State, *, only_filled: bool = False) -> tuple[str, ...]:
        """Return the published list, each command once.

        `only_filled`: lids of empty receptacles are left out while the hand is empty (B11).
        """
        commands = list(self._moves)
        if state.at == HUMAN:
            commands += self._at_human(state)
        else:
            commands += self._at_place(state, only_filled)
        return tuple(commands)

    def strict(self, state: State) -> tuple[str, ...]:
        """Return the commands whose preconditions hold now."""
        if state.at == HUMAN:
            return (*self._moves, *self._at_human(state))
        return (*self._moves, *self._applicable_here(state))

    def extra(self, language: Language) -> tuple[str, ...]:
        """Return what is never listed but may be said: looking, the inventory, help and the questions."""
        return ("look", "inventory", "help", *(f"question: {text}" for text in official_questions(language)))

    def _at_human(self, state: State) -> list[str]:
        if state.holding != NOTHING:
            return [f"give {self._labels[state.holding]} to {HUMAN_WORD}"]
        return [f"take {self._labels[entity]} from {HUMAN_WORD}" for entity in entities(state.given)]

    def _at_place(self, state: State, only_filled: bool) -> list[str]:
        at, held, labels = state.at, state.holding, self._labels
        commands = self._lid(state, at) + self._switch(state, at)
        brush, knife = (held >= 0 and bool(tools >> held & 1) for tools in (self._brushes, self._knives))
        if brush:
            commands.append(f"clean {labels[at]} with {labels[held]}")
        here = state.contents(at)
        if not self._openable >> at & 1 or state.open >> at & 1:
            things = bit_set(here)
            if brush:
                dusty = entities(things & self._cleanable)
                commands += [f"clean {labels[thing]} with {labels[held]}" for thing in dusty]
            if knife:
                sliceable = entities(things & self._sliceable)
                commands += [f"slice {labels[thing]} with {labels[held]}" for thing in sliceable]
            if held == NOTHING:
                commands += [self._pick[thing] for thing in here]
                for entity in entities(things & self._receptacles):
                    commands += self._commands_taking_from(state, entity, only_filled)
            else:
                commands.append(self._put(held, at))
                for entity in entities(things & self._receptacles):
                    commands += self._lid(state, entity)
                    if not self._receptacles >> held & 1 and not self._is_shut(state, entity):
                        commands.append(self._put(held, entity))
            for entity in entities(things & self._toggleable):
                commands += self._switch(state, entity)
        if held == NOTHING:
            commands += self._appliance(state, here)
        return commands

    def _commands_taking_from(self, state: State, receptacle: int, only_filled: bool) -> list[str]:
        inner = state.contents(receptacle)
        commands = self._lid(state, receptacle) if inner or not only_filled else []
        if not self._is_shut(state, receptacle):
            label = self._labels[receptacle]
            commands += [f"{self._pick[thing]} from {label}" for thing in inner]
        return commands

    def _appliance(self, state: State, here: Iterable[int]) -> list[str]:
        role = self._world.kinds[state.at].role
        if not role or not state.toggled >> state.at & 1:
            return []
        verb, ability = _DOES[role]
        able = self._world.of(ability)
        return [f"{verb} {self._labels[thing]}" for thing in here if able >> thing & 1]

    def _lid(self, state: State, entity: int) -> list[str]:
        if not self._openable >> entity & 1:
            return []
        return [f"{'close' if state.open >> entity & 1 else 'open'} {self._labels[entity]}"]

    def _switch(self, state: State, entity: int) -> list[str]:
        if not self._toggleable >> entity & 1:
            return []
        return [f"toggle {'off' if state.toggled >> entity & 1 else 'on'} {self._labels[entity]}"]

    def _put(self, held: int, container: int) -> str:
        return f"put {self._labels[held]} {_PUT[self._world.relation(container)]} {self._labels[container]}"

    def _is_shut(self, state: State, entity: int) -> bool:
        return bool(self._openable >> entity & ~state.open >> entity & 1)

    def _applicable_here(self, state: State) -> list[str]:
        """Return what is applicable at a location beside moving; only a lid that is shut hides anything."""
        world, at, held, here = self._world, state.at, state.holding, state.contents(state.at)
        reachable = [] if self._is_hidden(state, at) else here
        commands = self._lid(state, at) + self._switch(state, at)
        if held == NOTHING:
            commands += [self._pick[thing] for thing in reachable]
        else:
            if not self._is_hidden(state, at):
                commands.append(self._put(held, at))
            commands += self._use(state, held, at, here, reachable)
        for thing in reachable:
            commands += self._lid(state, thing) + self._switch(state, thing)
            if not self._receptacles >> thing & 1 or self._is_hidden(state, thing):
                continue
            if held == NOTHING:
                label = self._labels[thing]
                commands += [f"{self._pick[inner]} from {label}" for inner in state.contents(thing)]
            elif not self._receptacles >> held & 1:
                commands.append(self._put(held, thing))
        # Soaking alone needs no free hand.
        if held == NOTHING or world.kinds[at].role == "soaks":
            commands += self._appliance(state, here)
        return commands

    def _use(
        self, state: State, tool: int, at: int, here: Iterable[int], reachable: Iterable[int]
    ) -> list[str]:
        world, label, commands = self._world, self._labels[tool], list[str]()
        kind = world.kinds[tool].name
        if not world.of("soakable") >> tool & ~state.soaked >> tool & 1:
            targets = [thing for thing in (at, *reachable) if kind in world.kinds[thing].cleaners]
            dirty = [target for target in targets if self._cleanable >> target & 1]
            commands += [f"clean {self._labels[thing]} with {label}" for thing in dirty]
        if self._knives >> tool & 1 and world.relation(at) == "ontop":
            cut = [thing for thing in here if self._sliceable >> thing & 1]
            commands += [f"slice {self._labels[thing]} with {label}" for thing in cut]
        return commands

    def _is_hidden(self, state: State, container: int) -> bool:
        return self._world.relation(container) == "inside" and self._is_shut(state, container)


def _of_type(world: World, name: str) -> int:
    return bit_set(i for i, kind in enumerate(world.kinds) if kind.name == name)
