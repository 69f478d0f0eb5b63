"""Words for identifiers, in both languages."""

from __future__ import annotations

from collections import Counter

import pytest
import yaml

from simulator.errors import InputError
from simulator.handmethat.hierarchy import (
    CLASSES,
    LANGUAGES,
    STATES,
    TABLES,
    all_words,
    hierarchy,
    state_word,
    word,
)


def identifiers() -> dict[str, list[str]]:
    table = hierarchy()
    return {
        "others": ["h"],
        "classes": list(CLASSES),
        "states": list(STATES),
        "colors": list(table.colors),
        "sizes": list(table.sizes),
        "subclasses": ["ontop", "inside", *table.subclasses],
        "types": list(table.kinds),
    }


@pytest.mark.each("language", LANGUAGES)
def test_a_table_has_exactly_the_identifiers(language: str) -> None:
    table = yaml.safe_load((TABLES / f"words.{language}.yaml").read_text(encoding="utf-8"))
    assert {group: sorted(words) for group, words in table.items()} == {
        group: sorted(names) for group, names in identifiers().items()
    }
    assert len(table["types"]) == 155
    assert len(table["subclasses"]) == 40
    # Where a type is all of its subclass, both have one word.
    both = set(table["types"]) & set(table["subclasses"])
    assert all(table["types"][name] == table["subclasses"][name] for name in both)


@pytest.mark.each("language", LANGUAGES)
def test_two_identifiers_never_have_one_word(language: str) -> None:
    counts = Counter(all_words(language).values())
    assert [text for text, count in counts.items() if count > 1] == []
    assert all(text == text.strip() and text for text in counts)


@pytest.mark.each("language", LANGUAGES)
def test_words_are_in_their_language(language: str) -> None:
    for text in all_words(language).values():
        assert text.isascii() == (language == "en"), text
        assert "_" not in text


def test_words_by_key() -> None:
    assert word("gym_shoe", "en") == "gym shoe"
    assert word("gym_shoe", "zh") == "运动鞋"
    assert word("FOOD", "zh") == "食物"
    assert state_word("open", False, "en") == word("not open", "en") == "closed"
    assert state_word("open", True, "zh") == word("open", "zh") == "敞开"


def test_missing_words_are_reported() -> None:
    with pytest.raises(InputError, match=r"no word for 'teapot' in tables/words\.en\.yaml"):
        word("teapot", "en")
    with pytest.raises(InputError, match="language 'fr'; use en or zh"):
        word("apple", "fr")
