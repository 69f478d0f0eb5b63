"""Small measures of text that the readers and checks share: language, word lists, blanks."""

from __future__ import annotations

import re

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
