"""What was meant by a word with a slip in it, by the words that a task itself uses.

A slip in English is a letter left out, doubled, replaced or exchanged with the next. In Chinese one character
stands for another that sounds the same, as input methods offer them, or looks like it. Only what is no word
of the task's or of our own lists is taken for a slip, and only if what was meant is beyond doubt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import Final

from simulator.clarq.lexical import LOOKALIKES, is_function_character, stem, words_of
from trees import Language

_WORD: Final = re.compile(r"(?<![\w'’])[A-Za-z]{3,}(?![\w'’])")
_RUN: Final = re.compile(r"[\u4e00-\u9fff]+")
# Sounds that speakers of many dialects do not tell apart.
_ALIKE: Final = (
    (re.compile(r"^([zcs])h"), r"\1"),
    (re.compile(r"^n(?=[aeiouv])"), "l"),
    (re.compile(r"ng$"), "n"),
)


class Speller:
    """The words of a task, and what is meant by those that are none.

    Args:
        texts: all that the task says.
        language: of the task.
    """

    def __init__(self, texts: Iterable[str], language: Language) -> None:
        self._language = language
        named, self._common = words_of("synonyms", language), words_of("common", language)
        if language == "en":
            self._meant = frozenset(word for text in texts for word in _WORD.findall(text.lower())) | named
            self._known = frozenset(map(stem, self._meant | self._common | words_of("stop_words", language)))
        else:
            self._meant = _pairs((*texts, *named))
            self._known = self._meant | _pairs(self._common)

    def meant(self, text: str) -> str:
        """Return `text` with its slips corrected."""
        if self._language == "en":
            return _WORD.sub(lambda match: self._english(match.group()), text)
        return _RUN.sub(lambda match: self._chinese(match.group()), text)

    def _english(self, word: str) -> str:
        lower = word.lower()
        if stem(lower) in self._known:
            return word
        for words in (self._meant, self._common):
            near = {stem(other): other for other in words if is_slip(lower, other)}
            if near:
                return next(iter(near.values())) if len(near) == 1 else word
        return word

    def _chinese(self, run: str) -> str:
        meant = list(run)
        # First what is surer, lest a good character be taken for the slip beside it.
        for alike in (_looks_or_sounds_alike, _sounds_nearly_alike):
            for place, typed in enumerate(meant):
                before, after = "".join(meant[:place][-1:]), "".join(meant[place + 1 : place + 2])
                if is_function_character(typed) or {before + typed, typed + after} & self._known:
                    continue
                near = {
                    pair[side]
                    for pair in self._meant
                    for side, fixed in ((1, before), (0, after))
                    if pair[1 - side] == fixed
                    and not any(map(is_function_character, pair))
                    and alike(typed, pair[side])
                }
                if len(near) == 1:
                    meant[place] = near.pop()
        return "".join(meant)


def _pairs(texts: Iterable[str]) -> frozenset[str]:
    """Return all neighbouring Chinese characters."""
    return frozenset("".join(pair) for text in texts for run in _RUN.findall(text) for pair in pairwise(run))


def is_slip(word: str, meant: str) -> bool:
    """Return True if one slip of the pen turns `meant` into `word`."""
    if abs(len(word) - len(meant)) > 1 or len(meant) < 4 or word[0] != meant[0]:
        return False
    shorter, longer = sorted((word, meant), key=len)
    start = next((i for i, (a, b) in enumerate(zip(shorter, longer, strict=False)) if a != b), len(shorter))
    if len(shorter) < len(longer):
        # Of three letters only a double one is left out: a cat is no coat.
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


def _sounds_nearly_alike(typed: str, meant: str) -> bool:
    return _broad(typed) == _broad(meant)


@lru_cache(maxsize=8192)
def _sound(character: str) -> str:
    """Return the commonest reading of a character, without its tone."""
    # Its tables take a while to load, and only Chinese tasks need them.
    from pypinyin import lazy_pinyin

    return str(lazy_pinyin(character)[0])


@lru_cache(maxsize=8192)
def _broad(character: str) -> str:
    """Return the same as those say it who tell fewer sounds apart."""
    sound = _sound(character)
    for narrow, broad in _ALIKE:
        sound = narrow.sub(broad, sound)
    return sound
