"""The word lists and patterns of English and Chinese, as they stand in ``tables/*.yaml``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal, get_args

import yaml

from trees import Language

Vagueness = Literal["thing", "some", "place", "person", "time", "value", "way"]
LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)


@cache
def table(name: str) -> Any:
    """Return what ``tables/<name>.yaml`` holds."""
    return yaml.safe_load(files(__package__).joinpath("tables", f"{name}.yaml").read_text(encoding="utf-8"))


@cache
def pattern(language: Language, name: str) -> re.Pattern[str]:
    """Return one of the patterns; its alternatives may stand in a list."""
    alternatives = table("patterns")[language][name]
    return re.compile(alternatives if isinstance(alternatives, str) else "|".join(alternatives))


def patterns(name: str) -> dict[Language, re.Pattern[str]]:
    """Return a pattern in each language."""
    return {language: pattern(language, name) for language in LANGUAGES}


def words(language: Language) -> Mapping[str, Any]:
    """Return the word lists by which the offline seeker reads."""
    lists: Mapping[str, Any] = table("words")[language]
    return lists


def word_sets(language: Language) -> dict[str, frozenset[str]]:
    """Return those that are plain lists of words, by name."""
    return {name: frozenset(text.split()) for name, text in words(language).items() if isinstance(text, str)}


def vague_words(language: Language) -> dict[str, Vagueness]:
    """Return vague nouns and the sort of question they call for."""
    lists: Mapping[Vagueness, str] = words(language)["vague"]
    return {word: sort for sort, text in lists.items() for word in text.split()}


EN: Final = word_sets("en")
ZH: Final = word_sets("zh")
EN_PATTERNS: Final = {name: pattern("en", name) for name in table("patterns")["en"]}
ZH_PATTERNS: Final = {name: pattern("zh", name) for name in table("patterns")["zh"]}
