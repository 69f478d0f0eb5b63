"""What models wrote, read: four options, one action, a word of certainty (spec 6, 8.1, 8.4)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Final

from simulator.ambik.naming import bare
from simulator.ambik.records import Letter
from simulator.ambik.terms import DO_NOTHING, NOT_LISTED, Certainty

LETTERS: Final[tuple[Letter, ...]] = ("A", "B", "C", "D")
FIVE: Final[tuple[Letter, ...]] = (*LETTERS, "E")
# Models put bullets, marks of emphasis and opening brackets in front of labels.
_OPTION: Final = re.compile(
    r"^[\s>*_\-\u2022(\[]*(?P<label>[A-D1-4])[*_]*(?:[)\uff09\uff0e]|\.(?!\d))[\s*_]*(?P<text>.*)$", re.I
)
_LABEL: Final = re.compile(
    r"^[\s>*_\-\u2022]*(?:(?:next |the )*(?:action|step|answer|option|动作|选项)\s*[:：][\s*_]*|"
    r"[(\[]*[A-E1-5][*_]*(?:[)\uff09\uff0e]|\.(?!\d))[\s*_]*)?",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Options:
    """Options by letter.

    Attributes:
        texts: in the letters' order.
        filled: letters for which ``do nothing`` stands because the model wrote none.
    """

    texts: Mapping[Letter, str]
    filled: tuple[Letter, ...] = ()


def read_options(text: str) -> Options:
    """Return the four options in what a model wrote.

    An option is a line that begins with a letter A to D (or a digit 1 to 4) and ``)`` or ``.``; of several
    with the same letter the first counts. Options that say the same stay as they are.
    """
    written: dict[Letter, str] = {}
    for match in filter(None, map(_OPTION.match, text.splitlines())):
        label, option = match["label"].upper(), _bare(match["text"])
        if option:
            written.setdefault(LETTERS[int(label) - 1] if label.isdigit() else label, option)
    filled = tuple(letter for letter in LETTERS if letter not in written)
    return Options({letter: written.get(letter, DO_NOTHING) for letter in LETTERS}, filled)


def with_not_listed(options: Options, seed: int) -> Options:
    """Return five options in the manner of KnowNo's authors, in the order of a seed (spec 8.1).

    What is said twice is left once, ``do nothing`` fills up to four, a fifth says that none of them is meant,
    and all are shuffled.
    """
    written = [options.texts[letter] for letter in LETTERS if letter not in options.filled]
    distinct = list({bare(text): text for text in reversed(written)}.values())[::-1]
    fillers = len(LETTERS) - len(distinct)
    texts = [*((text, False) for text in distinct), *([(DO_NOTHING, True)] * fillers), (NOT_LISTED, False)]
    Random(seed).shuffle(texts)
    lettered = list(zip(FIVE, texts, strict=True))
    return Options(
        {letter: text for letter, (text, _) in lettered},
        tuple(letter for letter, (_, filler) in lettered if filler),
    )


def read_action(text: str) -> str:
    """Return the one action in what a model wrote: its first line that says something, without label."""
    actions = (_bare(_LABEL.sub("", line, count=1)) for line in text.splitlines())
    return next(filter(None, actions), "")


def read_certainty(text: str) -> Certainty:
    """Return certain or uncertain, whatever the case and white space around; anything else is invalid."""
    words: dict[str, Certainty] = {"certain": "certain", "uncertain": "uncertain"}
    return words.get(text.strip().lower(), "invalid")


def _bare(text: str) -> str:
    """Return a text in single blanks, without marks of emphasis around it."""
    return " ".join(text.split()).strip("*_ ")
