"""A rule-based reader of free-text questions, English or Chinese (tables/questions.yaml, asked_words.yaml).

A question is open (what colour? where?), or asks whether something it names is true (is it red? do you mean
apple#1? is it near the sofa? it is not a wreath, right?), or which of several alternatives is (red or blue?).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from simulator.handmethat.env.asked_words import (
    containers_described,
    correct_spelling,
    entities_named,
    stem,
    vocabularies,
    with_identifiers,
    word_table,
)
from simulator.handmethat.env.commands import normalize
from simulator.handmethat.hierarchy import LANGUAGES, all_words, hierarchy, read_table
from simulator.handmethat.meanings.model import Value
from simulator.handmethat.world import BitSet, World, bit_set

_PUNCTUATION: Final = re.compile(r"[\s?!,.。、；;:\"“”()]+")
_SENTENCE: Final = re.compile(r"(?<=[?!.。;；])\s*")
_CLAUSE: Final = re.compile(
    r"(?<=[?？])|,?\s+and\s+(?=(?:is|are|does|do|should|must)\s+(?:it|that|this|they|the)\b)|[，,]\s*(?:而且|并且|以及)",
    re.I,
)
"""Separates questions in a row."""
_OPEN_CLAUSE: Final = re.compile(
    r"(?<=[?!.])|[,;]?\s+and\s+(?=(?:(?:in|on|from|of) )?(?:what|which|where|how)\b)|[,，、;；]\s*"
)
"""Separates open questions in one sentence: what is it, and where is it?"""
_IDENTIFIER: Final = re.compile(r"(?<![a-z0-9_#])([a-z_]+#\d+)")
_QUALITIES: Final = "red|green|blue|large|small|big|little|open|closed|dusty|clean"
_CONTRACTIONS: Final = (
    (r"[’`´‘]", "'"),
    (r"(?<!\w)'|'(?!\w)", " "),
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
# “放到那里去” asks where: “哪里” sounds the same.
_SLIP_ZH: Final = re.compile(
    r"(?<!什么)(?:(?<=[在到进放去])那(?=[里儿边])|那(?=[种类样]))(?!.*(?:[吗吧哪]|什么))"
)
_JOINED: Final = re.compile(
    r"^[\s,]*(?:or|and|nor|还是|或者?|和|也)?[\s,]*(?:(?:the|a|an|some|any) )?"
    rf"(?:(?:{_QUALITIES}) )*$"
)
# Largest number of words from a description to the identifier it belongs to.
_NEAR: Final = 5
# Largest number of characters between words that belong together.
_FAR: Final = 80
_CHOICE: Final = rf"(?:(?:{_QUALITIES})\s+(?:or\s+(?:the\s+|a\s+)?)?)*"
_OR: Final = re.compile(r"\bor\b|还是|或|,|、")


class Mention(NamedTuple):
    """Something that a question names.

    Attributes:
        key: ``kind``, ``color``, ``size``, one of the states, ``place``, ``destination``, ``object``,
            ``attribute`` (a quality that things here do not have) or ``quest`` (the kind of help).
        value: the value; for a place, a destination or an object, the entities it names.
        negated: whether the question says that it is not the case.
    """

    key: str
    value: Value | BitSet
    negated: bool = False


class Question(NamedTuple):
    """A question that has been read: open questions, or the things it names; empty if not understood."""

    asks: tuple[str, ...] = ()
    mentions: tuple[Mention, ...] = ()


def table() -> Mapping[str, Any]:
    """Read tables/questions.yaml."""
    return read_table("questions")


def read_question(world: World, text: str) -> Question:
    """Read a question about the things of `world`; never raises."""
    normalized = _expand(_SLIP_ZH.sub("哪", text))
    if official := _official_questions().get(_strip_punctuation(normalized)):
        return official
    sentences = [_core(question) for question in _questions(correct_spelling(normalized))]
    if any(pattern.search(_strip_punctuation(" ".join(sentences))) for pattern in _never_patterns()):
        return Question()
    question = _read(world, sentences)
    clauses = [clause for sentence in sentences for clause in _OPEN_CLAUSE.split(sentence) if clause.strip()]
    parts = [part for part in (_read(world, [clause]) for clause in clauses) if part != Question()]
    asks = _merge_asks([ask for part in parts for ask in part.asks])
    return Question(asks) if all(part.asks for part in parts) and {*asks} > {*question.asks} else question


def _read(world: World, sentences: Sequence[str]) -> Question:
    """Read normalized sentences as one question."""
    words = _strip_punctuation(" ".join(sentences))
    mentions = tuple(
        dict.fromkeys(mention for sentence in sentences for mention in _Sentence(world, sentence).mentions())
    )
    asks = [key for key, patterns in _open() if any(pattern.search(words) for pattern in patterns)]
    alternatives = len(mentions) > 1 and any(map(_OR.search, sentences))
    if not alternatives and (ask := _which_kind(world, words)):
        asks.append(ask)
    open_asks = _resolve_asks(asks, words, alternatives, bool(mentions))
    if open_asks:
        return Question(open_asks)
    return Question(mentions=mentions or tuple(_quests(words)))


def questions_in(world: World, text: str, question: Question) -> tuple[Question, ...]:
    """Split `question` into the questions in a row in `text`, if no two name the same kind of thing."""
    parts = tuple(read_question(world, clause) for clause in _CLAUSE.split(text) if clause.strip())
    kinds = [kind for part in parts for kind in {mention.key for mention in part.mentions}]
    mentions = tuple(mention for part in parts for mention in part.mentions)
    separate = all(part.mentions for part in parts) and len(kinds) == len(set(kinds))
    return parts if separate and mentions == question.mentions else (question,)


def read_mentions(world: World, text: str) -> tuple[Mention, ...]:
    """Return everything about `world` that `text`, a question or an answer, names; never raises."""
    return tuple(_Sentence(world, _remove_patterns(table()["tags"], _expand(text))).mentions())


def kinds_asked(words: str) -> Iterator[tuple[str, str]]:
    """Yield each kind of thing that stands after "which" or "what", with the words behind it."""
    pattern, vocabulary = vocabularies()[0]
    for match in pattern.finditer(words):
        key, value = vocabulary[stem(vocabulary, match[0])]
        if key == "kind" and _ends_in_which(words[: match.start()]):
            yield str(value), words[match.end() :]


def _which_kind(world: World, words: str) -> str:
    """Return the open question of "which" or "what" before a noun ("which fruit"); empty without one."""
    for value, rest in kinds_asked(words):
        bits = entities_named(world, "kind", value)
        if bits & world.find_all("receptacle") and re.search(table()["put_it_in"], rest):
            return "destination"
        if bits & bit_set(world.locations):
            return "place"
        covers_several = value in word_table()["also_called"].values()
        return "which" if value in hierarchy().kinds and not covers_several else "type"
    things = re.finditer(table()["things"], words)
    described = (_ends_in_which(words[: thing.start()], words[thing.end() :]) for thing in things)
    return "type" if any(described) else ""


def _ends_in_which(words: str, rest: str | None = None) -> bool:
    """Return True if words end in "which" or "which clean"; if there is a rest, they or it must describe."""
    plain = _final_qualities().sub("", words)
    described = rest is None or plain != words or re.match(table()["describing"], rest)
    return bool(described and re.search(table()["which_kind"], plain))


@cache
def _final_qualities() -> re.Pattern[str]:
    return re.compile(rf"(?:(?:{vocabularies()[1][0].pattern})\s*)+$", re.ASCII)


def _resolve_asks(asks: list[str], words: str, alternatives: bool, named: bool) -> tuple[str, ...]:
    """Return the open questions that the words really ask, given the candidates `asks`."""
    if "specify" in asks:
        asks = [key for key in asks if key != "specify"] or ["clear"]
    if "confused" in asks:
        asks = [key for key in asks if key != "confused"]
        asks = asks or ([] if named else ["clear"])
    if "which" in asks:
        asks = [key for key in asks if key != "which"]
        if not asks and alternatives:
            return ()  # which of these
        asks = asks or ["clear"]
    if "destination" in asks:
        asks = [key for key in asks if key not in ("place", "task")]
    asks_where = bool({"place", "destination", "task"} & {*asks})
    if asks_where and "clear" not in asks and not re.search(table()["what_and_where"], words):
        asks = [key for key in asks if key != "type"]
    return _merge_asks(asks)


def _merge_asks(asks: Collection[str]) -> tuple[str, ...]:
    """Return open questions without those that the answer to another one covers."""
    if "clear" in asks:
        # A clear description covers everything about the thing, but not its destination.
        return tuple(dict.fromkeys(key for key in asks if key in ("clear", "destination")))
    if "look" in asks:
        asks = [key for key in asks if key not in ("type", "color", "size", "states")]
    return tuple(dict.fromkeys("attribute" if key == "material" else key for key in asks))


def _expand(text: str) -> str:
    """Return `text` in lower case and half-width with contractions expanded; punctuation stays."""
    words = unicodedata.normalize("NFKC", text).lower()
    for pattern, replacement in _CONTRACTIONS:
        words = re.sub(pattern, replacement, words)
    return " ".join(words.split())


def _strip_punctuation(words: str) -> str:
    return " ".join(_PUNCTUATION.sub(" ", words).split())


def _questions(words: str) -> list[str]:
    """Return the sentences with a question mark; all sentences if there is no such one."""
    sentences = [sentence for sentence in _SENTENCE.split(words) if sentence.strip()]
    return [sentence for sentence in sentences if sentence.endswith("?")] or sentences


def _core(sentence: str) -> str:
    """Return a sentence as a plain statement or question: without tags and rhetorical phrases."""
    words = _remove_tag(sentence)
    for pattern, replacement in table()["rhetorical"]:
        words = re.sub(pattern, replacement, words)
    words = _remove_tag(words)
    return _remove_patterns(table()["neutral"], words)


def _remove_tag(words: str) -> str:
    """Remove a tag question like ", right?" from the end; the question mark stays."""
    mark = "?" if words.rstrip().endswith("?") else ""
    sentence = words.rstrip(" ?!.。")
    particle = "吗" if re.search("(?<![对是好行])吗$", sentence) else ""
    shorter = _remove_patterns(table()["tags"], sentence).rstrip(" ,，")
    return f"{shorter or sentence}{particle}{mark}"


def _remove_patterns(patterns: Iterable[str], words: str) -> str:
    for pattern in patterns:
        words = re.sub(pattern, " ", words)
    return words


@cache
def _official_questions() -> Mapping[str, Question]:
    questions: dict[str, Question] = {}
    for language in LANGUAGES:
        for key, phrase in table()["official"][language].items():
            if key != "state":
                questions[phrase] = Question((key,))
                continue
            for state in table()["states"]:
                name = state if language == "en" else all_words("zh")[state]
                questions[phrase.format(state=name)] = Question(mentions=(Mention(state, True),))
    return questions


@cache
def _open() -> tuple[tuple[str, tuple[re.Pattern[str], ...]], ...]:
    return tuple((key, tuple(map(re.compile, patterns))) for key, patterns in table()["open"].items())


@cache
def _never_patterns() -> tuple[re.Pattern[str], ...]:
    return tuple(map(re.compile, table()["never"]))


def _quests(words: str) -> Iterator[Mention]:
    for quest, verbs in table()["quests"].items():
        if re.search(rf"{table()['doing']}.*?(?:{verbs})|{table()['doing_zh']}.*?(?:{verbs})", words):
            yield Mention("quest", quest)
            return


class _Span(NamedTuple):
    """A range of characters with a meaning; `key` and `value` as in a vocabulary."""

    start: int
    end: int
    key: str
    value: Any


class _Sentence:
    """A normalized sentence about a household; each range of characters is read once, longest first."""

    def __init__(self, world: World, sentence: str) -> None:
        named = with_identifiers(sentence, world.index)
        parts = (_strip_punctuation(normalize(part)) for part in re.split("[,，、(]", named))
        silent = re.compile(word_table()["silent"])
        self.words = silent.sub(lambda match: " " * len(match[0]), " , ".join(parts))
        self.taken = [False] * (len(self.words) + 1)
        self._world = world
        self._mentions: list[tuple[int, Mention]] = []  # each with its start

    def mentions(self) -> Iterator[Mention]:
        """Return everything that is named, in the order of the words."""
        words, world = self.words, self._world
        putting = re.search(table()["putting"], words) and not re.search(table()["put_there"], words)
        role = "destination" if putting else "place"
        last_place_end = -1  # for alternatives: "in the basket or the box"
        for start, end, key, value in self._named_spans():
            if key not in ("object", "kind", "room"):
                self._mentions.append((start, Mention(key, value)))
                continue
            bits = entities_named(world, key, value)
            before = self._place_start(start, end, bits, last_place_end)
            if before is not None and bits & world.find_all("receptacle"):
                place_role = "destination" if re.match("into|onto|to ", words[before:start]) else role
                self._add_place(before, start, Mention(place_role, bits))
                last_place_end = end
            elif key == "object":
                # Words before an identifier, or before its brackets, describe the same thing.
                self._mentions = [pair for pair in self._mentions if not self._describes(*pair, start, bits)]
                self._mentions.append((start, Mention("object", bits)))
            else:
                self._mentions.append((start, Mention("kind", value)))
        negated = self._negated_ranges()
        return (
            mention._replace(negated=any(start <= position < end for start, end in negated))
            for position, mention in sorted(self._mentions, key=lambda pair: pair[0])
        )

    def _named_spans(self) -> list[_Span]:
        """Return the spans to read, in order, except rooms that only qualify a noun ("the kitchen table")."""
        words, taken = self.words, self.taken
        spans = list(self._spans())
        zh = rf"{table()['doing_zh']}[^,]{{0,6}}?(?:{table()['deeds_zh']})"
        for verb in re.finditer(rf"{table()['doing']}(?:{table()['deeds']})\b|{zh}", words):
            # "Should I clean it" asks what to do, not whether it is clean; 要洗发水 is not about washing.
            if not any(span.start < verb.end() < span.end for span in spans):
                taken[verb.start() : verb.end()] = [True] * (verb.end() - verb.start())
        named: list[_Span] = []
        for span in spans:
            if not any(taken[span.start : span.end]):
                taken[span.start : span.end] = [True] * (span.end - span.start)
                named.append(span)
        kinds = [span.start for span in named if span.key == "kind"]
        link = re.compile(r"\s*(?:里?的)?")
        return sorted(
            span
            for span in named
            if span.key != "room" or not any(link.fullmatch(words[span.end : kind]) for kind in kinds)
        )

    def _spans(self) -> Iterator[_Span]:
        """Yield a span for every known word: identifiers, things, then qualities."""
        for match in _IDENTIFIER.finditer(self.words):
            if match[1] in self._world.index:
                yield _Span(*match.span(), "object", match[1])
        for pattern, vocabulary in vocabularies():
            for match in pattern.finditer(self.words):
                yield _Span(*match.span(), *vocabulary[stem(vocabulary, match[0])])

    def _place_start(self, start: int, end: int, bits: BitSet, last_place_end: int) -> int | None:
        """Return the start of the phrase that makes the thing at `start` a place; None if it is not one."""
        before = self._preposition(start, end)
        if before is None and last_place_end >= 0 and _JOINED.match(self.words[last_place_end:start]):
            return last_place_end
        if before is None and bits & bit_set(self._world.locations):
            return start  # a location is always a place
        return before

    def _preposition(self, start: int, end: int) -> int | None:
        rows, far = word_table(), max(0, start - _FAR)
        front = self.words[far:start]
        article = rf"\s+(?:(?:{rows['articles']})\s+)?"
        english = re.search(rf"\b(?:{rows['before_place']}){article}{_CHOICE}$", front, re.ASCII)
        chinese = re.search(rf"(?:{rows['before_place_zh']})([^\sa-z的上里中内]{{0,8}})$", front)
        behind = re.match(rf"\s*(?:的?(?:{rows['behind_place_zh']}))", self.words[end:])
        qualities = re.search(rf"(?:{rows['qualities_zh']}|还是|或者?)*$", front) if behind else None
        match = english or chinese or qualities
        return far + match.start() if match else None

    def _add_place(self, before: int, start: int, place: Mention) -> None:
        """Add a place whose phrase begins at `before`; qualities in it do not describe the object."""
        bits, mentions = int(place.value), self._mentions
        last_start, last = mentions[-1] if mentions else (0, place)
        bracketed = re.fullmatch(r"[^,]*\s,\s", self.words[last_start:start]) and bits.bit_count() == 1
        if mentions and last.key in ("place", "destination") and bracketed and int(last.value) & bits:
            mentions[-1] = (last_start, last._replace(value=bits))  # its identifier in brackets
            return
        others = [pair for pair in mentions if not before <= pair[0] < start or pair[1].key == place.key]
        # "In the blue or the red box" names two places.
        choices = re.split(r"\bor\b|还是|或者?", self.words[before:start])
        places = [containers_described(self._world, bits, choice) for choice in choices]
        if len(choices) > 1:
            places = [choice for choice in dict.fromkeys(places) if choice != bits]
        self._mentions = [*others, *((start, place._replace(value=choice)) for choice in places or [bits])]

    def _describes(self, mention_start: int, mention: Mention, start: int, bits: BitSet) -> bool:
        if start - mention_start > _FAR or mention.key not in ("kind", "color", "size"):
            return False
        near = len(self.words[mention_start:start].split()) <= _NEAR
        return near and bool(self._world.find_all(str(mention.value)) & bits)

    def _negated_ranges(self) -> list[tuple[int, int]]:
        """Return the ranges of characters in the scope of a negation."""
        words = self.words
        ends = [match.start() for match in re.finditer(table()["scope_ends"], words)]
        ranges = []
        for match in re.finditer(table()["negators"], words):
            if any(self.taken[match.start() : match.end()]):
                continue  # part of a word such as "not dusty"
            rest = [
                end
                for end in ends
                if end >= match.end() and not re.match(r",\s*(or|nor|and not|也不|不)", words[end:])
            ]
            ranges.append((match.start(), min(rest, default=len(words))))
        return ranges
