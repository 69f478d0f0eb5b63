"""Small measures of text that the readers and checks share: language, word lists, blanks."""

from __future__ import annotations

import re
from functools import lru_cache

from trees.model import Language

_CHINESE = re.compile(r"[\u3400-\u9fff]")
_LATIN = re.compile(r"[A-Za-z]")
_WIDE = r"\u3000-\u303f\u3400-\u9fff\uff00-\uffef"
_FOLDED = re.compile(rf"(?<=[{_WIDE}])[ \n]+(?=[{_WIDE}])")


def chinese_share(text: str) -> float:
    """Share of Chinese characters among Chinese characters and Latin letters; 0 if there are neither."""
    chinese, latin = len(_CHINESE.findall(text)), len(_LATIN.findall(text))
    return chinese / (chinese + latin) if chinese + latin else 0.0


def guess_language(text: str) -> Language:
    """Chinese if at least a fifth of the letters are; published files have English keys around the text."""
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


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ENGLISH_COMMON = _words(
    """a about after all also an and any are as at available be been because before best buy buying bought by
    can choose collect correct could currently did do does enter find first for found from get go had has have
    here how if in into is it its just make more most must need needs next no not now of off on one only or
    other another out pick place please purchase reach right sell sells should since so sold sort suitable
    take than that the their them then there these they this those to up use using very visit want was way
    were what when where which while who will with would you your able but head kind"""
)
_CHINESE_COMMON = _words(
    """你需 需要 要去 应该 该去 你应 你可 可以 以在 因为 为只 只有 有这 这个 这里 那里 以去 以到 要到 要用
    要使 使用 该使 该用 你要 的是 就是 这样 才能 能够 必须 选择 购买 前往 然后 首先 最后"""
)
_COMMON_CHARACTERS = frozenset(
    "你我他它要去到在用使的了是需应该可以有只因为就能把和与这那来也都一个不会吧着过"
)


@lru_cache(maxsize=8192)
def content_words(text: str, language: Language) -> frozenset[str]:
    """Return the words that carry what `text` says."""
    lower = text.lower()
    words = {_stem(word) for word in _WORD.findall(lower) if word not in _ENGLISH_COMMON}
    if language == "zh":
        words |= {pair for run in _CHINESE_RUN.findall(lower) for pair in _pairs(run)} - _CHINESE_COMMON
    return frozenset(words)


def says_nothing_new(text: str, told: str, language: Language) -> bool:
    """Whether all that `text` says stands in `told`: every content word, in Chinese every content character.

    Characters, because pairs straddle words and so are new wherever two known words meet for the first time.
    """
    if language == "zh":
        said, known = _characters(text), _characters(told)
    else:
        said, known = content_words(text, language), content_words(told, language)
    return bool(said) and said <= known


def split_note(entry: str) -> tuple[str, str]:
    """An entry of the background's lists as its name and the note in parentheses behind it (may be empty)."""
    match = _NOTE.search(entry)
    return (entry[: match.start()].strip(), entry[match.start() :]) if match else (entry.strip(), "")


def squeezed(text: str) -> str:
    """Letters and digits only, lower case: what is left if blanks and punctuation do not count."""
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
