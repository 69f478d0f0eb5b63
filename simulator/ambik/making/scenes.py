"""Scenes for new tasks, drawn from groups of things that resemble each other (spec 11, step 1).

The groups are those of the built-in scenes (builtin/objects.yaml) with a few things more
(tables/making.yaml). An object's article is the one that it has in the built-in scenes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any, Final, Literal, get_args

import yaml

from simulator.ambik.data import FOLDER, load_pairs
from simulator.seeds import derive_seed

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
    """Return what tables/making.yaml holds."""
    return MappingProxyType(_yaml(TABLES / "making.yaml"))


@cache
def all_groups() -> tuple[Group, ...]:
    """Return all groups, kitchenware first, each kind by name."""
    own, more = _yaml(FOLDER / "objects.yaml"), making_table()["more"]
    return tuple(
        Group(name, kind, tuple(dict.fromkeys((*objects, *map(_bare, more[kind].get(name, ()))))))
        for kind in KINDS
        for name, objects in sorted(own[kind].items())
    )


def in_words(name: str) -> str:
    """Return an object of a group with the article that it needs, if it needs one."""
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


LEAST_GROUPS: Final = 2
MOST_GROUPS: Final = 5
"""Of each kind."""
LEAST_OBJECTS: Final = 3
MOST_OBJECTS: Final = 5
"""Of a chosen group; only the least is the paper's."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Things on the kitchen's table and shelves.

    Attributes:
        id: of the seed and the scene's number under it.
        objects: without articles, group by group, kitchenware first; appliances are not among them.
        words: the same with articles.
        groups: names of the groups, in that order.
    """

    id: str
    objects: tuple[str, ...]
    words: str
    groups: tuple[str, ...]


def draw_scenes(number: int, seed: int) -> tuple[Scene, ...]:
    """So many scenes; more of the same seed begin with these."""
    return tuple(draw_scene(place, seed) for place in range(1, number + 1))


def draw_scene(number: int, seed: int, groups: Sequence[Group] | None = None) -> Scene:
    """Return one scene: 2 to 5 groups of kitchenware, as many of food, at least 3 things of each.

    Args:
        number: of the scene, from 1.
        seed: of all scenes.
        groups: to draw from; default: all. Those with fewer than 3 things are passed over.
    """
    random = Random(derive_seed(seed, "scene", number))
    large = [one for one in groups or all_groups() if len(one.objects) >= LEAST_OBJECTS]
    chosen: list[Group] = []
    for kind in KINDS:
        own = [one for one in large if one.kind == kind]
        chosen += random.sample(own, random.randint(LEAST_GROUPS, min(MOST_GROUPS, len(own))))
    objects = tuple(name for group in chosen for name in _some(group, random))
    words = ", ".join(map(in_words, objects))
    return Scene(f"s{seed}-{number:04}", objects, words, tuple(group.name for group in chosen))


def scene_record(scene: Scene) -> dict[str, Any]:
    """Return the scene as a JSON object."""
    return {
        "id": scene.id,
        "objects": list(scene.objects),
        "scene": scene.words,
        "groups": list(scene.groups),
    }


def _some(group: Group, random: Random) -> list[str]:
    return random.sample(group.objects, random.randint(LEAST_OBJECTS, min(MOST_OBJECTS, len(group.objects))))
