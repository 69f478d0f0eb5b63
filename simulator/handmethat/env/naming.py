"""What the robot's texts call things: a noun with what it is like in front (spec 9.3).

A phrase depends on little (a label, colour, size, a few states), so every household shares those made once.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

import yaml

from simulator.handmethat.hierarchy import TABLES
from simulator.handmethat.words import word
from simulator.handmethat.world import State, World

Language = Literal["en", "zh"]
# A thing in a list; the place where the robot stands; another place.
Form = Literal["thing", "here", "there"]
_MOST_KEPT: Final = 1 << 16


@cache
def wording(language: Language) -> Mapping[str, Any]:
    """tables/observations.<language>.yaml."""
    text = (TABLES / f"observations.{language}.yaml").read_text(encoding="utf-8")
    return MappingProxyType(yaml.safe_load(text))


class Traits(NamedTuple):
    """What of an entity its phrases depend on, beside its states.

    Attributes:
        states: those it can have, as places in a `State`.
    """

    label: str
    kind: str
    states: tuple[int, ...]
    color: str | None
    size: str | None


def traits_of(world: World) -> list[Traits]:
    """Of every entity."""
    kinds = world.kinds
    states = {kind.name: kind.states for kind in kinds}
    fields = {name: tuple(map(State._fields.index, some)) for name, some in states.items()}
    rows = zip(world.labels, kinds, world.colors, world.sizes, strict=True)
    return [Traits(label, kind.name, fields[kind.name], color, size) for label, kind, color, size in rows]


def truths(state: State, traits: Traits, entity: int) -> tuple[int, ...]:
    """Return which of its states an entity has: 1 or 0 for each."""
    return tuple([state[field] >> entity & 1 for field in traits.states])  # type: ignore[operator]


@lru_cache(maxsize=_MOST_KEPT)
def phrase(language: Language, form: Form, traits: Traits, true: tuple[int, ...]) -> str:
    """Return a noun with its states in front."""
    table, told = wording(language), noun(language, traits)
    words = state_words(language, traits, true)
    pattern = table[f"{form}_with_states" if words else form]
    text: str = pattern.format(states=table["between_states"].join(words), noun=told)
    first, other = (*words, told)[0], table["other_article"]
    return text.replace(f"a {first}", other + first, 1) if other and first[0] in "aeiou" else text


def state_words(language: Language, traits: Traits, true: tuple[int, ...]) -> tuple[str, ...]:
    """Words for how an entity is: colour, size, then what is true, and lids and switches (spec 9.3)."""
    table = wording(language)
    words = [table["value_words"][value] for value in (traits.color, traits.size) if value]
    for field, truth in zip(traits.states, true, strict=True):
        told: Mapping[bool, str] = table["state_words"][State._fields[field]]
        if bool(truth) in told:
            words.append(told[bool(truth)])
    return tuple(words)


@lru_cache(maxsize=_MOST_KEPT)
def noun(language: Language, traits: Traits) -> str:
    """Return the word for its type (in English its identifier) with its name in commands."""
    told = word(traits.kind, language) if language != "en" else traits.kind
    return str(wording(language)["noun"].format(word=told, label=traits.label))
