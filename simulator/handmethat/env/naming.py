"""What things are called: in commands by their labels, in texts by nouns and display names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from simulator.handmethat.meanings.naming import display_name
from simulator.handmethat.words import word
from simulator.handmethat.world import World

Language = Literal["en", "zh"]


def command_labels(world: World) -> tuple[str, ...]:
    """The name of each entity in commands: its type if nothing else has it, else ``type#k`` (spec 9.4)."""
    many = {kind.name: not world.alone(i) for i, kind in enumerate(world.kinds)}
    return tuple(
        name if many[kind.name] else kind.name for name, kind in zip(world.names, world.kinds, strict=True)
    )


class Names:
    """The names of one household's entities in a language, each made once.

    Attributes:
        labels: in commands.
    """

    def __init__(self, world: World, language: Language) -> None:
        self._world, self._language = world, language
        self.labels: Sequence[str] = command_labels(world)
        self._displayed: dict[int, str] = {}

    def word(self, entity: int) -> str:
        """The noun: the word for its type."""
        return type_word(self._world.kinds[entity].name, self._language)

    def display(self, entity: int) -> str:
        """The name in sentences, with what tells it from others of its type."""
        found = self._displayed.get(entity)
        if found is None:
            found = self._displayed[entity] = display_name(self._world, entity, self._language)
        return found


def type_word(name: str, language: Language) -> str:
    """The word for a type: in English its identifier, as in commands."""
    return name if language == "en" else word(name, language)
