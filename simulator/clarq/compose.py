"""Joining several responses into one reply, and detecting responses in a line.

The benchmark has a single containment rule, `contains`: the provider's invariants, the success score (spec
section 5) and the import of published dialogues all use it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

from simulator.clarq.lexical import EN_PATTERNS, load_table
from trees import Language

FINAL_PUNCTUATION = "，。？！,.?!"
SPEAKER = re.compile(r"^\s*Jax\s*[:：]\s*", re.IGNORECASE)
_NO_LETTERS = re.compile(r"[\W_]+")

_CONNECTIVES: dict[Language, tuple[str, ...]] = {
    "en": ("In addition", "Moreover", "Besides that", "Furthermore", "Also"),
    "zh": ("另外", "此外", "还有", "而且", "同时"),
}


def strip_speaker(line: str) -> str:
    """Return `line` without surrounding blanks and without a leading ``Jax:``."""
    return SPEAKER.sub("", line).strip()


@lru_cache(maxsize=4096)
def strip_final(text: str) -> str:
    """Return `text` without a leading ``Jax:`` and without its trailing ``，。？！,.?!``."""
    return strip_speaker(text).rstrip(FINAL_PUNCTUATION + " \n\t")


def contains(line: str, text: str, language: Language) -> bool:
    """Return True if `line` contains `text` without its final punctuation; in English, ignoring case.

    By this rule a response counts as obtained (spec section 5), whatever blanks are between its words. No
    line contains an empty text.
    """
    core = strip_final(_fold(text, language))
    return bool(core) and core in _fold(line, language)


@lru_cache(maxsize=4096)
def _fold(text: str, language: Language) -> str:
    return " ".join(text.lower().split()) if language == "en" else "".join(text.split())


def reveals(line: str, text: str, language: Language) -> bool:
    """Return True if `line` gives `text` away: contains it when only letters and digits are compared.

    Catches more than `contains`, to guard what must not be said: blanks, punctuation, invisible
    characters, accents, width and case are ignored.
    """
    letters = _letters_of_node(text)
    return contains(line, text, language) or (letters != "" and letters in _letters(line))


@lru_cache(maxsize=64)  # a line is compared with every hidden node
def _letters(text: str) -> str:
    return _NO_LETTERS.sub("", unicodedata.normalize("NFKD", text).casefold())


@lru_cache(maxsize=4096)
def _letters_of_node(text: str) -> str:
    return _letters(strip_speaker(text))


def join_texts(texts: Sequence[str], language: Language) -> str:
    """Return several responses joined by connectives into one reply, each text intact (paper VI-H).

    The first text is unchanged; each further one follows a connective. The reply `contains` every text;
    in English a leading function word loses its capital.

    Raises:
        ValueError: if `texts` is empty.
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
            else f"{connective}, {_uncapitalise(_sentence(text, language))}"
        )
    return ("" if language == "zh" else " ").join(parts)


def _sentence(text: str, language: Language) -> str:
    """Return `text` as a sentence, with a full stop if it has no end mark."""
    text = text.strip()
    if text.endswith(("。", "？", "！", "；", ".", "?", "!", ";")):
        return text
    return text.rstrip("，, ") + ("。" if language == "zh" else ".")


def _uncapitalise(text: str) -> str:
    first = text.split(maxsplit=1)[0] if text else ""
    return text[:1].lower() + text[1:] if EN_PATTERNS["function_words"].fullmatch(first) else text


MIN_SHARE: Final = 0.75
"""The share of a node's words, in order, from which a line nearly reveals the node."""
MIN_NEW: Final[dict[Language, int]] = {"en": 3, "zh": 4}
"""The least number of new words (characters) in a node; fewer may occur in a line by chance."""
_STEM: Final = 5
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")

_CLAIMS: Final = {
    language: [re.compile(claim, re.IGNORECASE) for claim in claims]
    for language, claims in load_table("all_known").items()
}


def says_all_is_known(text: str, language: Language) -> bool:
    """Return True if `text` claims that the seeker knows everything, or that nothing else matters."""
    return any(claim.search(text) for claim in _CLAIMS[language])


def nearly_reveals(line: str, text: str, earlier: Iterable[str], language: Language) -> bool:
    """Return True if `line` has most words of `text`, in order, and most of those not in `earlier`."""
    secret, words = _words(text, language), _words(line, language)
    # A cheap test first, without the order: most lines share hardly a word with a node.
    if sum(word in words for word in secret) < MIN_SHARE * len(secret):
        return False
    known = {word for said in earlier for word in _words(said, language)}
    new = [word for word in secret if word not in known]
    if len(set(new)) < MIN_NEW[language] or sum(word in words for word in new) < MIN_SHARE * len(new):
        return False
    blocks = SequenceMatcher(None, secret, words, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks) >= MIN_SHARE * len(secret)


@lru_cache(maxsize=4096)
def _words(text: str, language: Language) -> tuple[str, ...]:
    words = _WORD.findall(text.casefold())
    if language == "zh":
        return tuple("".join(words))
    return tuple(word[:_STEM] for word in words)
