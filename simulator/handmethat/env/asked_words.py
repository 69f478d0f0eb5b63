"""Vocabulary for things, places and qualities in questions and answers (tables/asked_words.yaml)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from simulator.handmethat.hierarchy import CLASSES, LANGUAGES, all_words, hierarchy, read_table
from simulator.handmethat.meanings.model import Value
from simulator.handmethat.world import BitSet, World, bit_set

Vocabulary = Mapping[str, tuple[str, Value]]
# Fewest letters of a word to correct, and of a correction; shorter words are too similar.
_LEAST_LETTERS: Final = 4
_LEAST_RIGHT: Final = 5
_NUMBER: Final = r"(?:#|no\.?|number)?\s*([0-3])(?![\d号个])"
_VOWELS: Final = re.compile("(?<!^)[aeiouy]")
# Fewest consonants that identify a word with wrong vowels.
_LEAST_CONSONANTS: Final = 3
_WORD: Final = re.compile(rf"(?<![\w#])[a-z]{{{_LEAST_LETTERS},}}(?![\w#])", re.ASCII)


def word_table() -> Mapping[str, Any]:
    """Read tables/asked_words.yaml."""
    return read_table("asked_words")


@cache
def vocabularies() -> tuple[tuple[re.Pattern[str], Vocabulary], ...]:
    """Return a pattern of all words and the meaning of each, for things and for qualities."""
    things, qualities = _thing_vocabulary(), _qualities()
    return (_pattern(things), things), (_pattern(qualities), qualities)


def stem(vocabulary: Mapping[str, Any], word: str) -> str:
    """Return the entry for `word`, which may be a plural."""
    forms = (word, word.removesuffix("s"), word.removesuffix("es"))
    return next(form for form in forms if form in vocabulary)


def with_identifiers(text: str, names: Collection[str]) -> str:
    """Return `text` with "bin number 1" or 垃圾桶1 as one of `names` (ashcan#1), or without its number."""
    pattern, vocabulary = vocabularies()[0]

    def identify(match: re.Match[str]) -> str:
        identifier = f"{vocabulary[stem(vocabulary, match[1])][1]}#{match[2]}"
        return identifier if identifier in names else match[1]

    return re.sub(rf"({pattern.pattern})\s*{_NUMBER}", identify, text, flags=re.ASCII)


def _thing_vocabulary() -> Vocabulary:
    rows, ignored = word_table(), set(word_table()["ignored"])
    kinds = {*hierarchy().kinds, *hierarchy().subclasses, *CLASSES}
    things: dict[str, tuple[str, Value]] = {}
    for language in LANGUAGES:
        words = all_words(language)
        # Types last: a word for both a type and its subclass means the type.
        for kind in sorted(kinds, key=lambda name: (name in hierarchy().kinds, name)):
            phrase = words[kind].lower()
            things[phrase.removeprefix("piece of ")] = things[phrase] = ("kind", kind)
    for kind in sorted(kinds):
        things |= {kind.lower(): ("kind", kind), kind.lower().replace("_", " "): ("kind", kind)}
    things |= {word: ("kind", kind) for word, kind in rows["synonyms"].items()}
    things |= {room: ("room", room) for room in rows["rooms"]}
    things |= {plural: things[word] for word in [*things] if (plural := _plural(word)) not in ("", *things)}
    return MappingProxyType({word: meaning for word, meaning in things.items() if word not in ignored})


def _qualities() -> Vocabulary:
    rows = word_table()
    qualities: dict[str, tuple[str, Value]] = {word: ("attribute", word) for word in rows["attributes"]}
    for truth in ("true", "false"):
        for state, phrases in rows["values"][truth].items():
            qualities |= {word: (state, truth == "true") for word in phrases}
            if truth == "true":
                qualities |= {f"not {word}": (state, False) for word in phrases if word.isascii()}
    for key in ("color", "size"):
        qualities |= {word: (key, value) for word, value in rows["values"][key].items()}
    return MappingProxyType(qualities)


def _plural(word: str) -> str:
    """Return a plural that does not just add s or es, like ``strawberries`` or ``shelves``; else empty."""
    if re.search(r"[a-z][^aeiou\W]y$", word, re.ASCII):
        return f"{word[:-1]}ies"
    return f"{word[:-1]}ves" if re.search(r"[a-z](lf|af)$", word, re.ASCII) else ""


def _pattern(vocabulary: Mapping[str, object]) -> re.Pattern[str]:
    words = sorted(vocabulary, key=lambda word: (-len(word), word))
    plain = "|".join(re.escape(word) for word in words if word.isascii())
    chinese = "|".join(re.escape(word) for word in words if not word.isascii())
    return re.compile(rf"(?<![\w#])(?:{plain})(?:e?s)?(?![\w#])|(?:{chinese})", re.ASCII)


def entities_named(world: World, key: str, value: str) -> BitSet:
    """Return the entities that an identifier, a room or a kind of thing names."""
    if key == "object":
        return 1 << world.index[value]
    if key == "room":
        return bit_set(world.index[name] for name in word_table()["rooms"][value] if name in world.index)
    locations = {world.names[place] for place in world.locations}
    return world.find_all(value) if value not in CLASSES or value in (*locations, "RECEPTACLE") else 0


def containers_described(world: World, containers: BitSet, words: str) -> BitSet:
    """Return the `containers` that have the colour and size in `words`, if these are given."""
    for key in ("color", "size"):
        for name, value in word_table()["values"][key].items():
            if re.search(rf"\b{name}\b", words) if name.isascii() else name in words:
                containers &= world.find_all(value)
    return containers


def kinds_above(name: str) -> tuple[str, ...]:
    """Return the subclass and the class of a type, the class of a subclass; nothing for a class.

    A type whose name also covers another type counts as above it: a necklace is jewelry.
    """
    table, also_called = hierarchy(), word_table()["also_called"]
    if name in table.kinds:
        wider = (also_called[name],) if name in also_called else ()
        return table.kinds[name].subclass, table.kinds[name].cls, *wider
    return (table.subclasses[name].cls,) if name in table.subclasses else ()


def correct_spelling(text: str) -> str:
    """Return `text` with misspelt words corrected: one letter wrong, missing, extra, or two exchanged."""
    return _WORD.sub(lambda match: _correct_word(match[0]), text)


@cache
def _spellings() -> tuple[frozenset[str], Mapping[str, set[str]], Mapping[str, set[str]]]:
    """Return words never corrected, and correct words by shortened form and by their consonants.

    A shortened form lacks one letter of the word, as in SymSpell's deletion index.
    """
    rows = word_table()
    parts = {
        part
        for vocabulary in (_thing_vocabulary(), _qualities())
        for phrase in vocabulary
        if phrase.isascii()
        for part in re.findall(r"[a-z]+", phrase)
    }
    vocabulary_words = {part for part in parts if len(part) >= _LEAST_RIGHT} | {*rows["asking_words"].split()}
    correct = {word + end for word in parts | vocabulary_words for end in ("", "s", "es")}
    correct |= {*rows["common_words"].split()}
    by_short_form: defaultdict[str, set[str]] = defaultdict(set)
    by_consonants: defaultdict[str, set[str]] = defaultdict(set)
    for word in vocabulary_words:
        by_consonants[_consonants(word)].add(word)
        for short in _shorter_forms(word):
            by_short_form[short].add(word)
    by_consonants.pop("", None)
    return frozenset(correct), dict(by_short_form), dict(by_consonants)


def _consonants(word: str) -> str:
    """Return the first letter and the consonants of a word; empty if they are too few to identify it."""
    consonants = _VOWELS.sub("", word)
    return consonants if len(consonants) >= _LEAST_CONSONANTS else ""


def _shorter_forms(word: str) -> set[str]:
    """Return `word` and its forms without one letter, the first letter always kept."""
    return {word, *(word[:i] + word[i + 1 :] for i in range(1, len(word)))}


@cache
def _correct_word(word: str) -> str:
    correct, by_short_form, by_consonants = _spellings()
    if word in correct:
        return word
    for form, end in ((word, ""), (word[:-1], "s") if word.endswith("s") else (word, "")):
        close = {entry for short in _shorter_forms(form) for entry in by_short_form.get(short, ())}
        corrections = {entry for entry in close if _one_slip(form, entry)} or by_consonants.get(
            _consonants(form), set()
        )
        corrections = corrections & {*word_table()["asking_words"].split()} or corrections
        if len(corrections) == 1:
            return min(corrections) + end
    return word


def _one_slip(word: str, other: str) -> bool:
    """Return True if one letter is wrong, missing or extra, or two neighbours are exchanged."""
    if abs(len(word) - len(other)) > 1:
        return False
    pairs = enumerate(zip(word, other, strict=False))
    start = next((i for i, (a, b) in pairs if a != b), min(len(word), len(other)))
    rest, target = word[start:], other[start:]
    return (
        rest[1:] == target[1:]
        or rest[1:] == target
        or rest == target[1:]
        or (rest[:2] == target[1::-1] and rest[2:] == target[2:])
    )
