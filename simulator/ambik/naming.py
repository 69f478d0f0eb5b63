"""Names of things in a kitchen: words, categories (tables/categories.yaml), and what a sentence names.

One rule for set sizes, affordances and right options (spec 8.2, 9, 10.1): names are looked for as whole
words, whatever the letter case; a plural ending counts as the word. Where names overlap the longer one is
meant: who writes "tea kettle" has named no tea.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

from simulator.ambik.intents import folded
from simulator.ambik.items import Pair, Scenario
from simulator.ambik.terms import APPLIANCES, DO_NOTHING, table

_WORD: Final = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*|[,;.:()]")
_ARTICLE: Final = re.compile(r"\b([Aa])n? $")
_SIBILANT: Final = ("sses", "shes", "ches", "xes", "zes")


class Word(NamedTuple):
    """A word or a punctuation mark of a text.

    Attributes:
        stem: lower case, singular, without a possessive.
        start: where it begins in the text.
        end: where the next sign is.
    """

    stem: str
    start: int
    end: int


@lru_cache(maxsize=4096)
def words(text: str) -> tuple[Word, ...]:
    """Return the words of `text`, in order, with the marks between them."""
    return tuple(Word(stem(match.group()), *match.span()) for match in _WORD.finditer(text))


@lru_cache(maxsize=4096)
def stems(text: str) -> tuple[str, ...]:
    """Return the words of `text` in their one form, marks left out."""
    return tuple(word.stem for word in words(text) if word.stem[:1].isalnum())


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Return a word in lower case and singular; good enough for what stands in kitchens."""
    lowered = word.lower().replace("’", "'")
    if lowered in (irregular := table("categories")["irregular"]):
        return str(irregular[lowered])
    if lowered.endswith("'s"):
        # Chef's knives are no chefs; the name keeps its sign so that both spellings meet.
        return lowered
    if len(lowered) > 4 and lowered.endswith("ies"):
        return f"{lowered[:-3]}y"
    if lowered.endswith(_SIBILANT):
        return lowered[:-2]
    if len(lowered) > 3 and lowered.endswith("s") and not lowered.endswith(("ss", "us", "is")):
        return lowered[:-1]
    return lowered


def plural(name: str) -> str:
    """Return a name in the plural, by its last word."""
    lowered = name.lower()
    if lowered.endswith(("knife", "loaf", "half")):
        return f"{name[:-2] if lowered.endswith('fe') else name[:-1]}ves"
    if lowered.endswith(("s", "sh", "ch", "x", "potato", "tomato")):
        return f"{name}es"
    if lowered.endswith("y") and lowered[-2:-1] not in "aeiou":
        return f"{name[:-1]}ies"
    return f"{name}s"


def with_article(before: str, name: str) -> str:
    """Return the text before a name, with `a` or `an` as the name needs it."""
    return _ARTICLE.sub(lambda hit: hit.group(1) + ("n " if name[:1].lower() in "aeiou" else " "), before)


Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Category:
    """A kind of thing.

    Attributes:
        words: by which people speak of it, as stems; the longest first.
        wider: it and the categories that hold it, from near to far.
    """

    name: str
    words: tuple[Words, ...]
    wider: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Thing:
    """An object of a scene, read.

    Attributes:
        name: as the scene has it, without an article.
        head: the word that says what it is.
        category: name of its category; empty if it is unknown.
    """

    name: str
    stems: Words
    head: str
    category: str

    @property
    def kinds(self) -> tuple[str, ...]:
        """Its category and those that hold it, from near to far; none if it is unknown."""
        return kitchen().categories[self.category].wider if self.category else ()

    def is_a(self, *categories: str) -> bool:
        """Return True if it belongs to one of some categories, or to one within them."""
        return any(kind in categories for kind in self.kinds)


class Kitchen:
    """The table of categories.

    Attributes:
        categories: by name.
        by_words: words by which people speak of a category -> its name.
        by_name: words of a thing's full name -> its category.
        by_head: last word of names -> the category that they are of, whatever stands before it.
        things: full names of all things, in the table's order.
        packing: words that only say how something is packed.
        measures: words that are amounts before ``of``.
        describing: words that may be left out.
        materials: words for what something is made of.
    """

    def __init__(self, raw: Mapping[str, Any]) -> None:
        rows: Mapping[str, Mapping[str, Any]] = raw["categories"]
        self.categories = {
            name: Category(name, _words(name, row), _wider_kinds(rows, name)) for name, row in rows.items()
        }
        self.by_words = {words: each.name for each in self.categories.values() for words in each.words}
        self.things = tuple(dict.fromkeys(name for row in rows.values() for name in row.get("things", ())))
        self.by_name: dict[Words, str] = {}
        self.by_head: dict[str, str] = {}
        for name, row in rows.items():
            for full_name in row.get("things", ()):
                self.by_name.setdefault(stems(full_name), name)
            # A name of two words says nothing of its last one alone: condensed milk is not what milk is.
            for head in (*row.get("heads", ()), *(() if "_" in name else (name,))):
                self.by_head[stems(head)[-1]] = name
        for words, name in (*self.by_words.items(), *self.by_name.items()):
            if len(words) == 1:
                self.by_head.setdefault(words[0], name)
        self.packing, self.measures, self.describing, self.materials = (
            frozenset(stems(" ".join(raw[key]))) for key in ("packing", "measures", "describing", "materials")
        )


def _words(name: str, row: Mapping[str, Any]) -> tuple[Words, ...]:
    spoken = {stems(word): None for word in (name.replace("_", " "), *row.get("words", ()))}
    return tuple(sorted(spoken, key=lambda words: (-len(words), words)))


def _wider_kinds(rows: Mapping[str, Mapping[str, Any]], name: str) -> tuple[str, ...]:
    wider = [name]
    for category in wider:  # grows on the way
        wider += [holder for holder in rows[category].get("in", ()) if holder not in wider]
    return tuple(wider)


@cache
def kitchen() -> Kitchen:
    """Return the table, read once."""
    return Kitchen(table("categories"))


@lru_cache(maxsize=8192)
def thing(name: str) -> Thing:
    """Return an object by its name: what it is, and to which category it belongs."""
    parts = stems(name)
    if len(parts) > 1 and parts[0] in ("a", "an", "the", "some"):
        parts = parts[1:]
        name = name.split(" ", 1)[1]
    for start in range(len(parts)):
        if start and _only_packing(parts, start):
            break
        if category := kitchen().by_name.get(parts[start:], ""):
            heads = (word for word in reversed(parts) if kitchen().by_head.get(word) == category)
            return Thing(name, parts, next(heads, parts[-1]), category)
    return _thing_by_head(name, parts)


def _only_packing(parts: Words, start: int) -> bool:
    """Return True if what is left is a word of packing, and something before it says what is packed."""
    if len(parts) - start > 1 or parts[start] not in kitchen().packing:
        return False
    packed = (kitchen().by_head.get(word) for word in parts[:start])
    return any("ingredient" in kitchen().categories[name].wider for name in packed if name)


def _thing_by_head(name: str, parts: Words) -> Thing:
    """Return a thing by the last word that says what it is: packing says so only if nothing else does."""
    packing, by_head = kitchen().packing, kitchen().by_head
    known = [word for word in reversed(parts) if word in by_head]
    heads = [word for word in known if word not in packing and word not in kitchen().materials]
    if parts and parts[-1] in by_head and (parts[-1] not in packing or not heads):
        heads = [parts[-1]]
    head = heads[0] if heads else (parts[-1] if parts else "")
    return Thing(name, parts, head, by_head.get(head, ""))


# ---- what a sentence names

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
    spans = ((*hit.span(1), hit[2]) for hit in hits)
    for start, end, name in sorted(spans, key=lambda span: (span[0] - span[1], span[0])):  # longest first
        if all(end <= other[0] or start >= other[1] for other in taken):
            taken.append((start, end, name))
    return tuple(dict.fromkeys(by_folded[name] for _, _, name in sorted(taken)))


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
