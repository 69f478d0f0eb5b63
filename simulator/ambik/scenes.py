"""Scenes for new tasks, drawn from groups of similar things; and a check of what texts name in them.

The groups are those of the built-in scenes (builtin/objects.yaml) with a few more things
(tables/making.yaml). An object has the article that it has in the built-in scenes (spec 11, 1 and 2).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from random import Random
from typing import Any, Final, Literal, get_args

from simulator.ambik.annotation.form import known_objects
from simulator.ambik.data import FOLDER, load_pairs
from simulator.ambik.intents import fold
from simulator.ambik.kitchen.knowledge import sense
from simulator.ambik.naming import kitchen, names_any, names_in, stem, stems, thing
from simulator.ambik.terms import APPLIANCES, table
from simulator.seeds import derive_seed
from simulator.tables.builtin import read_yaml

Kind = Literal["kitchenware", "food"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
"""The kinds of groups, in the order in which scenes list them."""
LEAST_GROUPS: Final = 2
MOST_GROUPS: Final = 5
"""Most groups of each kind in a scene."""
LEAST_OBJECTS: Final = 3
MOST_OBJECTS: Final = 5
"""Most objects of a chosen group; only the minimum is the paper's."""
_ARTICLE: Final = re.compile(r"^(?:an?|some) ")


@dataclass(frozen=True, slots=True)
class Group:
    """A group of similar things.

    `objects`: without articles.
    """

    name: str
    kind: Kind
    objects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scene:
    """The things in a kitchen, without appliances.

    Attributes:
        id: built from the seed and the scene's number.
        objects: without articles, group by group, kitchenware first.
        words: the objects with articles.
    """

    id: str
    objects: tuple[str, ...]
    words: str
    groups: tuple[str, ...]


@cache
def all_groups() -> tuple[Group, ...]:
    """Return all groups, kitchenware first, sorted by name within each kind."""
    built_in, more = read_yaml(FOLDER / "objects.yaml"), table("making")["more"]
    return tuple(
        Group(name, kind, tuple(dict.fromkeys((*objects, *map(_drop_article, more[kind].get(name, ()))))))
        for kind in KINDS
        for name, objects in sorted(built_in[kind].items())
    )


def in_words(name: str) -> str:
    """Return an object of a group with its article, if it takes one."""
    return _words()[name]


@cache
def _words() -> Mapping[str, str]:
    built_in = {
        name: words
        for pair in load_pairs()
        for name, words in zip(pair.objects, pair.scene.split(", "), strict=True)
    }
    more = (words for groups in table("making")["more"].values() for new in groups.values() for words in new)
    return {**built_in, **{_drop_article(words): words for words in more}}


def _drop_article(words: str) -> str:
    return _ARTICLE.sub("", words, count=1)


def draw_scenes(number: int, seed: int) -> tuple[Scene, ...]:
    """Return the first `number` scenes of a seed."""
    return tuple(draw_scene(index, seed) for index in range(1, number + 1))


def draw_scene(number: int, seed: int, groups: Sequence[Group] | None = None) -> Scene:
    """Return one scene: 2 to 5 groups of kitchenware and 2 to 5 of food, with 3 to 5 things of each.

    `groups`: the groups to draw from; default: all. Groups with fewer than 3 things are skipped.
    """
    random = Random(derive_seed(seed, "scene", number))
    large = [group for group in groups or all_groups() if len(group.objects) >= LEAST_OBJECTS]
    chosen: list[Group] = []
    for kind in KINDS:
        of_kind = [group for group in large if group.kind == kind]
        chosen += random.sample(of_kind, random.randint(LEAST_GROUPS, min(MOST_GROUPS, len(of_kind))))
    objects: list[str] = []
    for group in chosen:
        most = min(MOST_OBJECTS, len(group.objects))
        objects += random.sample(group.objects, random.randint(LEAST_OBJECTS, most))
    names = tuple(group.name for group in chosen)
    return Scene(f"s{seed}-{number:04}", tuple(objects), ", ".join(map(in_words, objects)), names)


def scene_record(scene: Scene) -> dict[str, Any]:
    """Return the scene as a JSON object."""
    return {
        "id": scene.id,
        "objects": list(scene.objects),
        "scene": scene.words,
        "groups": list(scene.groups),
    }


# ---- things that a text names but the scene lacks

_FOR_WHOM: Final = r"(?: (?:me|us|him|her|them))?"
_HOW_MUCH: Final = r"(?: (?:an?|the|some|two|three|fresh|delicious|hot|quick))*"
_OF: Final = r"(?: (?:cups?|glass|bowl|pot|mug|plate|batch) of)?"
_BEFORE_VERBS: Final = re.compile(r"(?:^|[.,;:!]|\b(?:and|then|to|please|or|not|will|can))\s*$")


def absent(text: str, objects: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct things that `text` names and the scene lacks, in the text's order.

    All known kitchen things are searched for, as complete words and longest first. A name that may mean a
    thing in the scene is not missing ("the knife" for a bread knife, "bread" for a baguette), nor is what
    comes from the tap or what the task itself makes.
    """
    present = tuple(dict.fromkeys((*objects, *APPLIANCES)))
    unknown = tuple(name for name in present if fold(name) not in _known_names())
    names = names_in(text, (*unknown, *vocabulary()))
    return tuple(name for name in names if not _is_there(name, present) and _is_meant(name, fold(text)))


@cache
def vocabulary() -> tuple[str, ...]:
    """Return the full names of all known kitchen things."""
    grouped = (name for group in all_groups() for name in group.objects)
    names = {fold(name): name for name in (*APPLIANCES, *grouped, *known_objects(), *kitchen().things)}
    always = table("making")["always"]
    return tuple(name for key, name in names.items() if key not in always)


@cache
def _known_names() -> frozenset[str]:
    return frozenset(map(fold, vocabulary()))


@lru_cache(maxsize=8192)
def _is_there(name: str, there: tuple[str, ...]) -> bool:
    if any(fold(name) == fold(other) or names_any(other, [name]) for other in there):
        return True
    category = kitchen().by_words.get(stems(name), "")
    return bool(category) and any(thing(other).is_a(category) for other in there)


def _is_meant(name: str, text: str) -> bool:
    """Return True if some occurrence of a name means a thing: not an amount, a verb or what is being made."""
    places = re.finditer(rf"(?<!\w){re.escape(fold(name))}(?:e?s)?(?!\w)", text)
    return any(_is_thing(stem(name), text[: place.start()], text[place.end() :]) for place in places)


def _is_thing(word: str, before: str, after: str) -> bool:
    amount = word in kitchen().measures and re.match(r" of\b", after) is not None
    deed = word in sense().also_verbs and _BEFORE_VERBS.search(before)
    return not (_making_pattern().search(before) or amount or deed)


@cache
def _making_pattern() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(table('making')['making'])}){_FOR_WHOM}{_HOW_MUCH}{_OF}\s*$")
