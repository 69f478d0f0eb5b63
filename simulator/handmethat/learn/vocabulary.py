"""Words and their numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Final

PAD: Final = 0
UNKNOWN: Final = 1
BEGIN: Final = 2
END: Final = 3
_SPECIAL: Final = ("<pad>", "<unknown>", "<begin>", "<end>", "[SEP]")
_WORDS: Final = re.compile(r"\[SEP\]|\w+|[^\w\s]")


@dataclass(frozen=True)
class Vocabulary:
    """Known words; a word's number is its place."""

    words: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def numbers(self) -> MappingProxyType[str, int]:
        """Word -> number."""
        return MappingProxyType({word: number for number, word in enumerate(self.words)})

    def encode(self, text: str) -> list[int]:
        """The numbers of the words of `text`."""
        return [self.numbers.get(word, UNKNOWN) for word in split(text)]

    def decode(self, numbers: Iterable[int]) -> str:
        """The words of `numbers` up to the end mark, joined by blanks."""
        words = []
        for number in numbers:
            if number == END:
                break
            words.append(self.words[number])
        return " ".join(words)


def split(text: str) -> list[str]:
    """The words of `text` in lower case; marks of punctuation are words of their own."""
    return [word if word == "[SEP]" else word.lower() for word in _WORDS.findall(text)]


def build_vocabulary(texts: Iterable[str], least: int = 1) -> Vocabulary:
    """Every word that occurs at least `least` times, the most frequent first."""
    counts = Counter(word for text in texts for word in split(text))
    kept = sorted((word for word, n in counts.items() if n >= least), key=lambda word: (-counts[word], word))
    return Vocabulary((*_SPECIAL, *(word for word in kept if word not in _SPECIAL)))
