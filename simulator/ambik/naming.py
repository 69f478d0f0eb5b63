"""Which objects a sentence names: one rule for set sizes, affordances and right options (spec 8.2, 9, 10.1).

Names are looked for as whole words, whatever the letter case; a plural ending counts as the word. Where names
overlap the longer one is meant: who writes "tea kettle" has named no tea.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from simulator.ambik.intents import folded
from simulator.ambik.items import Pair, Scenario
from simulator.ambik.kitchen.categories import kitchen, stems
from simulator.ambik.terms import APPLIANCES, DO_NOTHING, table

_LABEL = re.compile(r"^(?:[a-e]|[1-5])\s*(?:\)\s*|\.\s+)")


def bare(text: str) -> str:
    """Return an action as it is compared: `folded`, without a label and a final stop."""
    return _LABEL.sub("", folded(text), count=1).rstrip(". ")


@lru_cache(maxsize=8192)
def is_filler(text: str) -> bool:
    """Return True if an option stands for one that is missing (spec 6)."""
    return bare(text) == DO_NOTHING


@lru_cache(maxsize=8192)
def is_not_listed(text: str) -> bool:
    """Return True if an option says that none of the others is right (spec 8.1)."""
    return "not listed" in folded(text)


def named(text: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return those of `names` that occur in `text`, in the order in which it has them, each once.

    Returns:
        Names as they stand in `names`.
    """
    by_folded = _by_folded(tuple(names))
    if not by_folded:
        return ()
    hits = _pattern(frozenset(by_folded)).finditer(folded(text))
    taken: list[tuple[int, int, str]] = []
    for start, end, name in sorted(((*hit.span(1), hit[2]) for hit in hits), key=_longest_first):
        if all(end <= other[0] or start >= other[1] for other in taken):
            taken.append((start, end, name))
    return tuple(dict.fromkeys(by_folded[name] for _, _, name in sorted(taken)))


def _longest_first(hit: tuple[int, int, str]) -> tuple[int, int]:
    start, end, _ = hit
    return start - end, start


def names_any(text: str, wanted: Iterable[str], names: Iterable[str] = ()) -> bool:
    """Return True if `text` names one of `wanted`, in a scene where there are `names`, too."""
    goal = list(wanted)
    keys = set(map(folded, goal))
    return any(folded(name) in keys for name in named(text, [*goal, *names]))


def vocabulary(items: Iterable[Pair | Scenario]) -> tuple[str, ...]:
    """Return all objects of all scenes, and the appliances (spec 8.2)."""
    return tuple(dict.fromkeys((*APPLIANCES, *(name for item in items for name in item.objects))))


def context_affordance(option: str, things: Sequence[str], words: Iterable[str]) -> float:
    """Return LAP's context part: 1 if every object that the option names is there, else 0 (spec 8.2).

    Scenes of the data list what is special about them, and tasks speak as people do, so an object is there,
    too, if something of that name is (a mug, where there is a glass mug; Greek yogurt, where there is a cup
    of it), if every kitchen has it (water, a stove), or if its name only measures something (a cup of flour).
    """
    there = {folded(thing) for thing in things}
    fitting = tuple(map(stems, (*things, *table("categories")["always_there"])))
    missing = (name for name in named(option, [*things, *words]) if folded(name) not in there)
    return float(all(_is_there(stems(name), fitting) or _measures(name, option) for name in missing))


def _is_there(name: tuple[str, ...], things: Iterable[tuple[str, ...]]) -> bool:
    """Return True if something goes by that name, with words before it or a word for its packing behind."""
    size = len(name)
    return any(
        name == thing[place : place + size] and kitchen().packing.issuperset(thing[place + size :])
        for thing in things
        for place in range(len(thing) - size + 1)
    )


def _measures(name: str, option: str) -> bool:
    """Return True if a name stands in an action only for how much of something is meant."""
    every = re.findall(rf"\b{re.escape(folded(name))}s?\b(?: of\b)?", folded(option))
    return stems(name)[-1] in kitchen().measures and all(hit.endswith(" of") for hit in every)


@lru_cache(maxsize=1024)
def _by_folded(names: tuple[str, ...]) -> Mapping[str, str]:
    return {key: name for name in reversed(names) if (key := folded(name))}


@lru_cache(maxsize=1024)
def _pattern(names: frozenset[str]) -> re.Pattern[str]:
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    words = "|".join(re.escape(name) for name in longest_first)
    # A look-ahead, so that a name is found although a shorter one began before it.
    return re.compile(rf"(?<!\w)(?=(({words})(?:e?s)?)(?!\w))")
