"""The context part of an option's affordance: whether all that it names is there (spec 8.2)."""

from __future__ import annotations

import re
from functools import lru_cache

from simulator.ambik.items import DecideItem, PairItem
from simulator.ambik.playing import objects_of
from simulator.ambik.terms import APPLIANCES


def context_score(item: DecideItem, option: str, vocabulary: tuple[str, ...]) -> float:
    """1 if every object that an option names is in its scene or an appliance, else 0.

    Args:
        item: its scene counts.
        option: an action.
        vocabulary: names of all objects that the data know.
    """
    appliances = APPLIANCES if isinstance(item, PairItem) else ()
    there = {thing.casefold() for thing in (*objects_of(item), *appliances)}
    names = frozenset(there.union(name.casefold() for name in vocabulary))
    return float(all(found in there for found in _pattern(names).findall(option.casefold())))


@lru_cache(maxsize=4096)
def _pattern(names: frozenset[str]) -> re.Pattern[str]:
    """Finds whole words, longest match first."""
    longest = sorted(names, key=lambda name: (-len(name), name))
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)")
