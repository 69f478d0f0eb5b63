from __future__ import annotations

from collections import Counter
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.ambibench.features import (
    PAIR_NAMES,
    VALUES,
    make_sentence,
    read_sentence,
    readings,
    slot_words,
)
from simulator.errors import InputError

PAIRS = st.sampled_from(PAIR_NAMES)


@settings(max_examples=40)
@given(PAIRS, st.booleans(), st.booleans(), st.integers(0, 2**31 - 1))
def test_what_is_made_is_read_back(pair: str, a: bool, b: bool, seed: int) -> None:
    text = make_sentence(pair, a, b, Random(seed))
    read = read_sentence(text, pair)
    assert (read.pair, read.a, read.b) == (pair, a, b)
    assert text.endswith(".") and text[0].isupper() and "  " not in text
    assert all(word in text for word in read.words.values())
    assert read in readings(text)
    assert make_sentence(pair, a, b, Random(seed)) == text


@pytest.mark.each(
    ("text", "expected"),
    [
        ("The mountain lion is in the apartment building.", ("subject_location", False, True)),
        ("The student is in the river.", ("subject_location", True, False)),
        ("He is in the hotel lobby with the Dalai Lama.", ("religious_pronoun", True, True)),
        ("She is in the house with the CEO.", ("religious_pronoun", False, False)),
        ("Alexandria Ocasio-Cortez may not be in the film studio.", ("propn_negation", True, False)),
        ("The surveyor has been in the museum.", ("propn_negation", False, True)),
    ],
)
def test_sentences_of_each_template(text: str, expected: tuple[str, bool, bool]) -> None:
    (read,) = readings(text)
    assert (read.pair, read.a, read.b) == expected


def test_a_person_in_a_place_fits_two_pairs() -> None:
    read = readings("The critic is in the theatre.")
    assert [(reading.pair, reading.a, reading.b) for reading in read] == [
        ("subject_location", True, True),
        ("propn_negation", False, True),
    ]


@pytest.mark.each(
    "text",
    [
        "The student is in the river",
        "the student is in the river.",
        "The student is in the river.\n",
        "The student is in the  river.",
        "The Student is in the river.",
        "The student is in the office.",
        "The student is in the river with the pope.",
        "They is in the house with the pope.",
        "The Serena Williams is in the house.",
        "Serena Williams will be in the house.",
        "Serena Williams is not in the river.",
        "The hawk was in the house.",
        "",
    ],
)
def test_what_is_outside_the_templates_is_refused(text: str) -> None:
    assert readings(text) == ()
    for pair in PAIR_NAMES:
        with pytest.raises(InputError, match="not a sentence of"):
            read_sentence(text, pair)


def test_word_lists_are_as_long_as_the_papers() -> None:
    sizes = {name: len(slot_words(name)) for values in VALUES.values() for name in values}
    assert sizes == dict.fromkeys(sizes, 10) | {"affirmation": 5, "negation": 5, "he": 1, "she": 1}
    assert slot_words("common") == slot_words("human")
    words = [word for name in sizes if name != "common" for word in slot_words(name)]
    assert len(set(words)) == len(words)


def test_all_sentences_can_come_and_are_read_as_one_thing() -> None:
    random = Random(1)
    for pair, possible in zip(PAIR_NAMES, (400, 400, 2000), strict=True):
        seen = Counter(
            (make_sentence(pair, a, b, random), a, b)
            for a, b in product((True, False), repeat=2)
            for _ in range(3 * possible)
        )
        assert len(seen) == len({text for text, _, _ in seen}) == possible
