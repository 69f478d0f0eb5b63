"""What belongs together in a kitchen: categories and the words for them (tables/categories.yaml)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import yaml

from simulator.ambik.kitchen.words import stems

TABLES: Final = Path(__file__).parents[1] / "tables"
# The C loader reads the same and is several times faster where PyYAML was built with it.
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Category:
    """A kind of thing.

    Attributes:
        name: in the table.
        words: by which people speak of it, as stems; the longest first.
        wider: it and the categories that hold it, from near to far.
    """

    name: str
    words: tuple[tuple[str, ...], ...]
    wider: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Thing:
    """An object of a scene, read.

    Attributes:
        name: as the scene has it, without an article.
        stems: its words.
        head: the word that says what it is.
        category: name of its category; empty if it is unknown.
    """

    name: str
    stems: tuple[str, ...]
    head: str
    category: str

    def is_a(self, category: str) -> bool:
        """Return True if it belongs to a category or to one within it."""
        return bool(self.category) and category in categories()[self.category].wider


class _Table:
    """The table, read once."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        rows: Mapping[str, Mapping[str, Any]] = raw["categories"]
        self.categories = {
            name: Category(name, _words(name, row), _wider(rows, name)) for name, row in rows.items()
        }
        self.by_words = {
            words: category.name for category in self.categories.values() for words in category.words
        }
        self.by_name: dict[tuple[str, ...], str] = {}
        self.by_head: dict[str, str] = {}
        for name, row in rows.items():
            for thing in row.get("things", ()):
                self.by_name.setdefault(stems(thing), name)
            # A name of two words says nothing of its last one alone: condensed milk is not what milk is.
            for head in (*row.get("heads", ()), *(() if "_" in name else (name,))):
                self.by_head[stems(head)[-1]] = name
        for words, name in (*self.by_words.items(), *self.by_name.items()):
            if len(words) == 1:
                self.by_head.setdefault(words[0], name)
        self.packing, self.measures, self.describing, self.materials = (
            frozenset(stems(" ".join(raw[key]))) for key in ("packing", "measures", "describing", "materials")
        )


def _words(name: str, row: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    told = {stems(word): None for word in (name.replace("_", " "), *row.get("words", ()))}
    return tuple(sorted(told, key=lambda words: (-len(words), words)))


def _wider(rows: Mapping[str, Mapping[str, Any]], name: str) -> tuple[str, ...]:
    found = {name: None}
    queue = [name]
    while queue:
        for one in rows[queue.pop(0)].get("in", ()):
            if one not in found:
                found[one] = None
                queue.append(one)
    return tuple(found)


def _read(name: str) -> Any:
    return yaml.load((TABLES / name).read_text(encoding="utf-8"), Loader=_LOADER)


@cache
def _table() -> _Table:
    return _Table(_read("categories.yaml"))


@cache
def sense() -> Mapping[str, Any]:
    """Return what everybody knows (tables/common_sense.yaml)."""
    raw = _read("common_sense.yaml")
    return MappingProxyType(raw)


@cache
def categories() -> Mapping[str, Category]:
    """Return all categories by name."""
    return MappingProxyType(_table().categories)


def category_of_words(words: tuple[str, ...]) -> str:
    """Return the category that goes by these words; empty if none does."""
    return _table().by_words.get(words, "")


def is_packing(word: str) -> bool:
    """Return True if a word only says how something is packed."""
    return word in _table().packing


def is_measure(word: str) -> bool:
    """Return True if a word before ``of`` is an amount."""
    return word in _table().measures


def is_describing(word: str) -> bool:
    """Return True if a word describes and may be left out."""
    return word in _table().describing


def is_material(word: str) -> bool:
    """Return True if a word says what something is made of."""
    return word in _table().materials


@cache
def thing_names() -> tuple[str, ...]:
    """Return the full names of all things in the table, in its order."""
    rows = _read("categories.yaml")["categories"].values()
    return tuple(dict.fromkeys(name for row in rows for name in row.get("things", ())))


@lru_cache(maxsize=8192)
def thing(name: str) -> Thing:
    """Return an object by its name: what it is, and to which category it belongs."""
    table = _table()
    parts = stems(name)
    if len(parts) > 1 and parts[0] in ("a", "an", "the", "some"):
        parts = parts[1:]
        name = name.split(" ", 1)[1]
    for start in range(len(parts)):
        if start and _only_packing(parts, start):
            break
        if category := table.by_name.get(parts[start:], ""):
            return Thing(name, parts, _head(parts, category), category)
    return _unknown(name, parts)


def _only_packing(parts: tuple[str, ...], start: int) -> bool:
    """Return True if what is left is a word of packing, and something before it says what is packed."""
    if len(parts) - start > 1 or not is_packing(parts[start]):
        return False
    food = (categories()[name].wider for word in parts[:start] if (name := _table().by_head.get(word)))
    return any("ingredient" in wider for wider in food)


def _unknown(name: str, parts: tuple[str, ...]) -> Thing:
    """By the last word that says what it is: packing says so only if nothing else does."""
    table = _table()
    known = [word for word in reversed(parts) if word in table.by_head]
    food = [word for word in known if not is_packing(word) and not is_material(word)]
    if parts and (parts[-1] not in table.packing or not food):
        food = [parts[-1]] if parts[-1] in table.by_head else food
    head = food[0] if food else (parts[-1] if parts else "")
    return Thing(name, parts, head, table.by_head.get(head, ""))


def _head(parts: tuple[str, ...], category: str) -> str:
    table = _table()
    own = [word for word in reversed(parts) if table.by_head.get(word) == category]
    return own[0] if own else parts[-1]
