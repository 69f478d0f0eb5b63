"""Reading a question in free words, English or Chinese, by rule (tables/questions.yaml, asked_words.yaml).

A question asks openly (what colour? where?), or whether something that it names is so (is it red? do you mean
apple#1? is it near the sofa? it is not a wreath, right?), or which of several things is (red or blue?).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import yaml

from simulator.handmethat.env.asked_words import mended, stem, vocabularies, word_table
from simulator.handmethat.env.commands import normalize
from simulator.handmethat.hierarchy import CLASSES, TABLES, hierarchy
from simulator.handmethat.meanings.model import Value
from simulator.handmethat.words import LANGUAGES, all_words
from simulator.handmethat.world import BitSet, World, bit_set

_PUNCTUATION: Final = re.compile(r"[\s?!,.。、；;:\"“”()]+")
_SENTENCE: Final = re.compile(r"(?<=[?!.。;；])\s*")
_IDENTIFIER: Final = re.compile(r"(?<![a-z0-9_#])([a-z_]+#\d+)")
_QUALITIES: Final = "red|green|blue|large|small|big|little|open|closed|dusty|clean"
_CONTRACTIONS: Final = (
    (r"[’`´‘]", "'"),
    (r"\bcan'?t\b", "can not"),
    (r"\bwon'?t\b", "will not"),
    (r"\bcannot\b", "can not"),
    (r"\b(is|are|was|were|do|does|did|should|would|must|could|has|have)n'?t\b", r"\1 not"),
    (r"\b(what|where|which|who|how|it|that|there|he)'?s\b(?<!its)", r"\1 is"),
    (r"\b(they|you|we)'re\b", r"\1 are"),
    (r"\bi'm\b", "i am"),
    (r"\b(i|you|it|we|they|that)'d\b", r"\1 would"),
    (r"\b(which|what|where) r\b", r"\1 are"),
    (r"\bu\b", "you"),
    (r"\bits (not|a|an|the|in|on|near|by|red|green|blue|big|small|large)\b", r"it is \1"),
)
_JOINED: Final = re.compile(
    r"^[\s,]*(?:or|and|nor|还是|或者?|和|也)?[\s,]*(?:(?:the|a|an|some|any) )?"
    rf"(?:(?:{_QUALITIES}) )*$"
)
# Words between a description and the identifier that it goes with, at most.
_NEAR: Final = 5
# Characters within which words belong together.
_FAR: Final = 80
_CHOICE: Final = rf"(?:(?:{_QUALITIES})\s+(?:or\s+(?:the\s+|a\s+)?)?)*"
_OR: Final = re.compile(r"\bor\b|还是|或|,|、")


class Mention(NamedTuple):
    """Something that a question names.

    Attributes:
        key: ``kind``, ``color``, ``size``, one of the states, ``place``, ``destination``, ``object``,
            ``attribute`` (a quality that things here do not have) or ``quest`` (what is to be done).
        value: the value; of a place, a destination or an object the entities that are meant.
        negated: whether it is named as what is not so.
    """

    key: str
    value: Value | BitSet
    negated: bool = False


class Question(NamedTuple):
    """A question that has been read; nothing in it if it was not understood.

    Attributes:
        asks: what it asks openly, keys of ``open`` in tables/questions.yaml.
        mentions: what it asks about otherwise, in the order of its words.
    """

    asks: tuple[str, ...] = ()
    mentions: tuple[Mention, ...] = ()


@cache
def table() -> Mapping[str, Any]:
    """tables/questions.yaml."""
    return MappingProxyType(yaml.safe_load((TABLES / "questions.yaml").read_text(encoding="utf-8")))


def read_question(world: World, text: str) -> Question:
    """Return what `text` asks about the things of `world`; never raises."""
    said = _spelt_out(text)
    official = _official(_unpunctuated(said))
    if official is not None:
        return official
    sentences = [_core(question) for question in _questions(mended(said))]
    words = _unpunctuated(" ".join(sentences))
    if any(pattern.search(words) for pattern in _never()):
        return Question()
    named = dict.fromkeys(mention for sentence in sentences for mention in _mentions(world, sentence))
    mentions = tuple(named)
    asks = [key for key, patterns in _open() if any(pattern.search(words) for pattern in patterns)]
    alternatives = len(mentions) > 1 and any(map(_OR.search, sentences))
    if not alternatives and (ask := _which_kind(world, words)):
        asks.append(ask)
    chosen = _chosen(asks, words, alternatives, bool(mentions))
    if chosen:
        return Question(chosen)
    return Question(mentions=mentions or tuple(_quests(words)))


def read_mentions(world: World, text: str) -> tuple[Mention, ...]:
    """Return what `text`, a question or an answer, names of the things of `world`; never raises."""
    return tuple(_mentions(world, _without(table()["tags"], _spelt_out(text))))


def _which_kind(world: World, words: str) -> str:
    """What is asked by "which" or "what" before a word for things ("which fruit"); empty if nothing is."""
    pattern, vocabulary = vocabularies()[0]
    for match in pattern.finditer(words):
        key, value = vocabulary[stem(vocabulary, match[0])]
        if key == "kind" and re.search(table()["which_kind"], words[: match.start()]):
            if _named(world, key, str(value)) & bit_set(world.locations):
                return "place"
            return "which" if value in hierarchy().kinds else "type"
    return ""


def _chosen(asks: list[str], words: str, alternatives: bool, named: bool) -> tuple[str, ...]:
    """Of what the words may ask openly, what they do ask.

    Args:
        asks: what they may ask.
        words: the question.
        alternatives: whether they name things to choose from.
        named: whether they name anything.
    """
    if "confused" in asks:
        asks = [key for key in asks if key != "confused"]
        asks = asks or ([] if named else ["clear"])
    if "which" in asks:
        asks.remove("which")
        if not asks and alternatives:
            return ()  # which of these
        asks = asks or ["clear"]
    if "destination" in asks:
        asks = [key for key in asks if key not in ("place", "task")]
    if "clear" in asks:
        # Said clearly, everything about the thing is said; where it is to go is another question.
        return tuple(key for key in asks if key in ("clear", "destination"))
    if "look" in asks:
        asks = [key for key in asks if key not in ("type", "color", "size", "states")]
    if {"place", "destination", "task"} & {*asks} and not re.search(table()["what_and_where"], words):
        asks = [key for key in asks if key != "type"]
    return tuple(dict.fromkeys("attribute" if key == "material" else key for key in asks))


def _spelt_out(text: str) -> str:
    """`text` in lower case, half-width, without contractions; the stops of sentences stay."""
    words = unicodedata.normalize("NFKC", text).lower()
    for pattern, instead in _CONTRACTIONS:
        words = re.sub(pattern, instead, words)
    return " ".join(words.split())


def _unpunctuated(words: str) -> str:
    return " ".join(_PUNCTUATION.sub(" ", words).split())


def _questions(words: str) -> list[str]:
    """Return the sentences that are questions; all of them if none has a question mark."""
    sentences = [one for one in _SENTENCE.split(words) if one.strip()]
    return [sentence for sentence in sentences if sentence.endswith("?")] or sentences


def _core(sentence: str) -> str:
    """Return a sentence as a plain statement or question: without tags, and not rhetorical."""
    words = _tagless(sentence)
    for pattern, instead in table()["rhetorical"]:
        words = re.sub(pattern, instead, words)
    words = _tagless(words)
    return _without(table()["neutral"], words)


def _tagless(words: str) -> str:
    """Without what asks for a confirmation at the end; the stop of a question stays."""
    stop = "?" if words.rstrip().endswith("?") else ""
    bare = words.rstrip(" ?!.。")
    asks = "吗" if re.search("(?<![对是好行])吗$", bare) else ""
    shorter = _without(table()["tags"], bare).rstrip(" ,，")
    return f"{shorter or bare}{asks}{stop}"


def _without(patterns: Iterable[str], words: str) -> str:
    for pattern in patterns:
        words = re.sub(pattern, " ", words)
    return words


def _official(words: str) -> Question | None:
    for language in LANGUAGES:
        for key, phrase in table()["official"][language].items():
            if key != "state":
                if phrase == words:
                    return Question((key,))
                continue
            for state in table()["states"]:
                told = state if language == "en" else all_words("zh")[state]
                if phrase.format(state=told) == words:
                    return Question(mentions=(Mention(state, True),))
    return None


@cache
def _open() -> tuple[tuple[str, tuple[re.Pattern[str], ...]], ...]:
    return tuple((key, tuple(map(re.compile, patterns))) for key, patterns in table()["open"].items())


@cache
def _never() -> tuple[re.Pattern[str], ...]:
    return tuple(map(re.compile, table()["never"]))


def _quests(words: str) -> Iterator[Mention]:
    """Yield what the words ask to do, if it is about that."""
    for quest, verbs in table()["quests"].items():
        if re.search(rf"{table()['doing']}.*?(?:{verbs})|{table()['doing_zh']}.*?(?:{verbs})", words):
            yield Mention("quest", quest)
            return


def _mentions(world: World, sentence: str) -> Iterator[Mention]:
    """Return what is named, each stretch of words read once, longest first."""
    parts = (_unpunctuated(normalize(part)) for part in re.split("[,，、(]", sentence))
    words = re.sub(word_table()["silent"], lambda match: " " * len(match[0]), " , ".join(parts))
    putting = re.search(table()["putting"], words) and not re.search(table()["put_there"], words)
    role = "destination" if putting else "place"
    taken = [False] * (len(words) + 1)
    zh = rf"{table()['doing_zh']}[^,]{{0,6}}?(?:{table()['deeds_zh']})"
    for verb in re.finditer(rf"{table()['doing']}(?:{table()['deeds']})\b|{zh}", words):
        # "Should I clean it" asks what to do, not whether it is clean.
        taken[verb.start() : verb.end()] = [True] * (verb.end() - verb.start())
    named: list[tuple[int, int, str, Any]] = []
    for start, end, key, value in _spans(world, words):
        if not any(taken[start:end]):
            taken[start:end] = [True] * (end - start)
            named.append((start, end, key, value))
    named = [one for one in named if not _says_which(one, named, words)]
    found: list[tuple[int, Mention]] = []
    placed = -1  # where the last place ends: "in the basket or the box"
    for start, end, key, value in sorted(named):
        if key not in ("object", "kind", "room"):
            found.append((start, Mention(key, value)))
            continue
        bits = _named(world, key, value)
        before = _place_begins(world, words, start, end, bits, placed)
        if before is not None and bits & world.of("receptacle"):
            there = "destination" if re.match("into|onto", words[before:start]) else role
            found = _with_place(world, found, words, before, start, Mention(there, bits))
            placed = end
        elif key == "object":
            # Words in front of an identifier, or before its brackets, describe what it names.
            found = [
                one
                for one in found
                if start - one[0] > _FAR or not _describes(world, one[1], bits, words[one[0] : start])
            ]
            found.append((start, Mention("object", bits)))
        else:
            found.append((start, Mention("kind", value)))
    denied = _denied(words, taken)
    return (
        mention._replace(negated=any(start <= place < end for start, end in denied))
        for place, mention in sorted(found, key=lambda one: one[0])
    )


def _says_which(one: tuple[int, int, str, Any], named: list[tuple[int, int, str, Any]], words: str) -> bool:
    """Return True if a room only says which place is meant: "the kitchen table"."""
    _, end, key, _ = one
    return key == "room" and any(
        other[2] == "kind" and re.fullmatch(r"\s*(?:里?的)?", words[end : other[0]]) for other in named
    )


def _place_begins(world: World, words: str, start: int, end: int, bits: BitSet, placed: int) -> int | None:
    """Return where the words begin that make what is named at `start` a place; None if it is none."""
    before = _before(words, start, end)
    if before is None and placed >= 0 and _JOINED.match(words[placed:start]):
        return placed
    if before is None and bits & bit_set(world.locations):
        return start  # a location can be nothing else
    return before


def _with_place(
    world: World, found: list[tuple[int, Mention]], words: str, before: int, start: int, place: Mention
) -> list[tuple[int, Mention]]:
    """Return what has been found with a place more; its own qualities say nothing about the object."""
    bits = int(place.value)
    if found and found[-1][1].key == place.key and re.fullmatch(r"[^,]*\s,\s", words[found[-1][0] : start]):
        where, last = found[-1]
        if int(last.value) & bits and bits.bit_count() == 1:
            return [*found[:-1], (where, last._replace(value=bits))]  # its identifier in brackets
    kept = [one for one in found if not before <= one[0] < start or one[1].key == place.key]
    # "In the blue or the red box" names two places.
    choices = re.split(r"\bor\b|还是|或者?", words[before:start])
    wanted = [_which(world, bits, choice) for choice in choices]
    named = [one for one in dict.fromkeys(wanted) if one != bits] if len(choices) > 1 else wanted
    return [*kept, *((start, place._replace(value=one)) for one in named or [bits])]


def _describes(world: World, mention: Mention, bits: BitSet, between: str) -> bool:
    """Whether a mention only says again what the thing named behind it is like: ``red box (box#1)``."""
    if mention.key not in ("kind", "color", "size"):
        return False
    return bool(world.of(str(mention.value)) & bits) and len(between.split()) <= _NEAR


def _denied(words: str, taken: list[bool]) -> list[tuple[int, int]]:
    """Return the stretches in which what is named is said not to be so."""
    ends = [match.start() for match in re.finditer(table()["scope_ends"], words)]
    stretches = []
    for match in re.finditer(table()["negators"], words):
        if any(taken[match.start() : match.end()]):
            continue  # part of a word such as "not dusty"
        rest = [
            end
            for end in ends
            if end >= match.end() and not re.match(r",\s*(or|nor|and not|也不|不)", words[end:])
        ]
        stretches.append((match.start(), min(rest, default=len(words))))
    return stretches


def _spans(world: World, words: str) -> list[tuple[int, int, str, Any]]:
    """(start, end, key, value) of every word that means something: things first, then qualities."""
    spans: list[tuple[int, int, str, Any]] = []
    for match in _IDENTIFIER.finditer(words):
        if match[1] in world.index:
            spans.append((*match.span(), "object", match[1]))
    for pattern, vocabulary in vocabularies():
        spans += [
            (*match.span(), *vocabulary[stem(vocabulary, match[0])]) for match in pattern.finditer(words)
        ]
    return spans


def _named(world: World, key: str, value: str) -> BitSet:
    if key == "object":
        return 1 << world.index[value]
    if key == "room":
        return bit_set(world.index[name] for name in word_table()["rooms"][value] if name in world.index)
    locations = {world.names[place] for place in world.locations}
    return world.of(value) if value not in CLASSES or value in (*locations, "RECEPTACLE") else 0


def _before(words: str, start: int, end: int) -> int | None:
    """Return where the words begin that make the thing at `start` a place; None if it is none."""
    rows, far = word_table(), max(0, start - _FAR)
    front = words[far:start]
    english = re.search(
        rf"\b(?:{rows['before_place']})\s+(?:(?:{rows['articles']})\s+)?{_CHOICE}$",
        front,
        re.ASCII,
    )
    if english:
        return far + english.start()
    chinese = re.search(rf"(?:{rows['before_place_zh']})([^\sa-z的上里中内]{{0,8}})$", front)
    if chinese:
        return far + chinese.start()
    behind = re.match(rf"\s*(?:的?(?:{rows['behind_place_zh']}))", words[end:])
    qualities = re.search(rf"(?:{rows['qualities_zh']}|还是|或者?)*$", front)
    return far + qualities.start() if behind and qualities else None


def _which(world: World, containers: BitSet, words: str) -> BitSet:
    """Return those of `containers` whose colour and size are the ones in `words`, if there are any."""
    for key in ("color", "size"):
        for word, value in word_table()["values"][key].items():
            if re.search(rf"\b{word}\b", words) if word.isascii() else word in words:
                containers &= world.of(value)
    return containers
