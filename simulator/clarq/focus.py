"""The subject of a question: the topics near its question words.

"At which **shop** do you buy a kite?" asks for a shop; "where is the **kite**?" for the kite. A **focus**
weighs each topic by its distance from a question word; the **kind** asked for is the noun that follows
``which`` or ``what``. Explanations are read in the same way ("settles which shop has kites"), so that
the answer in a node can be compared with the question.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from simulator.clarq.lexical import (
    EN_PATTERNS,
    PATTERNS,
    STOP_WORDS,
    ZH_PATTERNS,
    Placed,
    chinese_places,
    clauses,
    english_words,
    load_table,
    sentences,
    stem,
    topic_of,
    topics,
    unite_synonyms,
)
from trees import Background, Language, Node

NEXT_WORD = 0.6  # English: weight of a content word relative to the previous one
REACH = 5.0  # Chinese: characters after which the weight has fallen to 1/e
BEFORE = 0.5  # Chinese: weight of topics before the question word, except for "where" and "who"

_WHERE_OR_WHO_ZH = frozenset(("哪里", "哪儿", "何处", "谁"))
_HOW = re.compile(r"how|如何|怎.*")
_SORT = frozenset(("type", "types", "kind", "kinds", "sort", "sorts"))


@dataclass(frozen=True, slots=True)
class Focus:
    """The subject of one question word; topics weigh 0 to 1, falling with the distance from that word."""

    how: bool
    weights: dict[str, float]


@lru_cache(maxsize=4096)
def foci(sentence: str, language: Language) -> tuple[Focus, ...]:
    """Return a focus for each question word of `sentence` that has a topic near it."""
    return _english_foci(sentence) if language == "en" else _chinese_foci(sentence)


@lru_cache(maxsize=4096)
def asked_kinds(sentence: str, language: Language, known: Collection[str] | None = None) -> frozenset[str]:
    """Return the kinds of thing that ``which`` and ``what`` ask for, as topics.

    A verb may follow the noun ("which key fits …"), so the last word that is a `known` kind counts.
    """
    phrases = _english_kinds(sentence) if language == "en" else _chinese_kinds(sentence)
    return frozenset(
        next((kind for kind in reversed(phrase) if known is None or kind in known), phrase[-1])
        for phrase in phrases
    )


def focus_of_text(text: str, language: Language) -> dict[str, float]:
    """Return the foci of an explanation merged, each topic with its largest weight."""
    merged: dict[str, float] = {}
    for sentence in sentences(text, language):
        for focus in foci(sentence, language):
            for topic, weight in focus.weights.items():
                merged[topic] = max(weight, merged.get(topic, 0.0))
    return merged


def several_of(text: str, language: Language) -> frozenset[str]:
    """Return the topics that an explanation says there are several of ("there are two mines")."""
    return frozenset().union(
        *(topics(match, language) for match in PATTERNS[language]["several"].findall(text))
    )


def _english_foci(sentence: str) -> tuple[Focus, ...]:
    focuses: list[Focus] = []
    count = 0
    for word in english_words(sentence):
        if EN_PATTERNS["question_word"].fullmatch(word):
            focuses.append(Focus(word == "how", {}))
            count = 0
        elif focuses and word not in STOP_WORDS:
            weights = focuses[-1].weights
            topic = topic_of(stem(word))
            weights[topic] = max(weights.get(topic, 0.0), NEXT_WORD**count)
            count += 1
    return tuple(focus for focus in focuses if focus.weights)


def _chinese_foci(sentence: str) -> tuple[Focus, ...]:
    words = list(ZH_PATTERNS["question_word"].finditer(text := unite_synonyms(sentence)))
    placed = chinese_places(text) if words else []
    focuses = [Focus(bool(_HOW.fullmatch(word.group())), _weights_around(word, placed)) for word in words]
    return tuple(focus for focus in focuses if focus.weights)


def _weights_around(word: re.Match[str], placed: list[Placed]) -> dict[str, float]:
    before = 1.0 if word.group() in _WHERE_OR_WHO_ZH else BEFORE
    weights: dict[str, float] = {}
    for topic, place in placed:
        if topic[0] < "\u4e00":
            continue
        if place >= word.end():
            weight = math.exp(-(place - word.end()) / REACH)
        elif place + 2 <= word.start():
            weight = before * math.exp(-(word.start() - place - 2) / REACH)
        else:
            continue
        weights[topic] = max(weight, weights.get(topic, 0.0))
    return weights


def _english_kinds(sentence: str) -> list[list[str]]:
    kinds = []
    for phrase in EN_PATTERNS["kind"].findall(sentence.lower()):
        run: list[str] = []
        for word in english_words(phrase):
            if word in _SORT:
                run = []
            elif word not in STOP_WORDS and not EN_PATTERNS["question_word"].fullmatch(word):
                run.append(word)
            elif run:
                break
            if len(run) == 3:
                break
        if run:
            kinds.append([topic_of(stem(word)) for word in run])
    return kinds


def _chinese_kinds(sentence: str) -> list[list[str]]:
    kinds = []
    for phrase in ZH_PATTERNS["kind"].findall(unite_synonyms(sentence)):
        if phrase[0] in "里儿":
            continue
        noun = phrase.split("的")[-1] if "的" in phrase[:5] else phrase
        if len(noun) > 1:
            kinds.append([noun[:2]])
    return kinds


WHERE: Final = "where"
SOURCE: Final = "source"
HOW: Final = "how"
WHY: Final = "why"
_UNMEASURED: Final = frozenset((WHERE, SOURCE, HOW, WHY, "name", "maker", "count", "who"))


class Attribute(NamedTuple):
    """Patterns of an attribute: in a question, in a node's text that settles it, and in its explanation."""

    asked: re.Pattern[str]
    stated: re.Pattern[str]
    explained: re.Pattern[str]


_ATTRIBUTES: Final = {
    language: {
        row["name"]: Attribute(
            *(re.compile(row[part], re.IGNORECASE) for part in ("asked", "stated", "explained"))
        )
        for row in rows
    }
    for language, rows in load_table("attributes").items()
}


@lru_cache(maxsize=4096)
def asked_attribute(asking: str, language: Language) -> str | None:
    """Return the attribute that an asking asks for; None for a choice or anything else."""
    matches = (name for name, attribute in _ATTRIBUTES[language].items() if attribute.asked.search(asking))
    return next(matches, None)


def measured(asking: str, language: Language) -> frozenset[str]:
    """Return the topics of the thing of which an asking wants to know a measure, if it does."""
    name = asked_attribute(asking, language) or HOW
    if name in _UNMEASURED:
        return frozenset()
    attribute = _ATTRIBUTES[language][name]
    rest = attribute.explained.sub(" ", attribute.asked.sub(" ", asking))
    return frozenset(topic for topic in topics(rest, language) if len(topic) > 1)


def resolve_pronouns(utterance: str, language: Language, known: frozenset[str]) -> str:
    """Return English with a question's pronoun replaced by what the clause before it names."""
    word, pronoun = EN_PATTERNS["question_word"], EN_PATTERNS["pronoun"]
    parts = [part for sentence in sentences(utterance, "en") for part in clauses(sentence, "en")]
    for before, asking in pairwise(parts if language == "en" else ()):
        words = [(each, topics(each, "en")) for each in english_words(before.rsplit(",")[-1])]
        named = " ".join(each for each, meant in words if meant and meant <= known)
        if named and word.search(asking.lower()) and not word.search(before.lower()):
            meant = pronoun.sub(named, asking, count=1)
            utterance = utterance.replace(asking, meant if topics(meant, "en") else f"{asking} {named}?")
    return utterance


def settled_attributes(
    node: Node, background: Background, named: Collection[str], language: Language
) -> frozenset[str]:
    """Return the attributes that `node` settles; `named`: the background entries that it names."""
    explanation = node.explanation or ""
    settled = {
        name
        for name, attribute in _ATTRIBUTES[language].items()
        if attribute.stated.search(node.text) or attribute.explained.search(explanation)
    }
    if any(entry in background.scenes for entry in named):
        settled.add(WHERE)
    if WHERE in settled:
        settled.add(SOURCE)
    if any(entry in background.skills for entry in named):
        settled.add(HOW)
    return frozenset(settled)
