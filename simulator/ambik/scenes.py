"""Scenes for new tasks, drawn from groups of things that resemble each other; and what texts name in them.

The groups are those of the built-in scenes (builtin/objects.yaml) with a few things more
(tables/making.yaml). An object's article is the one that it has in the built-in scenes (spec 11, 1 and 2).
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
from simulator.ambik.intents import folded
from simulator.ambik.kitchen.knowledge import sense
from simulator.ambik.naming import kitchen, named, names_any, stem, stems, thing
from simulator.ambik.terms import APPLIANCES, table
from simulator.seeds import derive_seed
from simulator.tables.builtin import read_yaml

Kind = Literal["kitchenware", "food"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
"""In the order in which scenes have them."""
LEAST_GROUPS: Final = 2
MOST_GROUPS: Final = 5
"""Of each kind."""
LEAST_OBJECTS: Final = 3
MOST_OBJECTS: Final = 5
"""Of a chosen group; only the least is the paper's."""
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


@dataclass(frozen=True, slots=True)
class Scene:
    """Things on the kitchen's table and shelves.

    Attributes:
        id: of the seed and the scene's number under it.
        objects: without articles, group by group, kitchenware first; appliances are not among them.
        words: the same with articles.
    """

    id: str
    objects: tuple[str, ...]
    words: str
    groups: tuple[str, ...]


@cache
def all_groups() -> tuple[Group, ...]:
    """Return all groups, kitchenware first, each kind by name."""
    own, more = read_yaml(FOLDER / "objects.yaml"), table("making")["more"]
    return tuple(
        Group(name, kind, tuple(dict.fromkeys((*objects, *map(_drop_article, more[kind].get(name, ()))))))
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
    more = (words for groups in table("making")["more"].values() for new in groups.values() for words in new)
    return {**built_in, **{_drop_article(words): words for words in more}}


def _drop_article(words: str) -> str:
    return _ARTICLE.sub("", words, count=1)


def draw_scenes(number: int, seed: int) -> tuple[Scene, ...]:
    """Return so many scenes; more of the same seed begin with these."""
    return tuple(draw_scene(place, seed) for place in range(1, number + 1))


def draw_scene(number: int, seed: int, groups: Sequence[Group] | None = None) -> Scene:
    """Return one scene: 2 to 5 groups of kitchenware, as many of food, at least 3 things of each.

    `groups`: to draw from; default: all. Those with fewer than 3 things are passed over.
    """
    random = Random(derive_seed(seed, "scene", number))
    large = [group for group in groups or all_groups() if len(group.objects) >= LEAST_OBJECTS]
    chosen: list[Group] = []
    for kind in KINDS:
        own = [group for group in large if group.kind == kind]
        chosen += random.sample(own, random.randint(LEAST_GROUPS, min(MOST_GROUPS, len(own))))
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


# ---- what a text names although it is not there

_FOR_WHOM: Final = r"(?: (?:me|us|him|her|them))?"
_HOW_MUCH: Final = r"(?: (?:an?|the|some|two|three|fresh|delicious|hot|quick))*"
_OF: Final = r"(?: (?:cups?|glass|bowl|pot|mug|plate|batch) of)?"
_BEFORE_VERBS: Final = re.compile(r"(?:^|[.,;:!]|\b(?:and|then|to|please|or|not|will|can))\s*$")


def absent(text: str, objects: Sequence[str]) -> tuple[str, ...]:
    """Return what `text` names and the scene does not hold, each once, in the text's order.

    Names are those of all that is known to stand in kitchens, whole words and the longer ones first. What
    may mean something of the scene is there: "the knife", where there is a bread knife; "bread", where there
    is a baguette. So is what comes out of the tap, and what the task itself makes.
    """
    there = tuple(dict.fromkeys((*objects, *APPLIANCES)))
    own = tuple(name for name in there if folded(name) not in _known_names())
    names = named(text, (*own, *vocabulary()))
    return tuple(name for name in names if not _is_there(name, there) and _is_meant(name, folded(text)))


@cache
def vocabulary() -> tuple[str, ...]:
    """Return the full names of all that is known to stand in kitchens."""
    grouped = (name for group in all_groups() for name in group.objects)
    names = {folded(name): name for name in (*APPLIANCES, *grouped, *known_objects(), *kitchen().things)}
    always = table("making")["always"]
    return tuple(name for key, name in names.items() if key not in always)


@cache
def _known_names() -> frozenset[str]:
    return frozenset(map(folded, vocabulary()))


@lru_cache(maxsize=8192)
def _is_there(name: str, there: tuple[str, ...]) -> bool:
    if any(folded(name) == folded(other) or names_any(other, [name]) for other in there):
        return True
    category = kitchen().by_words.get(stems(name), "")
    return bool(category) and any(thing(other).is_a(category) for other in there)


def _is_meant(name: str, text: str) -> bool:
    """Return True if a place with the name speaks of a thing: no amount, no deed, nothing that is made."""
    places = re.finditer(rf"(?<!\w){re.escape(folded(name))}(?:e?s)?(?!\w)", text)
    return any(_is_thing(stem(name), text[: place.start()], text[place.end() :]) for place in places)


def _is_thing(word: str, before: str, after: str) -> bool:
    amount = word in kitchen().measures and re.match(r" of\b", after) is not None
    deed = word in sense().also_verbs and _BEFORE_VERBS.search(before)
    return not (_making_pattern().search(before) or amount or deed)


@cache
def _making_pattern() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(table('making')['making'])}){_FOR_WHOM}{_HOW_MUCH}{_OF}\s*$")
