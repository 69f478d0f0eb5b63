"""From text to terms, sentences and questions, in English and Chinese, by rule.

A **term** is a stemmed content word in English and a pair of neighbouring characters in Chinese, where a
stop word or stop character breaks the run. A **topic** is a term after synonyms have been united. No
dictionary beyond the lists in `tables/lexical.yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, NamedTuple

import snowballstemmer
import yaml

from trees import Language

_LISTS: dict[str, Any] = yaml.safe_load(
    files("simulator.clarq").joinpath("tables", "lexical.yaml").read_text(encoding="utf-8")
)
_STOP_EN = frozenset(_LISTS["en"]["stop_words"].split())
_STOP_CHARACTERS = frozenset(_LISTS["zh"]["stop_characters"])
_FUNCTION_CHARACTERS = _STOP_CHARACTERS.union(_LISTS["zh"]["measures"], _LISTS["zh"]["function_characters"])
_STOP_ZH = re.compile(
    "|".join(sorted(map(re.escape, _LISTS["zh"]["stop_words"].split()), key=len, reverse=True))
)

# The first word of a group stands for itself, lest a shorter one be found within it.
_SYNONYMS_ZH = {word: group[0] for group in map(str.split, _LISTS["zh"]["synonyms"]) for word in group}
_SYNONYM_ZH = re.compile("|".join(sorted(map(re.escape, _SYNONYMS_ZH), key=len, reverse=True)))

_MEASURE_ZH = re.compile(rf"(哪|这|那)[一几]?[{_LISTS['zh']['measures']}](?=[\u4e00-\u9fff])")

_MISSPELLINGS = {
    word: first
    for language in ("en", "zh")
    for first, *others in map(str.split, _LISTS[language]["misspelt"])
    for word in others
}
_MISSPELT = {
    language: re.compile(
        pattern.format("|".join(sorted(_MISSPELLINGS, key=len, reverse=True))), re.IGNORECASE
    )
    for language, pattern in {"en": r"\b(?:{})\b", "zh": "{}"}.items()
}
# "were do i camp" asks for a place, "were there any" does not.
_WERE = re.compile(
    r"(?:^|(?<=[.?!,;] ))were(?= (?:do|does|did|is|are|can|could|should|shall|will)\b)", re.IGNORECASE
)
# 那 is typed for 哪; without any other mark of a question it is one.
_THAT_ZH = re.compile(rf"那(?=[{_LISTS['zh']['measures']}里儿些几])|(?<=[在去到往从])那(?![天时年边头])")
_ASKS_ZH = re.compile(r"[吗呢吧么谁几哪]|什么|怎|如何|多[少大久长]|是否|还是|[行对好可]不[行对好可]")

# Characters that look alike, each with the others of its groups.
LOOKALIKES = {
    character: frozenset(other for group in groups if character in group for other in group)
    for groups in [_LISTS["zh"]["lookalikes"].split()]
    for character in "".join(groups)
}

_STEMMER = snowballstemmer.stemmer("english")
_IRREGULAR = {word: first for first, *others in map(str.split, _LISTS["en"]["irregular"]) for word in others}

_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+")
_RUN = re.compile(r"[\u4e00-\u9fff]+|[a-z0-9]+")
_NUMBERING = re.compile(r"(?m)^ ?(?:\d+[.、)）]|[-*•])\s*")
_BLANKS = re.compile(r"[^\S\n]+")
_ABBREVIATION = re.compile(r"\b(St|Mr|Mrs|Ms|Dr|Mt)\.")
_SENTENCE = {
    "en": re.compile(r"[^\n]+?(?:[.?!]+(?=[\s\"”)]|$)|(?=\n)|$)"),
    "zh": re.compile(r"[^。？！?!\n；;]+[。？！?!；;]*"),
}
_CLAUSE_BREAK = {
    "en": re.compile(
        r"[,;:—–]\s+(?=(?:and|or|but|also|which|where|how|what|once|after|should|so|do|does|is|are|can|will"
        r"|if|when|who|as)\b)"
        r"| and (?=(?:which|where|how|what|who|if|whether|should|is|are|do)\b)"
    ),
    "zh": re.compile(r"[，,；;：:]"),
}
_QUESTION = {
    "en": re.compile(
        r"\?|\b(?:could you|can you|please|would you|i(?:'d| would) (?:like|appreciate)|clarif|specify"
        r"|let me know|need to know|not sure|unsure|wondering|want to know)",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"[？?]|请|能否|吗|呢|哪|什么|怎么|如何|是否|还是|不知道|不确定|不清楚|想知道|想了解|想确认"
    ),
}


class Placed(NamedTuple):
    """A topic and where it stands: which content word it is in English, at which character in Chinese."""

    topic: str
    place: int


@lru_cache(maxsize=4096)
def terms(text: str, language: Language) -> tuple[str, ...]:
    """Return the terms of `text` in order, repetitions included."""
    return tuple(_english(text) if language == "en" else _chinese(text.lower()))


@lru_cache(maxsize=4096)
def topics(text: str, language: Language) -> frozenset[str]:
    """Return the topics of `text`."""
    if language == "en":
        return frozenset(map(topic_of, terms(text, language)))
    return frozenset(terms(unite_synonyms(text), language))


def topic_of(term: str) -> str:
    """Return the topic of an English term."""
    return _SYNONYMS_EN.get(term, term)


def unite_synonyms(text: str) -> str:
    """Chinese text with every word of a group of synonyms replaced by the first of the group.

    A measure word between a question word and its noun goes: it would form a pair with the noun.
    """
    text = _MEASURE_ZH.sub(r"\1 ", text)
    return _SYNONYM_ZH.sub(lambda match: _SYNONYMS_ZH[match.group()], text)


def is_stop_word(word: str) -> bool:
    """Return True if an English word, in lower case, says nothing about what a question is about."""
    return word in _STOP_EN


def is_function_character(character: str) -> bool:
    """Return True if a Chinese character is a word of grammar, a measure word or a number."""
    return character in _FUNCTION_CHARACTERS


@cache
def words_of(name: str, language: Language) -> frozenset[str]:
    """Return all words of one of our own lists."""
    entries = _LISTS[language][name]
    groups = entries.split("\n") if isinstance(entries, str) else entries
    return frozenset(word for group in groups for word in group.split())


def english_words(text: str) -> list[str]:
    """Return the words of English text in lower case, without what follows an apostrophe."""
    return [word.split("'")[0] for word in _WORD.findall(text.lower().replace("’", "'"))]


def chinese_places(text: str) -> list[Placed]:
    """Return the terms of Chinese text with their places; a character alone between stops is a term too."""
    blanked = _STOP_ZH.sub(lambda match: " " * len(match.group()), text.lower().replace("jax", "   "))
    content = [
        "\u4e00" <= character <= "\u9fff" and character not in _STOP_CHARACTERS for character in blanked
    ]
    placeds = []
    for place, character in enumerate(blanked):
        if not content[place]:
            continue
        if place + 1 < len(blanked) and content[place + 1]:
            placeds.append(Placed(blanked[place : place + 2], place))
        elif not (place and content[place - 1]):
            placeds.append(Placed(character, place))
    return placeds


def corrected(text: str, language: Language) -> str:
    """Return what was meant where a question word is misspelt, as it often is in a hurry."""
    text = _MISSPELT[language].sub(lambda match: _MISSPELLINGS[match.group().lower()], text)
    if language == "en":
        return _WERE.sub("where", text)
    return text if _ASKS_ZH.search(text) else _THAT_ZH.sub("哪", text)


def sentences(text: str, language: Language) -> tuple[str, ...]:
    """The sentences of `text` with their end marks; list items count as sentences, their numbers go."""
    text = _NUMBERING.sub("", _BLANKS.sub(" ", text))
    if language == "en":
        text = _ABBREVIATION.sub(r"\1", text)
    found = (match.strip() for match in _SENTENCE[language].findall(text))
    return tuple(sentence for sentence in found if sentence)


def clauses(sentence: str, language: Language) -> tuple[str, ...]:
    """Return the parts of a sentence between which the subject may change."""
    parts = (part.strip() for part in _CLAUSE_BREAK[language].split(sentence))
    return tuple(part for part in parts if part)


def is_question(sentence: str, language: Language) -> bool:
    """Return True if a sentence asks or requests something, with or without a question mark."""
    return bool(_QUESTION[language].search(sentence))


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Return an English word's stem; only meant for comparing words with each other."""
    return str(_STEMMER.stemWord(_IRREGULAR.get(word, word)))


def similar_topics(topic: str, known: Collection[str]) -> tuple[str, ...]:
    """Return those of the `known` topics that an unknown one probably stands for.

    English: the one that is a single slip away (a letter left out, doubled, replaced, or two exchanged).
    Chinese: for a single character the pairs that contain it; for a pair those that share a character in
    the same place, if they are at most two.
    """
    if topic[0] < "\u4e00":
        if len(topic) < 4:
            return ()
        near = tuple(other for other in known if _slipped(topic, other))
        return near if len(near) == 1 else ()
    if len(topic) == 1:
        return tuple(other for other in known if len(other) == 2 and topic in other)
    near = tuple(
        other for other in known if len(other) == 2 and (other[0] == topic[0] or other[1] == topic[1])
    )
    return near if len(near) <= 2 else ()


def _slipped(one: str, other: str) -> bool:
    """Return True if one slip of the pen turns `one` into `other`."""
    if abs(len(one) - len(other)) > 1 or len(other) < 4 or one[0] != other[0]:
        return False
    shorter, longer = sorted((one, other), key=len)
    start = next((i for i, (a, b) in enumerate(zip(shorter, longer, strict=False)) if a != b), len(shorter))
    if len(shorter) < len(longer):
        return shorter[start:] == longer[start + 1 :]
    if shorter[start + 1 :] == longer[start + 1 :]:
        return len(shorter) >= 5
    return (
        shorter[start + 2 :] == longer[start + 2 :]
        and shorter[start : start + 2] == longer[start : start + 2][::-1]
    )


def _english(text: str) -> list[str]:
    return [stem(word) for word in english_words(text) if word not in _STOP_EN]


def _chinese(text: str) -> list[str]:
    found: list[str] = []
    for run in _RUN.findall(_STOP_ZH.sub(" ", text.replace("jax", " "))):
        if run[0] < "\u4e00":
            found.append(run)
            continue
        for piece in _pieces(run):
            found.extend([piece] if len(piece) == 1 else map("".join, pairwise(piece)))
    return found


def _pieces(run: str) -> list[str]:
    """Return a run of characters, cut at stop characters."""
    return "".join(" " if character in _STOP_CHARACTERS else character for character in run).split()


_SYNONYMS_EN = {
    stem(word): stem(first) for first, *others in map(str.split, _LISTS["en"]["synonyms"]) for word in others
}
