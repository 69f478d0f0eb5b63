from __future__ import annotations

import pytest

from simulator.ambibench.answers import read_answer


@pytest.mark.each(
    ("text", "label"),
    [
        ("X", "X"),
        (" Y\n", "Y"),
        ("'X'", "X"),
        ('"Y".', "Y"),
        ("X.", "X"),
        ("“X”", "X"),
        ("X..", None),
        ("XY", None),
        ("X because", None),
        ("", None),
        (".", None),
        ("Ｘ", None),
    ],
)
def test_what_stands_around_a_letter_does_not_matter(text: str, label: str | None) -> None:
    for lower in (True, False):
        assert read_answer(text, lower=lower) == (label, False)


@pytest.mark.parametrize(("text", "label"), [("x", "X"), (" 'y'. ", "Y"), ("z", None)])
def test_lower_case_counts_for_people_and_is_noted(text: str, label: str | None) -> None:
    assert read_answer(text, lower=True) == (label, label is not None)
    assert read_answer(text, lower=False) == (None, False)
