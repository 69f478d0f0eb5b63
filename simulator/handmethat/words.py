"""Words that people read for the identifiers of a household (tables/words.<language>.yaml).

A key is an identifier of the hierarchy (``gym_shoe``, ``footwear``, ``THING``), a state (``open``; with
``not`` in front its opposite, ``not open``), a colour, a size, or ``h`` for the human.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final

import yaml

from simulator.errors import InputError
from simulator.handmethat.hierarchy import TABLES

LANGUAGES: Final = ("en", "zh")


def word(key: str, language: str) -> str:
    """Return the word for `key`.

    Raises:
        InputError: if there is no such language, or no word for `key`.
    """
    words = all_words(language)
    if key not in words:
        raise InputError(
            f"There is no word for {key!r} in {TABLES.name}/words.{language}.yaml; it has words for the "
            "types, subclasses, classes, states, colours and sizes of tables/objects.yaml."
        )
    return words[key]


def state_word(state: str, value: bool, language: str) -> str:
    """Return the word for a state that holds or does not: ``open`` or ``closed``.

    Raises:
        InputError: as `word` does.
    """
    return word(state if value else f"not {state}", language)


@cache
def all_words(language: str) -> Mapping[str, str]:
    """Return key -> word.

    Raises:
        InputError: if there is no such language.
    """
    if language not in LANGUAGES:
        raise InputError(f"No words in the language {language!r}; there are {' and '.join(LANGUAGES)}.")
    path = TABLES / f"words.{language}.yaml"
    table: dict[str, dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    words: dict[str, str] = {}
    for state, (true, false) in table.pop("states").items():
        words |= {state: true, f"not {state}": false}
    for group in table.values():
        words |= group
    return MappingProxyType(words)
