"""Scenes for new tasks, drawn from groups of things that resemble each other (spec 11, step 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from simulator.ambik.making.groups import KINDS, Group, all_groups, in_words
from simulator.seeds import derive_seed

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
    """One scene: 2 to 5 groups of kitchenware, as many of food, at least 3 things of each.

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
    """The scene as a JSON object."""
    return {
        "id": scene.id,
        "objects": list(scene.objects),
        "scene": scene.words,
        "groups": list(scene.groups),
    }


def _some(group: Group, random: Random) -> list[str]:
    return random.sample(group.objects, random.randint(LEAST_OBJECTS, min(MOST_OBJECTS, len(group.objects))))
