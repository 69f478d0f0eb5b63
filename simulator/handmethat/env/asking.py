"""Reading a question in free words, English or Chinese, by rule (tables/questions.yaml).

A question asks openly (what colour? where?), or whether something that it mentions is right (is it red?
do you mean apple#1? is it in the fridge?), or which of several things is (the red or the blue one?).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import yaml

from simulator.handmethat.env.commands import normalize
from simulator.handmethat.hierarchy import CLASSES, TABLES, hierarchy
from simulator.handmethat.meanings.model import Value
from simulator.handmethat.words import LANGUAGES, all_words
from simulator.handmethat.world import BitSet, World

_BLANKS: Final = re.compile(r"[\s?!？！。，、；;:：\"“”'’]+")
_IDENTIFIER: Final = re.compile(r"(?<![a-z0-9_#])([a-z_]+#\d+)")
_ADJECTIVES: Final = "red|green|blue|large|small|big|little|open|closed|dusty|clean"


class Mention(NamedTuple):
    """Something that a question names.

    Attributes:
        key: ``kind``, ``color``, ``size``, one of the states, ``place``, ``destination`` or ``object``.
        value: the value; of a place, a destination or an object the entities that are meant.
    """

    key: str
    value: Value | BitSet


class Question(NamedTuple):
    """A question that has been read; nothing in it if it was not understood.

    Attributes:
        asks: what it asks openly: ``clear``, ``type``, ``color``, ``size``, ``place``, ``destination``.
        mentions: what it asks about otherwise, in the order of its words.
    """

    asks: tuple[str, ...] = ()
    mentions: tuple[Mention, ...] = ()


@cache
def table() -> Mapping[str, Any]:
    """tables/questions.yaml."""
    return MappingProxyType(yaml.safe_load((TABLES / "questions.yaml").read_text(encoding="utf-8")))


def read_question(world: World, text: str) -> Question:
    """What `text` asks about the things of `world`; never raises."""
    words = " ".join(_BLANKS.sub(" ", text.lower()).split())
    official = _official(words)
    if official is not None:
        return official
    if any(re.search(pattern, words) for pattern in table()["never"]):
        return Question()
    asks = tuple(key for key, patterns in _open() if any(pattern.search(words) for pattern in patterns))
    if "clear" in asks:
        return Question(("clear",))
    if "destination" in asks:
        asks = tuple(key for key in asks if key != "place")
    return Question(asks) if asks else Question(mentions=tuple(_mentions(world, normalize(words))))


def read_mentions(world: World, text: str) -> tuple[Mention, ...]:
    """What `text`, a question or an answer, names of the things of `world`; never raises."""
    words = " ".join(_BLANKS.sub(" ", text.lower()).split())
    return tuple(_mentions(world, normalize(words)))


def _official(words: str) -> Question | None:
    for language in LANGUAGES:
        for key, phrase in table()["official"][language].items():
            if key != "state":
                if phrase in words:
                    return Question((key,))
                continue
            for state in table()["states"]:
                told = state if language == "en" else all_words("zh")[state]
                if phrase.format(state=told) in words:
                    return Question(mentions=(Mention(state, True),))
    return None


@cache
def _open() -> tuple[tuple[str, tuple[re.Pattern[str], ...]], ...]:
    return tuple((key, tuple(map(re.compile, patterns))) for key, patterns in table()["open"].items())


def _mentions(world: World, words: str) -> Iterator[Mention]:
    """What is named, each stretch of words read once, longest first."""
    putting = bool(re.search(table()["putting"], words))
    place = "destination" if putting else "place"
    found: list[tuple[int, Mention]] = []
    taken = [False] * (len(words) + 1)
    for start, end, key, value in _spans(world, words):
        if any(taken[start:end]):
            continue
        taken[start:end] = [True] * (end - start)
        if key in ("object", "kind"):
            bits = _named(world, key, value)
            if bits & world.of("receptacle") and (before := _before(words, start, end)) is not None:
                # The container's own adjectives say nothing about the object.
                taken[before:start] = [True] * (start - before)
                words_in_front = words[before:start]
                found.append((start, Mention(place, _which(world, bits, words_in_front))))
                continue
            value = bits if key == "object" else value
        found.append((start, Mention(key, value)))
    return (mention for _, mention in sorted(found, key=lambda one: one[0]))


def _spans(world: World, words: str) -> list[tuple[int, int, str, Any]]:
    """(start, end, key, value) of every word that means something: things first, then adjectives."""
    spans: list[tuple[int, int, str, Any]] = []
    for match in _IDENTIFIER.finditer(words):
        if match[1] in world.index:
            spans.append((*match.span(), "object", match[1]))
    for pattern, vocabulary in _vocabularies():
        spans += [
            (*match.span(), *vocabulary[_stem(vocabulary, match[0])]) for match in pattern.finditer(words)
        ]
    return spans


def _stem(vocabulary: Mapping[str, Any], word: str) -> str:
    """The entry of `word`, a plural maybe."""
    return next(one for one in (word, word.removesuffix("s"), word.removesuffix("es")) if one in vocabulary)


@cache
def _vocabularies() -> tuple[tuple[re.Pattern[str], Mapping[str, tuple[str, Value]]], ...]:
    """For things, then for adjectives: a pattern of all words, and what each means."""
    rows, ignored = table(), set(table()["ignored"])
    kinds = {*hierarchy().kinds, *hierarchy().subclasses, *CLASSES}
    things: dict[str, tuple[str, Value]] = {}
    for language in LANGUAGES:
        told = all_words(language)
        # Types last: where one word is both, it means the type, whose name the subclass shares.
        for kind in sorted(kinds, key=lambda name: (name in hierarchy().kinds, name)):
            things[told[kind].lower()] = ("kind", kind)
    for kind in sorted(kinds):
        things |= {kind.lower(): ("kind", kind), kind.lower().replace("_", " "): ("kind", kind)}
    things |= {word: ("kind", kind) for word, kind in rows["synonyms"].items()}
    things = {word: meant for word, meant in things.items() if word not in ignored}
    adjectives: dict[str, tuple[str, Value]] = {}
    for truth in ("true", "false"):
        for state, told_so in rows["values"][truth].items():
            adjectives |= {word: (state, truth == "true") for word in told_so}
            if truth == "true":
                adjectives |= {f"not {word}": (state, False) for word in told_so if word.isascii()}
    for key in ("color", "size"):
        adjectives |= {word: (key, value) for word, value in rows["values"][key].items()}
    return (_pattern(things), MappingProxyType(things)), (_pattern(adjectives), MappingProxyType(adjectives))


def _pattern(vocabulary: Mapping[str, object]) -> re.Pattern[str]:
    words = sorted(vocabulary, key=lambda word: (-len(word), word))
    plain = "|".join(re.escape(word) for word in words if word.isascii())
    chinese = "|".join(re.escape(word) for word in words if not word.isascii())
    return re.compile(rf"(?<![\w#])(?:{plain})(?:e?s)?(?![\w#])|(?:{chinese})", re.ASCII)


def _named(world: World, key: str, value: str) -> BitSet:
    if key == "object":
        return 1 << world.index[value]
    locations = {world.names[place] for place in world.locations}
    return world.of(value) if value not in CLASSES or value in locations else 0


def _before(words: str, start: int, end: int) -> int | None:
    """Where the words begin that make the thing at `start` a place; None if it is none."""
    rows = table()
    english = re.search(
        rf"\b(?:{rows['before_place']})\s+(?:(?:{rows['articles']})\s+)?(?:(?:{_ADJECTIVES})\s+)*$",
        words[:start],
        re.ASCII,
    )
    if english:
        return english.start()
    chinese = re.search(rf"(?:{rows['before_place_zh']})([^\sa-z]{{0,8}})$", words[:start])
    if chinese:
        return chinese.start()
    behind = re.match(rf"\s*(?:的?(?:{rows['behind_place_zh']}))", words[end:])
    return start if behind else None


def _which(world: World, containers: BitSet, words: str) -> BitSet:
    """Those of `containers` whose colour and size are the ones in `words`, if there are any."""
    for key in ("color", "size"):
        for word, value in table()["values"][key].items():
            if re.search(rf"\b{word}\b", words) if word.isascii() else word in words:
                containers &= world.of(value)
    return containers
