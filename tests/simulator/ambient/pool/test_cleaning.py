from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.ambient.pool.filters import clean

MARKS = "\"'“”‘’«»()[]{}<>"


@pytest.mark.each(
    ("text", "expected"),
    [
        ("  It rains. \n", "It rains."),
        ('"It rains."', "It rains."),
        ("'It rains.'", "It rains."),
        ("“It rains.”", "It rains."),
        ("(It rains.)", "It rains."),
        ("[ It rains. ]", "It rains."),
        ("(It's raining.)", "It's raining."),
        ('"It rains.', "It rains."),
        ('It rains."', "It rains."),
        ("It rains.)", "It rains."),
        ("(It rains.", "It rains."),
        ("It rains.'", "It rains."),
        ("'It rains.", "It rains."),
    ],
)
def test_marks_around_a_sentence_are_stripped(text, expected):
    assert clean(text) == expected


@pytest.mark.each(
    "text",
    [
        '"Yes" and "no" are words.',
        '"Yes" and "no"',
        "(Some) cats (sleep)",
        "The hats are the sailors'",
        "'Tis the season.",
        'He cried "stop"',
        "The cat (and the dog)",
        "'Twas Ann's.",
        "It's Bob's.",
    ],
)
def test_marks_within_a_sentence_are_kept(text):
    assert clean(text) == text


@given(st.text(alphabet=st.sampled_from(MARKS + " ab.'\n"), max_size=14))
def test_cleaning_only_takes_from_the_ends_and_is_done_once(text):
    cleaned = clean(text)
    assert clean(cleaned) == cleaned
    assert cleaned in text
    assert cleaned == cleaned.strip()


@given(st.text(alphabet=st.characters(exclude_characters=MARKS, exclude_categories=["Cs"]), max_size=20))
def test_texts_without_marks_only_lose_blanks(text):
    assert clean(text) == text.strip()


@given(
    st.text(alphabet="ab c.", min_size=1).filter(str.strip), st.sampled_from(["()", "[]", "“”", '""', "«»"])
)
def test_marks_around_a_plain_sentence_are_stripped(text, marks):
    assert clean(marks[0] + text + marks[1]) == text.strip()
    assert clean(marks[0] + text) == clean(text + marks[1]) == text.strip()
