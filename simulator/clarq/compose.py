"""Joining several responses into one reply, and telling whether a line contains a response.

One rule of containment serves the whole room: the provider's invariants, the success score (spec section
5) and the reading of published dialogues all ask `contains`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from trees.model import Language

FINAL_PUNCTUATION = "，。？！,.?!"
SPEAKER = re.compile(r"^\s*Jax\s*[:：]\s*", re.IGNORECASE)
_NO_LETTERS = re.compile(r"[\W_]+")

_CONNECTIVES: dict[Language, tuple[str, ...]] = {
    "en": ("In addition", "Moreover", "Besides that", "Furthermore", "Also"),
    "zh": ("另外", "此外", "还有", "而且", "同时"),
}
# Words that may lose their capital after a connective; a name must keep it.
_FUNCTION_WORDS = re.compile(
    r"(an?|all|among|any|at|because|before|both|each|every|for|from|if|in|its?|my|no|of|on|once|only|our|some"
    r"|that|the|their|then|there|these|they|this|those|to|use|we|when|with|you|your)[,;:]?",
    re.IGNORECASE,
)


def strip_speaker(line: str) -> str:
    """`line` without surrounding blanks and without a leading ``Jax:``."""
    return SPEAKER.sub("", line).strip()


def strip_final(text: str) -> str:
    """`text` without a leading ``Jax:`` and without its trailing ``，。？！,.?!``."""
    return strip_speaker(text).rstrip(FINAL_PUNCTUATION + " \n\t")


def contains(line: str, text: str, language: Language) -> bool:
    """Return True if `line` contains `text` up to its final punctuation, in English whatever the case.

    This is the rule by which a response counts as obtained (spec section 5). An empty text is
    contained in nothing.
    """
    wanted = strip_final(text)
    if language == "en":
        wanted, line = wanted.lower(), line.lower()
    return bool(wanted) and wanted in line


def reveals(line: str, text: str, language: Language) -> bool:
    """Return True if `line` gives `text` away: contains it, or would if only letters and digits counted.

    Stricter than `contains`, for guarding what must not be said: blanks, punctuation, invisible
    characters, accents, width and case hide nothing.
    """
    letters = _letters_of_node(text)
    return contains(line, text, language) or (letters != "" and letters in _letters(line))


@lru_cache(maxsize=64)  # a line is asked about once per hidden node
def _letters(text: str) -> str:
    return _NO_LETTERS.sub("", unicodedata.normalize("NFKD", text).casefold())


@lru_cache(maxsize=4096)
def _letters_of_node(text: str) -> str:
    return _letters(strip_speaker(text))


def join_texts(texts: Sequence[str], language: Language) -> str:
    """Return one reply out of several responses, joined by connectives, each text intact (paper VI-H).

    The first text stands unchanged; each further one follows a connective. Every text passes
    `contains`; in English a leading function word loses its capital.

    Raises:
        ValueError: if there is no text.
    """
    if not texts:
        raise ValueError("there is nothing to join")
    if len(texts) == 1:
        return texts[0].strip()
    connectives = _CONNECTIVES[language]
    parts = [_sentence(texts[0], language)]
    for position, text in enumerate(texts[1:]):
        connective = connectives[position % len(connectives)]
        parts.append(
            f"{connective}，{_sentence(text, language)}"
            if language == "zh"
            else f"{connective}, {_uncapitalised(_sentence(text, language))}"
        )
    return ("" if language == "zh" else " ").join(parts)


def _sentence(text: str, language: Language) -> str:
    """`text` as a sentence: with its own end mark, or with a full stop if it has none."""
    text = text.strip()
    if text.endswith(("。", "？", "！", "；", ".", "?", "!", ";")):
        return text
    return text.rstrip("，, ") + ("。" if language == "zh" else ".")


def _uncapitalised(text: str) -> str:
    first = text.split(maxsplit=1)[0] if text else ""
    return text[:1].lower() + text[1:] if _FUNCTION_WORDS.fullmatch(first) else text
