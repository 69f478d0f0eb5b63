"""Rule-based analysis of English and Chinese text: terms, topics, sentences, questions, typing errors.

A **term** is a stemmed content word in English and a pair of neighbouring characters in Chinese, where
stop words and stop characters are boundaries. A **topic** is a term after synonyms have been merged. The
only dictionary is `tables/lexical.yaml`.

A **slip** in English is a letter omitted, doubled, replaced or swapped with the next. In Chinese it is a
character typed for another that sounds the same, as input methods offer them, or looks similar. `Speller`
corrects only words that occur neither in the task nor in our lists, and only if the correction is
unambiguous.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, Final, Literal, NamedTuple, get_args

import snowballstemmer
import yaml

from trees import Language

Vagueness = Literal["thing", "some", "place", "person", "time", "value", "way"]
LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)


@cache
def load_table(name: str) -> Any:
    """Return the content of ``tables/<name>.yaml``."""
    return yaml.safe_load(files(__package__).joinpath("tables", f"{name}.yaml").read_text(encoding="utf-8"))


WORDS: Final[Mapping[Language, Any]] = load_table("words")
"""The word lists of the offline seeker."""
EN, ZH = (
    {name: frozenset(text.split()) for name, text in WORDS[language].items() if isinstance(text, str)}
    for language in LANGUAGES
)
"""The plain word lists, by name."""
VAGUE: Final[Mapping[Language, Mapping[str, Vagueness]]] = {
    language: {word: sort for sort, text in WORDS[language]["vague"].items() for word in text.split()}
    for language in LANGUAGES
}
"""Vague nouns and the sort of question they require."""
PATTERNS: Final[Mapping[Language, Mapping[str, re.Pattern[str]]]] = {
    # Alternatives may be given as a list.
    language: {name: re.compile(row if isinstance(row, str) else "|".join(row)) for name, row in rows.items()}
    for language, rows in load_table("patterns").items()
}
EN_PATTERNS, ZH_PATTERNS = PATTERNS["en"], PATTERNS["zh"]

_LISTS: dict[str, Any] = load_table("lexical")
STOP_WORDS = frozenset(_LISTS["en"]["stop_words"].split())
"""English words, in lower case, that are irrelevant to the subject of a question."""
_STOP_CHARACTERS = frozenset(_LISTS["zh"]["stop_characters"])
_FUNCTION_CHARACTERS = _STOP_CHARACTERS.union(_LISTS["zh"]["measures"], _LISTS["zh"]["function_characters"])
"""Chinese function words, measure words and numbers."""
_STOP_ZH = re.compile(
    "|".join(sorted(map(re.escape, _LISTS["zh"]["stop_words"].split()), key=len, reverse=True))
)

# The first word of a group also maps to itself, lest a shorter synonym match inside it.
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
# 那 is often typed for 哪; if nothing else marks the sentence as a question, read it as 哪.
_THAT_ZH = re.compile(rf"那(?=一?[{_LISTS['zh']['measures']}里儿些几])|(?<=[在去到往从])那(?![天时年边头])")

# Each character with those that look similar.
LOOKALIKES = {
    character: frozenset(other for group in groups if character in group for other in group)
    for groups in [_LISTS["zh"]["lookalikes"].split()]
    for character in "".join(groups)
}

_STEMMER = snowballstemmer.stemmer("english")
_IRREGULAR = {word: first for first, *others in map(str.split, _LISTS["en"]["irregular"]) for word in others}

_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+")
_RUN = re.compile(rf"(?:(?![{''.join(_STOP_CHARACTERS)}])[\u4e00-\u9fff])+|[a-z0-9]+")
_NUMBERING = re.compile(r"(?m)^ ?(?:\d+[.、)）]|[-*•])\s*")
_BLANKS = re.compile(r"[^\S\n]+")
_ABBREVIATION = re.compile(r"\b(St|Mr|Mrs|Ms|Dr|Mt)\.")
_SENTENCE = {
    "en": re.compile(r"[^\n]+?(?:[.?!]+(?=[\s\"”)]|$)|(?=\n)|$)"),
    "zh": re.compile(r"[^。？！?!\n；;]+[。？！?!；;]*"),
}


class Placed(NamedTuple):
    """A Chinese topic and its position in the text."""

    topic: str
    place: int


@lru_cache(maxsize=4096)
def terms(text: str, language: Language) -> tuple[str, ...]:
    """Return the terms of `text` in order, including repetitions."""
    if language == "en":
        return tuple(stem(word) for word in english_words(text) if word not in STOP_WORDS)
    return tuple(topic for topic, _ in chinese_places(text))


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
    """Return Chinese text with every synonym replaced by the first word of its group.

    A measure word between a question word and its noun is removed: it would form a pair with the noun.
    """
    text = _MEASURE_ZH.sub(r"\1 ", text)
    return _SYNONYM_ZH.sub(lambda match: _SYNONYMS_ZH[match.group()], text)


@cache
def words_of(name: str, language: Language) -> frozenset[str]:
    """Return all words of the list `name` in `tables/lexical.yaml`."""
    entries = _LISTS[language][name]
    groups = entries.split("\n") if isinstance(entries, str) else entries
    return frozenset(word for group in groups for word in group.split())


def english_words(text: str) -> list[str]:
    """Return the words of English text in lower case, cut at apostrophes."""
    return [word.split("'")[0] for word in _WORD.findall(text.lower().replace("’", "'"))]


def chinese_places(text: str) -> list[Placed]:
    """Return the terms of Chinese text with their positions; an isolated character is a term, too."""
    blanked = _STOP_ZH.sub(lambda match: " " * len(match.group()), text.lower().replace("jax", "   "))
    terms: list[Placed] = []
    for run in _RUN.finditer(blanked):
        piece, start = run.group(), run.start()
        if piece[0] < "\u4e00" or len(piece) == 1:
            terms.append(Placed(piece, start))
        else:
            terms += (Placed("".join(pair), start + place) for place, pair in enumerate(pairwise(piece)))
    return terms


def correct(text: str, language: Language) -> str:
    """Return `text` with misspelt question words corrected."""
    text = _MISSPELT[language].sub(lambda match: _MISSPELLINGS[match.group().lower()], text)
    if language == "en":
        return EN_PATTERNS["were"].sub("where", text)
    text = ZH_PATTERNS["particle"].sub("吗", text)
    return text if ZH_PATTERNS["asks"].search(text) else _THAT_ZH.sub("哪", text)


def sentences(text: str, language: Language) -> tuple[str, ...]:
    """Return the sentences with their end marks; list items count as sentences, without their numbers."""
    text = _NUMBERING.sub("", _BLANKS.sub(" ", text))
    if language == "en":
        text = _ABBREVIATION.sub(r"\1", text)
    stripped = (match.strip() for match in _SENTENCE[language].findall(text))
    return tuple(sentence for sentence in stripped if sentence)


def clauses(sentence: str, language: Language) -> tuple[str, ...]:
    """Return the clauses of a sentence, which may have different subjects."""
    parts = (part.strip() for part in PATTERNS[language]["clause_break"].split(sentence))
    return tuple(part for part in parts if part)


def is_question(sentence: str, language: Language) -> bool:
    """Return True if a sentence asks or requests something, with or without a question mark."""
    return bool(PATTERNS[language]["question"].search(sentence))


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Return the stem of an English word, for comparison only."""
    return str(_STEMMER.stemWord(_IRREGULAR.get(word, word)))


def similar_topics(topic: str, known: Collection[str]) -> tuple[str, ...]:
    """Return the `known` topics that an unknown topic probably means.

    English: the only topic one slip away (a letter omitted, doubled, replaced or swapped), if unique.
    Chinese: for a single character, the pairs that contain it; for a pair, the pairs that share a character
    in the same position, if there are at most two.
    """
    if topic[0] < "\u4e00":
        if len(topic) < 4:
            return ()
        near = tuple(other for other in known if len(other) >= 4 and is_slip(topic, other))
        return near if len(near) == 1 else ()
    if len(topic) == 1:
        return tuple(other for other in known if len(other) == 2 and topic in other)
    near = tuple(
        other for other in known if len(other) == 2 and (other[0] == topic[0] or other[1] == topic[1])
    )
    return near if len(near) <= 2 else ()


_SYNONYMS_EN = {
    stem(word): stem(first) for first, *others in map(str.split, _LISTS["en"]["synonyms"]) for word in others
}


_LETTERS: Final = re.compile(r"(?<![\w'’])[A-Za-z]{3,}(?![\w'’])")
_CHARACTERS: Final = re.compile(r"[\u4e00-\u9fff]+")
# Sounds that are the same in many dialects.
_ALIKE: Final = (
    (re.compile(r"^([zcs])h"), r"\1"),
    (re.compile(r"^n(?=[aeiouv])"), "l"),
    (re.compile(r"ng$"), "n"),
)


class Speller:
    """A spelling corrector whose dictionary is a task's own texts and our word lists."""

    def __init__(self, texts: Iterable[str], language: Language) -> None:
        self._language = language
        synonyms, self._common = words_of("synonyms", language), words_of("common", language)
        if language == "en":
            words = frozenset(word for text in texts for word in _LETTERS.findall(text.lower())) | synonyms
            self._known = frozenset(map(stem, words | self._common | words_of("stop_words", language)))
            # The first letter is assumed to be right.
            self._by_initial = tuple(map(_by_initial, (words, self._common)))
        else:
            pairs = _pairs((*texts, *synonyms))
            self._known = pairs | _pairs(self._common)
            # The characters that occur before and after each character.
            self._neighbours: dict[tuple[int, str], set[str]] = defaultdict(set)
            for pair in pairs:
                if _FUNCTION_CHARACTERS.isdisjoint(pair):
                    self._neighbours[1, pair[0]].add(pair[1])
                    self._neighbours[0, pair[1]].add(pair[0])

    def correct(self, text: str) -> str:
        """Return `text` with its slips corrected."""
        if self._language == "en":
            return _LETTERS.sub(lambda match: self._correct_word(match.group()), text)
        return _CHARACTERS.sub(lambda match: self._correct_run(match.group()), text)

    def _correct_word(self, word: str) -> str:
        lower = word.lower()
        if stem(lower) in self._known:
            return word
        for words in self._by_initial:
            near = {stem(other): other for other in words.get(lower[0], ()) if is_slip(lower, other)}
            if near:
                return next(iter(near.values())) if len(near) == 1 else word
        return word

    def _correct_run(self, run: str) -> str:
        characters = list(run)
        # The more certain test first, lest a correct character be changed to fit a slip next to it.
        for similar in (
            _looks_or_sounds_alike,
            lambda typed, meant: _merge_sounds(typed) == _merge_sounds(meant),
        ):
            for at, typed in enumerate(characters):
                before, after = "".join(characters[:at][-1:]), "".join(characters[at + 1 : at + 2])
                if typed in _FUNCTION_CHARACTERS or {before + typed, typed + after} & self._known:
                    continue
                places = ((1, before), (0, after))
                candidates = set[str]().union(*(self._neighbours.get(place, ()) for place in places))
                near = {candidate for candidate in candidates if similar(typed, candidate)}
                if len(near) == 1:
                    characters[at] = near.pop()
        return "".join(characters)


@lru_cache(maxsize=64)
def _by_initial(words: frozenset[str]) -> Mapping[str, Sequence[str]]:
    """Return words by their first letter."""
    by_initial: dict[str, list[str]] = defaultdict(list)
    # Sorted, so that every process chooses the same of two equally near forms.
    for word in sorted(words):
        by_initial[word[0]].append(word)
    return by_initial


def _pairs(texts: Iterable[str]) -> frozenset[str]:
    """Return all pairs of neighbouring Chinese characters."""
    return frozenset(
        "".join(pair) for text in texts for run in _CHARACTERS.findall(text) for pair in pairwise(run)
    )


def is_slip(word: str, meant: str) -> bool:
    """Return True if `word` is `meant` with a single slip."""
    if abs(len(word) - len(meant)) > 1 or len(meant) < 4 or word[0] != meant[0]:
        return False
    shorter, longer = sorted((word, meant), key=len)
    start = next((i for i, (a, b) in enumerate(zip(shorter, longer, strict=False)) if a != b), len(shorter))
    if len(shorter) < len(longer):
        # In a word of three letters only a doubled letter may be missing: "cat" is not "coat".
        doubled = start > 0 and longer[start] == longer[start - 1]
        return shorter[start:] == longer[start + 1 :] and (doubled or len(shorter) > 3)
    if shorter[start + 1 :] == longer[start + 1 :]:
        return len(shorter) >= 5
    return (
        shorter[start + 2 :] == longer[start + 2 :]
        and shorter[start : start + 2] == longer[start : start + 2][::-1]
    )


def _looks_or_sounds_alike(typed: str, meant: str) -> bool:
    return _sound(typed) == _sound(meant) or meant in LOOKALIKES.get(typed, ())


@lru_cache(maxsize=8192)
def _sound(character: str) -> str:
    """Return the most common reading of a character, without its tone."""
    # Imported here: its tables take a while to load, and only Chinese tasks need them.
    from pypinyin import lazy_pinyin

    return str(lazy_pinyin(character)[0])


@lru_cache(maxsize=8192)
def _merge_sounds(character: str) -> str:
    """Return the reading of a character with similar sounds merged, as in many dialects."""
    sound = _sound(character)
    for narrow, broad in _ALIKE:
        sound = narrow.sub(broad, sound)
    return sound
