"""Small measures of text that the readers and checks share: language, word lists, blanks."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import resources

import yaml

from trees.model import Language

_CHINESE = re.compile(r"[\u3400-\u9fff]")
_LATIN = re.compile(r"[A-Za-z]")
_WIDE = r"\u3000-\u303f\u3400-\u9fff\uff00-\uffef"
_FOLDED = re.compile(rf"(?<=[{_WIDE}])[ \n]+(?=[{_WIDE}])")


def chinese_share(text: str) -> float:
    """Return the share of Chinese among Chinese characters and Latin letters; 0 without either."""
    chinese, latin = len(_CHINESE.findall(text)), len(_LATIN.findall(text))
    return chinese / (chinese + latin) if chinese + latin else 0.0


def guess_language(text: str) -> Language:
    """Return Chinese if at least a fifth of the letters are; published files have English keys around."""
    return "zh" if chinese_share(text) >= 0.2 else "en"


def tidy(text: str, language: Language) -> str:
    """Undo the line folding of a text file: one blank between words, none between Chinese characters."""
    text = " ".join(text.split())
    return _FOLDED.sub("", text) if language == "zh" else text


_WORD = re.compile(r"[a-z0-9]+")
_CHINESE_RUN = re.compile(r"[\u3400-\u9fff]+")
_NOTE = re.compile(r"[（(]")
_ENDINGS = ("ing", "ed", "es", "s")
_SHORTEST_STEM = 3


_COMMON = yaml.safe_load(resources.files("trees").joinpath("common_words.yaml").read_text(encoding="utf-8"))
_ENGLISH_COMMON, _CHINESE_COMMON = frozenset(_COMMON["en"].split()), frozenset(_COMMON["zh"].split())
_COMMON_CHARACTERS = frozenset(_COMMON["characters"])


@lru_cache(maxsize=8192)
def content_words(text: str, language: Language) -> frozenset[str]:
    """Return the words that carry what `text` says."""
    lower = text.lower()
    words = {_stem(word) for word in _WORD.findall(lower) if word not in _ENGLISH_COMMON}
    if language == "zh":
        words |= {pair for run in _CHINESE_RUN.findall(lower) for pair in _pairs(run)} - _CHINESE_COMMON
    return frozenset(words)


def says_nothing_new(text: str, told: str, language: Language) -> bool:
    """Return True if `told` holds every content word of `text`, in Chinese every content character.

    Characters, because pairs straddle words and so are new wherever two known words meet for the first time.
    """
    if language == "zh":
        own, known = _characters(text), _characters(told)
    else:
        own, known = content_words(text, language), content_words(told, language)
    return bool(own) and own <= known


def split_note(entry: str) -> tuple[str, str]:
    """Return the name of a list's entry, and the note in parentheses behind it (may be empty)."""
    match = _NOTE.search(entry)
    return (entry[: match.start()].strip(), entry[match.start() :]) if match else (entry.strip(), "")


def squeezed(text: str) -> str:
    """Return letters and digits alone, lower case: what is left if blanks and punctuation do not count."""
    return re.sub(r"[\W_]+", "", text.lower())


def _characters(text: str) -> frozenset[str]:
    return frozenset(squeezed(text)) - _COMMON_CHARACTERS


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word.removesuffix(ending)
    return word


def _pairs(run: str) -> list[str]:
    return [run[start : start + 2] for start in range(len(run) - 1)] or [run]
