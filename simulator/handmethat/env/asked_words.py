"""The words by which questions and answers name things, places and qualities (tables/asked_words.yaml)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from simulator.handmethat.hierarchy import CLASSES, LANGUAGES, all_words, hierarchy, read_table
from simulator.handmethat.meanings.model import Value

Vocabulary = Mapping[str, tuple[str, Value]]
# Shorter words are too like one another to be corrected, and to correct others by.
_LEAST_LETTERS: Final = 4
_LEAST_RIGHT: Final = 5
_VOWELS: Final = re.compile("(?<!^)[aeiouy]")
# Consonants that tell a word whatever its vowels.
_TELLING: Final = 3
_WORD: Final = re.compile(rf"(?<![\w#])[a-z]{{{_LEAST_LETTERS},}}(?![\w#])", re.ASCII)


def word_table() -> Mapping[str, Any]:
    """Read tables/asked_words.yaml."""
    return read_table("asked_words")


@cache
def vocabularies() -> tuple[tuple[re.Pattern[str], Vocabulary], ...]:
    """Return a pattern of all words and what each means, for things, then for qualities."""
    things, qualities = _thing_vocabulary(), _qualities()
    return (_pattern(things), things), (_pattern(qualities), qualities)


def stem(vocabulary: Mapping[str, Any], word: str) -> str:
    """Return the entry of `word`, a plural maybe."""
    forms = (word, word.removesuffix("s"), word.removesuffix("es"))
    return next(form for form in forms if form in vocabulary)


def _thing_vocabulary() -> Vocabulary:
    rows, ignored = word_table(), set(word_table()["ignored"])
    kinds = {*hierarchy().kinds, *hierarchy().subclasses, *CLASSES}
    things: dict[str, tuple[str, Value]] = {}
    for language in LANGUAGES:
        words = all_words(language)
        # Types last: where one word is both, it means the type, whose name the subclass shares.
        for kind in sorted(kinds, key=lambda name: (name in hierarchy().kinds, name)):
            phrase = words[kind].lower()
            things[phrase.removeprefix("piece of ")] = things[phrase] = ("kind", kind)
    for kind in sorted(kinds):
        things |= {kind.lower(): ("kind", kind), kind.lower().replace("_", " "): ("kind", kind)}
    things |= {word: ("kind", kind) for word, kind in rows["synonyms"].items()}
    things |= {room: ("room", room) for room in rows["rooms"]}
    things |= {plural: things[word] for word in [*things] if (plural := _plural(word)) not in ("", *things)}
    return MappingProxyType({word: meant for word, meant in things.items() if word not in ignored})


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
    """Return the plural that no s or es makes: ``strawberries``, ``shelves``; empty where there is none."""
    if re.search(r"[a-z][^aeiou\W]y$", word, re.ASCII):
        return f"{word[:-1]}ies"
    return f"{word[:-1]}ves" if re.search(r"[a-z](lf|af)$", word, re.ASCII) else ""


def _pattern(vocabulary: Mapping[str, object]) -> re.Pattern[str]:
    words = sorted(vocabulary, key=lambda word: (-len(word), word))
    plain = "|".join(re.escape(word) for word in words if word.isascii())
    chinese = "|".join(re.escape(word) for word in words if not word.isascii())
    return re.compile(rf"(?<![\w#])(?:{plain})(?:e?s)?(?![\w#])|(?:{chinese})", re.ASCII)


def kinds_above(name: str) -> tuple[str, ...]:
    """Return the subclass and the class of a type, the class of a subclass; nothing above a class.

    Above a type stands another one, too, where that is a name for both: a necklace is jewelry.
    """
    known, also = hierarchy(), word_table()["also_called"]
    if name in known.kinds:
        called = (also[name],) if name in also else ()
        return known.kinds[name].subclass, known.kinds[name].cls, *called
    return (known.subclasses[name].cls,) if name in known.subclasses else ()


def correct_spelling(text: str) -> str:
    """Return `text` with misspelt words put right: one letter wrong, missing, too many, or two exchanged."""
    return _WORD.sub(lambda match: _mended_word(match[0]), text)


@cache
def _spellings() -> tuple[frozenset[str], Mapping[str, set[str]], Mapping[str, set[str]]]:
    """Words that stand as they are; and words that matter, by ways to misspell them and by their consonants.

    A way to misspell is the word without one of its letters, as in SymSpell's deletion index.
    """
    rows = word_table()
    matters = {
        part
        for vocabulary in (_thing_vocabulary(), _qualities())
        for phrase in vocabulary
        if phrase.isascii()
        for part in re.findall(r"[a-z]+", phrase)
        if len(part) >= _LEAST_RIGHT
    }
    matters |= {*rows["asking_words"].split()}
    stand = matters | {f"{word}s" for word in matters} | {f"{word}es" for word in matters}
    stand |= {*rows["common_words"].split()}
    known: defaultdict[str, set[str]] = defaultdict(set)
    by_consonants: defaultdict[str, set[str]] = defaultdict(set)
    for word in matters:
        by_consonants[_consonants(word)].add(word)
        for short in _shorter_forms(word):
            known[short].add(word)
    by_consonants.pop("", None)
    return frozenset(stand), dict(known), dict(by_consonants)


def _consonants(word: str) -> str:
    """Return the consonants of a word and its first letter; empty if they are too few to tell it."""
    left = _VOWELS.sub("", word)
    return left if len(left) >= _TELLING else ""


def _shorter_forms(word: str) -> set[str]:
    """Return `word` itself, and without any one of its letters but the first."""
    return {word, *(word[:place] + word[place + 1 :] for place in range(1, len(word)))}


@cache
def _mended_word(word: str) -> str:
    stand, known, by_consonants = _spellings()
    if word in stand:
        return word
    for form, end in ((word, ""), (word[:-1], "s") if word.endswith("s") else (word, "")):
        close = {entry for short in _shorter_forms(form) for entry in known.get(short, ())}
        right = {entry for entry in close if _one_slip(form, entry)} or by_consonants.get(
            _consonants(form), set()
        )
        if len(right) == 1:
            return min(right) + end
    return word


def _one_slip(word: str, other: str) -> bool:
    """Return True if one letter is wrong, missing or too many, or two neighbours are exchanged."""
    if abs(len(word) - len(other)) > 1:
        return False
    pairs = enumerate(zip(word, other, strict=False))
    start = next((i for i, (a, b) in pairs if a != b), min(len(word), len(other)))
    rest, wanted = word[start:], other[start:]
    return (
        rest[1:] == wanted[1:]
        or rest[1:] == wanted
        or rest == wanted[1:]
        or (rest[:2] == wanted[1::-1] and rest[2:] == wanted[2:])
    )
