"""What can stand in a new scene, grouped by what resembles what (spec 11, step 1).

The groups are those of the built-in scenes (builtin/objects.yaml) with a few things more
(tables/making.yaml). An object's article is the one that it has in the built-in scenes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, get_args

import yaml

from simulator.ambik.data import FOLDER, load_pairs

Kind = Literal["kitchenware", "food"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
"""In the order in which scenes have them."""
TABLES: Final = Path(__file__).parents[1] / "tables"
_ARTICLE: Final = re.compile(r"^(?:an?|some) ")


@dataclass(frozen=True, slots=True)
class Group:
    """Things that resemble each other.

    Attributes:
        objects: without articles.
    """

    name: str
    kind: Kind
    objects: tuple[str, ...]


@cache
def making_table() -> Mapping[str, Any]:
    """What tables/making.yaml holds."""
    return MappingProxyType(_yaml(TABLES / "making.yaml"))


@cache
def all_groups() -> tuple[Group, ...]:
    """All groups, kitchenware first, each kind by name."""
    own, more = _yaml(FOLDER / "objects.yaml"), making_table()["more"]
    return tuple(
        Group(name, kind, tuple(dict.fromkeys((*objects, *map(_bare, more[kind].get(name, ()))))))
        for kind in KINDS
        for name, objects in sorted(own[kind].items())
    )


def in_words(name: str) -> str:
    """An object of a group with the article that it needs, if it needs one."""
    return _words()[name]


@cache
def _words() -> Mapping[str, str]:
    built_in = {
        name: words
        for pair in load_pairs()
        for name, words in zip(pair.objects, pair.scene.split(", "), strict=True)
    }
    more = (words for groups in making_table()["more"].values() for new in groups.values() for words in new)
    return MappingProxyType({**built_in, **{_bare(words): words for words in more}})


def _bare(words: str) -> str:
    return _ARTICLE.sub("", words, count=1)


def _yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))
