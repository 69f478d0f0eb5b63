"""What things are called in instructions and stories (spec 7.4)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import yaml

from simulator.errors import InputError
from simulator.handmethat.hierarchy import TABLES
from simulator.handmethat.words import LANGUAGES, word
from simulator.handmethat.world import HUMAN, World


@cache
def wording(language: str) -> Mapping[str, Any]:
    """tables/wording.<language>.yaml.

    Raises:
        InputError: if there is no such language.
    """
    if language not in LANGUAGES:
        raise InputError(f"No wording in the language {language!r}; there are {' and '.join(LANGUAGES)}.")
    text = (TABLES / f"wording.{language}.yaml").read_text(encoding="utf-8")
    return MappingProxyType(yaml.safe_load(text))


def display_name(world: World, entity: int, language: str) -> str:
    """A thing's name in texts: ``large red box (box#1)``, ``红色大号箱子（box#1）``.

    Size and colour stand in front. The identifier follows where there are several of the type.
    """
    name = _with_attributes(world, entity, language, identifiers=language == "en")
    if entity == HUMAN or world.alone(entity):
        return name
    return str(wording(language)["identifier"].format(name=name, identifier=world.names[entity]))


def text_name(world: World, entity: int, language: str) -> str:
    """A thing's name in stories to be acted upon by commands: ``box#1``, ``箱子（box#1）``."""
    identifier = world.name(entity)
    if language == "en":
        return identifier
    kind = identifier if entity == HUMAN else world.kinds[entity].name
    return str(wording(language)["identifier"].format(name=word(kind, language), identifier=identifier))


def label(world: World, entity: int, language: str) -> str:
    """A thing's name for people: ``large red box #1``, ``红色大号箱子#1``; the number only if need be."""
    name = _with_attributes(world, entity, language, identifiers=False)
    if entity == HUMAN or world.alone(entity):
        return name
    _, sign, number = world.names[entity].partition("#")
    return str(wording(language)["label"].format(name=name, number=sign + number))


def _with_attributes(world: World, entity: int, language: str, *, identifiers: bool) -> str:
    if entity == HUMAN:
        return word("h", language)
    kind, color, size = world.kinds[entity].name, world.colors[entity], world.sizes[entity]
    noun = kind if identifiers else word(kind, language)
    if language == "zh":
        return "".join([word(one, language) for one in (color, size) if one] + [noun])
    return " ".join([one for one in (size, color) if one] + [noun])
