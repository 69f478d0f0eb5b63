"""Names of things in a kitchen: words, categories (tables/categories.yaml), and names in sentences.

One rule for set sizes, affordances and right options (spec 8.2, 9, 10.1): names are matched as complete
words, ignoring case and plural endings. Where names overlap, the longest one wins: "tea kettle" does not
name tea.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

from simulator.ambik.intents import fold
from simulator.ambik.items import Pair, Scenario
from simulator.ambik.terms import APPLIANCES, DO_NOTHING, table

_WORD: Final = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*|[,;.:()]")
_ARTICLE: Final = re.compile(r"\b([Aa])n? $")
_SIBILANT: Final = ("sses", "shes", "ches", "xes", "zes")


class Word(NamedTuple):
    """A word or a punctuation mark of a text.

    Attributes:
        stem: lower case, singular, without a possessive.
        start: index of its first character in the text.
        end: index after its last character.
    """

    stem: str
    start: int
    end: int


@lru_cache(maxsize=4096)
def words(text: str) -> tuple[Word, ...]:
    """Return the words and punctuation marks of `text`, in order."""
    return tuple(Word(stem(match.group()), *match.span()) for match in _WORD.finditer(text))


@lru_cache(maxsize=4096)
def stems(text: str) -> tuple[str, ...]:
    """Return the stems of the words in `text`, without punctuation."""
    return tuple(word.stem for word in words(text) if word.stem[:1].isalnum())


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Return a word in lower case and singular; the rules suffice for things in kitchens."""
    lowered = word.lower().replace("’", "'")
    if lowered in (irregular := table("categories")["irregular"]):
        return str(irregular[lowered])
    if lowered.endswith("'s"):
        # "chef's knife" must not become "chef"; both spellings of the apostrophe were unified above.
        return lowered
    if len(lowered) > 4 and lowered.endswith("ies"):
        return f"{lowered[:-3]}y"
    if lowered.endswith(_SIBILANT):
        return lowered[:-2]
    if len(lowered) > 3 and lowered.endswith("s") and not lowered.endswith(("ss", "us", "is")):
        return lowered[:-1]
    return lowered


def plural(name: str) -> str:
    """Return the plural of a name."""
    lowered = name.lower()
    if lowered.endswith(("knife", "loaf", "half")):
        return f"{name[:-2] if lowered.endswith('fe') else name[:-1]}ves"
    if lowered.endswith(("s", "sh", "ch", "x", "potato", "tomato")):
        return f"{name}es"
    if lowered.endswith("y") and lowered[-2:-1] not in "aeiou":
        return f"{name[:-1]}ies"
    return f"{name}s"


def with_article(before: str, name: str) -> str:
    """Return the text before a name, with its final article changed to `a` or `an` to fit the name."""
    return _ARTICLE.sub(lambda hit: hit.group(1) + ("n " if name[:1].lower() in "aeiou" else " "), before)


Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Category:
    """A category of things.

    `words`: names that people use for it, as stems; the longest first.
    `wider`: the category itself and those that contain it, narrowest first.
    """

    name: str
    words: tuple[Words, ...]
    wider: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Thing:
    """A parsed object of a scene.

    Attributes:
        name: as in the scene, without an article.
        head: the word that says what it is.
        category: name of its category; empty if unknown.
    """

    name: str
    stems: Words
    head: str
    category: str

    @property
    def kinds(self) -> tuple[str, ...]:
        """Its category and those that contain it, narrowest first; empty if unknown."""
        return kitchen().categories[self.category].wider if self.category else ()

    def is_a(self, *categories: str) -> bool:
        """Return True if it belongs to any of the categories or their subcategories."""
        return any(kind in categories for kind in self.kinds)


class Kitchen:
    """The table of categories.

    Attributes:
        by_words: category by the words that people use for it.
        by_name: category by the words of a thing's full name.
        by_head: category by the last word of a name, regardless of the words before it.
        things: full names of all things, in the table's order.
        packing: words that only say how something is packed.
        measures: words that are amounts before ``of``.
        describing: words that may be left out.
        materials: words for materials.
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
            # The last word of a two-word name is not a name of the category: condensed milk is not milk.
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
    for category in wider:  # the list grows while it is iterated
        wider += [holder for holder in rows[category].get("in", ()) if holder not in wider]
    return tuple(wider)


@cache
def kitchen() -> Kitchen:
    """Return the table of categories."""
    return Kitchen(table("categories"))


@lru_cache(maxsize=8192)
def thing(name: str) -> Thing:
    """Return the thing with a name, with its head word and category."""
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
    """Return True if only a packing word is left and a word before it names the ingredient."""
    if len(parts) - start > 1 or parts[start] not in kitchen().packing:
        return False
    categories = (kitchen().by_head.get(word) for word in parts[:start])
    return any("ingredient" in kitchen().categories[name].wider for name in categories if name)


def _thing_by_head(name: str, parts: Words) -> Thing:
    """Return a thing by its last word with a category; packing words count only if no other word does."""
    packing, by_head = kitchen().packing, kitchen().by_head
    known = [word for word in reversed(parts) if word in by_head]
    heads = [word for word in known if word not in packing and word not in kitchen().materials]
    if parts and parts[-1] in by_head and (parts[-1] not in packing or not heads):
        heads = [parts[-1]]
    head = heads[0] if heads else (parts[-1] if parts else "")
    return Thing(name, parts, head, by_head.get(head, ""))


# ---- names in a sentence

_LABEL = re.compile(r"^(?:[a-e]|[1-5])\s*(?:\)\s*|\.\s+)")


def bare(text: str) -> str:
    """Return an action normalized for comparison: `fold`, without a label and a final stop."""
    return _LABEL.sub("", fold(text), count=1).rstrip(". ")


@lru_cache(maxsize=8192)
def is_filler(text: str) -> bool:
    """Return True if an option is a filler for a missing one (spec 6)."""
    return bare(text) == DO_NOTHING


@lru_cache(maxsize=8192)
def is_not_listed(text: str) -> bool:
    """Return True if an option is "none of the others" (spec 8.1)."""
    return "not listed" in fold(text)


def names_in(text: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct `names` that occur in `text`, in the text's order, spelled as in `names`."""
    by_folded = _by_folded(tuple(names))
    if not by_folded:
        return ()
    hits = _pattern(frozenset(by_folded)).finditer(fold(text))
    taken: list[tuple[int, int, str]] = []
    spans = ((*hit.span(1), hit[2]) for hit in hits)
    for start, end, name in sorted(spans, key=lambda span: (span[0] - span[1], span[0])):  # longest first
        if all(end <= other[0] or start >= other[1] for other in taken):
            taken.append((start, end, name))
    return tuple(dict.fromkeys(by_folded[name] for _, _, name in sorted(taken)))


def names_any(text: str, wanted: Iterable[str], names: Iterable[str] = ()) -> bool:
    """Return True if `text` names one of `wanted`, where the scene also has `names`."""
    targets = list(wanted)
    keys = set(map(fold, targets))
    return any(fold(name) in keys for name in names_in(text, [*targets, *names]))


def vocabulary(items: Iterable[Pair | Scenario]) -> tuple[str, ...]:
    """Return all objects of all scenes, and the appliances (spec 8.2)."""
    return tuple(dict.fromkeys((*APPLIANCES, *(name for item in items for name in item.objects))))


def context_affordance(option: str, things: Sequence[str], words: Iterable[str]) -> float:
    """Return LAP's context affordance: 1 if every object that the option names is there, else 0 (spec 8.2).

    Scenes do not list everything, and tasks are worded loosely, so an object also counts as there if a thing
    has its name (a mug: a glass mug; Greek yogurt: a cup of Greek yogurt), if every kitchen has it (water, a
    stove), or if its name is only a measure (a cup of flour).
    """
    listed = {fold(thing) for thing in things}
    present = tuple(map(stems, (*things, *table("categories")["always_there"])))
    others = (name for name in names_in(option, [*things, *words]) if fold(name) not in listed)
    return float(all(_is_present(stems(name), present) or _is_measure(name, option) for name in others))


def _is_present(name: tuple[str, ...], things: Iterable[tuple[str, ...]]) -> bool:
    """Return True if a thing has that name, after other words or before packing words."""
    size = len(name)
    return any(
        name == thing[place : place + size] and kitchen().packing.issuperset(thing[place + size :])
        for thing in things
        for place in range(len(thing) - size + 1)
    )


def _is_measure(name: str, option: str) -> bool:
    """Return True if a name occurs in an action only as an amount of something."""
    every = re.findall(rf"\b{re.escape(fold(name))}s?\b(?: of\b)?", fold(option))
    return stems(name)[-1] in kitchen().measures and all(hit.endswith(" of") for hit in every)


@lru_cache(maxsize=1024)
def _by_folded(names: tuple[str, ...]) -> Mapping[str, str]:
    return {key: name for name in reversed(names) if (key := fold(name))}


@lru_cache(maxsize=1024)
def _pattern(names: frozenset[str]) -> re.Pattern[str]:
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    words = "|".join(re.escape(name) for name in longest_first)
    # A look-ahead finds overlapping names, such as one that begins within a shorter one.
    return re.compile(rf"(?<!\w)(?=(({words})(?:e?s)?)(?!\w))")
