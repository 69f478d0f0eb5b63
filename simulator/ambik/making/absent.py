"""What a text names although it is not there: objects that a model made up (spec 11, step 2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Final

from simulator.ambik.annotation.rules import known_objects
from simulator.ambik.kitchen.categories import kitchen, thing
from simulator.ambik.kitchen.knowledge import sense
from simulator.ambik.kitchen.words import stem, stems
from simulator.ambik.making.scenes import all_groups, making_table
from simulator.ambik.naming import folded, named, names_any
from simulator.ambik.terms import APPLIANCES

_FOR_WHOM: Final = r"(?: (?:me|us|him|her|them))?"
_HOW_MUCH: Final = r"(?: (?:an?|the|some|two|three|fresh|delicious|hot|quick))*"
_OF: Final = r"(?: (?:cups?|glass|bowl|pot|mug|plate|batch) of)?"
_BEFORE_VERBS: Final = r"(?:^|[.,;:!]|\b(?:and|then|to|please|or|not|will|can))\s*$"


def absent(text: str, objects: Sequence[str]) -> tuple[str, ...]:
    """Return what `text` names and the scene does not hold, each once, in the text's order.

    Names are those of all that is known to stand in kitchens, whole words and the longer ones first. What
    may mean something of the scene is there: "the knife", where there is a bread knife; "bread", where there
    is a baguette. So is what comes out of the tap, and what the task itself makes.

    Args:
        text: a task, or a step of a plan.
        objects: of the scene, without articles; appliances are always there.
    """
    there = tuple(dict.fromkeys((*objects, *APPLIANCES)))
    own = tuple(one for one in there if folded(one) not in _known())
    found = named(text, (*own, *vocabulary()))
    return tuple(name for name in found if not _is_there(name, there) and _is_meant(name, text))


@cache
def vocabulary() -> tuple[str, ...]:
    """Return the full names of all that is known to stand in kitchens."""
    grouped = (name for group in all_groups() for name in group.objects)
    names = (*APPLIANCES, *grouped, *known_objects(), *kitchen().things)
    return tuple(
        {folded(name): name for name in names if folded(name) not in making_table()["always"]}.values()
    )


@cache
def _known() -> frozenset[str]:
    return frozenset(map(folded, vocabulary()))


@lru_cache(maxsize=8192)
def _is_there(name: str, there: tuple[str, ...]) -> bool:
    if any(folded(name) == folded(one) or names_any(one, [name]) for one in there):
        return True
    category = kitchen().by_words.get(stems(name), "")
    return bool(category) and any(thing(one).is_a(category) for one in there)


def _is_meant(name: str, text: str) -> bool:
    """Whether any place that has the name speaks of a thing: not of an amount, a deed or what is made."""
    places = re.finditer(rf"(?<!\w){re.escape(folded(name))}(?:e?s)?(?!\w)", folded(text))
    return any(
        _is_thing(name, folded(text)[: place.start()], folded(text)[place.end() :]) for place in places
    )


def _is_thing(name: str, before: str, after: str) -> bool:
    if _made().search(before):
        return False
    word = stem(name)
    if word in kitchen().measures and re.match(r" of\b", after):
        return False
    return not (word in sense().also_verbs and re.search(_BEFORE_VERBS, before))


@cache
def _made() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(making_table()['making'])}){_FOR_WHOM}{_HOW_MUCH}{_OF}\s*$")
