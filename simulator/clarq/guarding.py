"""What a Response II must not say: a node in nearly its own words; that all is known.

`compose.reveals` finds a text word for word, whatever its spelling. A model that writes freely leaks
otherwise: it leaves a word out, puts one in, or changes an ending. And it likes to comfort: "that is all you
need to know" tells the seeker to stop asking, which is the very thing that is measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import Path
from typing import Final

import yaml

from trees import Language

SHARE: Final = 0.75
"""Of a node's words, those that a line must hold in their order to give it nearly away."""
FEWEST: Final[dict[Language, int]] = {"en": 3, "zh": 4}
"""Words (characters) of a node that nothing said so far holds; with fewer, a line may hold them by chance."""
_STEM: Final = 5
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")

_ALL_KNOWN: Final = Path(__file__).parent / "tables" / "all_known.yaml"


def says_all_is_known(text: str, language: Language) -> bool:
    """Return True if `text` says that everything needed is known, or that nothing else matters."""
    return any(pattern.search(text) for pattern in _claims(language))


def nearly_reveals(line: str, text: str, said: Iterable[str], language: Language) -> bool:
    """Return True if `line` gives `text` nearly away.

    Args:
        line: what the provider would say.
        text: of a node that has not been given.
        said: what has been given: to repeat that gives nothing away.
        language: of all of them.
    """
    wanted, found = _words(text, language), _words(line, language)
    known = {word for one in said for word in _words(one, language)}
    new = [word for word in wanted if word not in known]
    if len(set(new)) < FEWEST[language] or sum(word in found for word in new) < SHARE * len(new):
        return False
    blocks = SequenceMatcher(None, wanted, found, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks) >= SHARE * len(wanted)


@lru_cache(maxsize=2)
def _claims(language: Language) -> tuple[re.Pattern[str], ...]:
    patterns = yaml.safe_load(_ALL_KNOWN.read_text(encoding="utf-8"))[language]
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)


@lru_cache(maxsize=4096)
def _words(text: str, language: Language) -> tuple[str, ...]:
    found = _WORD.findall(text.casefold())
    if language == "zh":
        return tuple("".join(found))
    return tuple(word[:_STEM] for word in found)
