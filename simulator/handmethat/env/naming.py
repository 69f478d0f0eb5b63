"""What things are called: in commands by their labels, in texts by nouns and display names."""

from __future__ import annotations

from typing import Literal

from simulator.handmethat.meanings.naming import display_name
from simulator.handmethat.words import word
from simulator.handmethat.world import World

Language = Literal["en", "zh"]


class Names:
    """The names of one household's entities in a language, each made once.

    Attributes:
        labels: in commands.
    """

    def __init__(self, world: World, language: Language) -> None:
        self._world, self._language = world, language
        self.labels = world.labels
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
