"""Types of things in a household: class, subclass, abilities (tables/objects.yaml; spec 1.1 to 1.3).

Also the words shown to people in place of identifiers (tables/words.<language>.yaml).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

import yaml

from simulator.errors import InputError

TABLES: Final = Path(__file__).parent / "tables"


@cache
def read_table(name: str) -> Mapping[str, Any]:
    """Read tables/<name>.yaml."""
    return MappingProxyType(yaml.safe_load((TABLES / f"{name}.yaml").read_text(encoding="utf-8")))


CLASSES: Final = ("LOCATION", "RECEPTACLE", "FOOD", "TOOL", "THING")
# Dynamic states in the order of texts and descriptions, where colour and size follow them.
STATES: Final = ("open", "cooked", "frozen", "sliced", "soaked", "toggled", "dusty", "stained")
STATE_OF_ABILITY: Final = MappingProxyType(
    {
        "openable": "open",
        "cookable": "cooked",
        "freezable": "frozen",
        "sliceable": "sliced",
        "soakable": "soaked",
        "toggleable": "toggled",
        "dustyable": "dusty",
        "stainable": "stained",
    }
)
ABILITY_OF_STATE: Final = MappingProxyType({state: ability for ability, state in STATE_OF_ABILITY.items()})
Rules = Literal["v1", "v2"]
Relation = Literal["inside", "ontop"]


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of thing.

    Attributes:
        cls: LOCATION, RECEPTACLE, FOOD, TOOL or THING.
        subclass: its subclass; for a location, how things are placed there (``ontop`` or ``inside``).
        abilities: as the published files list them, including ``<tool>-cleanable``.
        states: the dynamic states it can have, in the order of `STATES`.
        cleaners: types of the tools that clean it.
        relation: how it holds things; None if it cannot.
        role: effect of an appliance that is on: ``heats``, ``cools`` or ``soaks``; else empty.
    """

    name: str
    cls: str
    subclass: str
    abilities: tuple[str, ...]
    states: tuple[str, ...]
    cleaners: frozenset[str]
    relation: Relation | None
    role: str = ""

    @property
    def movable(self) -> bool:
        """True if it can be carried, i.e. is not a location."""
        return self.cls != "LOCATION"

    @property
    def receptacle(self) -> bool:
        """True if other things can lie in or on it."""
        return self.cls in ("LOCATION", "RECEPTACLE")


@dataclass(frozen=True, slots=True)
class Subclass:
    """The number of things of a subclass in a scene, and where they start (spec 1.3).

    Attributes:
        kinds: least and most types drawn.
        instances: least and most instances of each drawn type, by rules.
        single: the same if only one type was drawn.
        places: where an instance may start: a location or the type of a movable container.
        inert: places that the published file lists but the published program never uses.
    """

    name: str
    cls: str
    types: tuple[str, ...]
    kinds: tuple[int, int]
    instances: Mapping[Rules, tuple[int, int]]
    single: Mapping[Rules, tuple[int, int]]
    places: tuple[str, ...]
    inert: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The content of tables/objects.yaml: kinds, locations first; subclasses in the order of sampling."""

    kinds: Mapping[str, Kind]
    locations: tuple[str, ...]
    subclasses: Mapping[str, Subclass]
    colors: tuple[str, ...]
    sizes: tuple[str, ...]
    starts_on: frozenset[str]


@cache
def hierarchy() -> Hierarchy:
    """Return the hierarchy of HandMeThat."""
    table = read_table("objects")
    order = [*table["abilities"], *(f"{tool}-cleanable" for tool in table["cleaners"])]
    locations = {kind.name: kind for kind in _locations(table, order)}
    kinds = locations | {kind.name: kind for kind in _movables(table, order)}
    return Hierarchy(
        kinds=MappingProxyType(kinds),
        locations=tuple(locations),
        subclasses=MappingProxyType(
            {name: _subclass(name, row) for name, row in table["subclasses"].items()}
        ),
        colors=tuple(table["colors"]),
        sizes=tuple(table["sizes"]),
        starts_on=frozenset(table["locations"]["starts_on"]),
    )


def _make_kind(name: str, cls: str, subclass: str, abilities: tuple[str, ...], role: str = "") -> Kind:
    """Return a kind, given its abilities as the published files list them."""
    relation: Relation | None = None
    if "has-inside" in abilities:
        relation = "inside"
    elif "has-ontop" in abilities:
        relation = "ontop"
    states = {state for ability, state in STATE_OF_ABILITY.items() if ability in abilities}
    cleaners = (ability.removesuffix("-cleanable") for ability in abilities if ability.endswith("-cleanable"))
    return Kind(
        name=name,
        cls=cls,
        subclass=subclass,
        abilities=abilities,
        states=tuple(state for state in STATES if state in states),
        cleaners=frozenset(cleaners),
        relation=relation,
        role=role,
    )


@lru_cache(maxsize=4096)
def kind_as_listed(name: str, cls: str, subclass: str, abilities: tuple[str, ...]) -> Kind:
    """Return the kind for a file's class, subclass and abilities: the table's own kind if they agree."""
    known = hierarchy().kinds.get(name)
    if known and (known.cls, known.subclass, known.abilities) == (cls, subclass, abilities):
        return known
    return _make_kind(name, cls, subclass, abilities, known.role if known else "")


def _locations(table: Mapping[str, Any], order: list[str]) -> list[Kind]:
    rows = table["locations"]
    roles = {name: role for role in ("heats", "cools", "soaks") for name in rows[role]}
    kinds = []
    for relation in ("ontop", "inside"):
        for name in rows[relation]:
            present = {
                f"has-{relation}",
                *rows["abilities"],
                *(f"{tool}-cleanable" for tool in rows["cleaned_by"]),
            }
            present |= {ability for ability in ("openable", "toggleable") if name in rows[ability]}
            abilities = tuple(ability for ability in order if ability in present)
            kinds.append(_make_kind(name, "LOCATION", relation, abilities, roles.get(name, "")))
    return kinds


def _movables(table: Mapping[str, Any], order: list[str]) -> list[Kind]:
    kinds = []
    for subclass, row in table["subclasses"].items():
        present = {*row.get("abilities", ()), *(f"{tool}-cleanable" for tool in row.get("cleaned_by", ()))}
        abilities = tuple(ability for ability in order if ability in present)
        kinds += [_make_kind(name, row["class"], subclass, abilities) for name in row["types"]]
    return kinds


def _subclass(name: str, row: Mapping[str, Any]) -> Subclass:
    instances = _ranges(row["instances"])
    return Subclass(
        name=name,
        cls=row["class"],
        types=tuple(row["types"]),
        kinds=(row["kinds"][0], row["kinds"][1]),
        instances=instances,
        single={**instances, **_ranges(row.get("single", {}))},
        places=tuple(row["places"]),
        inert=tuple(row.get("inert", ())),
    )


def _ranges(value: Any) -> dict[Rules, tuple[int, int]]:
    if isinstance(value, list):
        return {"v1": (value[0], value[1]), "v2": (value[0], value[1])}
    return {rules: (low, high) for rules, (low, high) in value.items()}


# ---- words shown to people
#
# A key is an identifier of the hierarchy (``gym_shoe``, ``footwear``, ``THING``), a state or its negation
# (``open``, ``not open``), a colour, a size, or ``h`` for the human.


LANGUAGES: Final = ("en", "zh")


def word(key: str, language: str) -> str:
    """Return the word for `key`.

    Raises:
        InputError: if the language or the key is unknown.
    """
    words = all_words(language)
    if key not in words:
        raise InputError(
            f"There is no word for {key!r} in {TABLES.name}/words.{language}.yaml, which has words for the "
            "types, subclasses, classes, states, colours and sizes of tables/objects.yaml."
        )
    return words[key]


def state_word(state: str, value: bool, language: str) -> str:
    """Return the word for a state or its negation: ``open`` or ``closed``.

    Raises:
        InputError: as `word` does.
    """
    return word(state if value else f"not {state}", language)


@cache
def all_words(language: str) -> Mapping[str, str]:
    """Return key -> word.

    Raises:
        InputError: if the language is unknown.
    """
    if language not in LANGUAGES:
        raise InputError(f"There are no words in the language {language!r}; use {' or '.join(LANGUAGES)}.")
    table = dict(read_table(f"words.{language}"))
    words: dict[str, str] = {}
    for state, (true, false) in table.pop("states").items():
        words |= {state: true, f"not {state}": false}
    for group in table.values():
        words |= group
    return MappingProxyType(words)
