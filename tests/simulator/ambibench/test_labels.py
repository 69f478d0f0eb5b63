"""Test the reading of tables of token probabilities (spec section 7.1)."""

from __future__ import annotations

from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.ambibench.features import LABELS
from simulator.ambibench.score import MODES, TIES, Mode, exceeds_one, read_answer, read_table


def table(*entries: tuple[str, float]) -> list[tuple[str, float]]:
    return [(token, log(probability)) for token, probability in entries]


def test_variants_of_a_label_are_added_up() -> None:
    reading = read_table(table((" X", 0.3), ("Y", 0.4), ("X", 0.2), ("\nX", 0.05), ('"Y"', 0.01)), "X")
    assert reading.answer == "X" and reading.correct == 1 and reading.valid and not reading.tie
    assert reading.p_x == pytest.approx(0.55)
    assert reading.p_y == pytest.approx(0.41)
    assert reading.p_valid == pytest.approx(0.96)


def test_other_tokens_compete() -> None:
    entries = table(("The", 0.5), ("X", 0.3), ("Y", 0.1))
    strict, forced = read_table(entries, "X"), read_table(entries, "X", "forced")
    assert (strict.answer, strict.correct, strict.valid) == ("The", 0, False)
    assert (forced.answer, forced.correct, forced.valid) == ("X", 1, True)
    assert strict.p_valid == forced.p_valid == pytest.approx(0.4)


def test_letter_case_is_kept() -> None:
    reading = read_table(table(("x", 0.6), ("X", 0.3)), "X")
    assert (reading.answer, reading.correct) == ("x", 0)
    assert reading.p_x == pytest.approx(0.3)


def test_a_label_that_is_not_in_the_table_is_wrong_in_every_mode() -> None:
    for mode in MODES:
        for tie in TIES:
            reading = read_table(table(("Y", 0.2), ("the", 0.1)), "X", mode, tie)
            assert reading.correct == 0 and reading.p_x == 0


def test_nothing_at_all_is_wrong() -> None:
    for mode in MODES:
        reading = read_table([], "X", mode, "half")
        assert (reading.answer, reading.correct, reading.tie, reading.valid) == (None, 0, False, False)


@pytest.mark.each("mode", MODES)
def test_what_adds_up_to_more_than_1_is_divided_by_its_sum(mode: Mode) -> None:
    reading = read_table(table(("X", 0.9), ("Y", 0.4), ("the", 0.7)), "X", mode)
    assert (reading.answer, reading.correct) == ("X", 1)
    assert (reading.p_x, reading.p_y, reading.p_valid) == pytest.approx((0.45, 0.2, 0.65))


def test_an_excess_is_more_than_rounding() -> None:
    assert exceeds_one(table(("X", 0.9), ("Y", 0.2)))
    assert not exceeds_one(table(("X", 0.9), ("Y", 0.105)))


@pytest.mark.each(
    ("gold", "tie", "correct"),
    [("X", "wrong", 0), ("X", "half", 0.5), ("Y", "half", 0.5), ("Y", "first", 1), ("X", "first", 0)],
)
def test_ties(gold: str, tie: str, correct: float) -> None:
    # Two halves of X come after Y; the first in the table's order is Y.
    entries = table(("Y", 0.4), (" X", 0.2), ("X", 0.2), ("z", 0.1))
    reading = read_table(entries, gold, "strip", tie)  # type: ignore[arg-type]
    assert reading.tie and reading.correct == correct


def test_a_tie_between_the_labels_alone_goes_to_the_first_of_the_table() -> None:
    entries = table(("the", 0.5), ("Y", 0.2), ("X", 0.2))
    assert [read_table(entries, gold, "forced", "first").correct for gold in LABELS] == [0, 1]


def test_a_tie_of_others_leaves_the_label_wrong() -> None:
    reading = read_table(table(("a", 0.4), ("b", 0.4), ("X", 0.2)), "X", tie="half")
    assert reading.tie and reading.correct == 0


def test_sums_that_differ_by_rounding_are_tied() -> None:
    entries = [("X", log(0.1)), (" X", log(0.2)), ("Y", log(0.3))]
    assert exp(entries[0][1]) + exp(entries[1][1]) != exp(entries[2][1])
    assert read_table(entries, "X", tie="half").correct == 0.5


def test_the_published_merging_takes_one_variant_with_blanks() -> None:
    # Two variants collapse to X; the last is added, the other competes under its own name.
    entries = table((" X", 0.35), ("X ", 0.1), ("X", 0.2), ("Y", 0.31))
    reading = read_table(entries, "X", "reference")
    assert reading.p_x == pytest.approx(0.3)
    assert (reading.answer, reading.correct) == (" X", 0)
    assert read_table(entries, "X").answer == "X"


def test_the_published_merging_leaves_line_feeds_and_quotes_alone() -> None:
    entries = table(("\nX", 0.4), ('"X"', 0.2), ("X", 0.1), ("Y", 0.25))
    reading = read_table(entries, "X", "reference")
    assert (reading.answer, reading.p_x) == ("\nX", pytest.approx(0.1))


def test_the_published_merging_gives_ties_to_the_first_entry() -> None:
    entries = table(("Y", 0.3), ("X", 0.3))
    assert read_table(entries, "Y", "reference", "wrong").correct == 1
    assert read_table(entries, "X", "reference", "half").correct == 0


TOKENS = st.sampled_from(["X", " X", "X ", "\nX", "'X'", "Y", " Y", "\tY", "x", "", " ", "Z", "XY"])


@given(
    st.dictionaries(TOKENS, st.floats(1e-6, 1.0), max_size=8),
    st.sampled_from("XY"),
    st.sampled_from(TIES),
)
def test_plain_computation_agrees(probabilities: dict[str, float], gold: str, tie: str) -> None:
    entries = [(token, log(probability)) for token, probability in probabilities.items()]
    sums: dict[str, float] = {}
    for token, probability in probabilities.items():
        sums[token.strip(" \t\n\r'\"")] = sums.get(token.strip(" \t\n\r'\""), 0) + probability
    reading = read_table(entries, gold, "strip", tie)  # type: ignore[arg-type]
    whole = max(1, sum(probabilities.values()))
    assert reading.p_x == pytest.approx(sums.get("X", 0) / whole)
    assert reading.p_y == pytest.approx(sums.get("Y", 0) / whole)
    if not reading.tie and sums:
        best = max(sums, key=lambda token: sums[token])
        assert reading.answer == best
        assert reading.correct == float(best == gold)
        assert reading.valid == (best in ("X", "Y"))


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
        ("\u202fX\u202f", "X"),
    ],
)
def test_what_stands_around_a_letter_does_not_matter(text: str, label: str | None) -> None:
    for lower in (True, False):
        assert read_answer(text, lower=lower) == (label, False)


@pytest.mark.parametrize(("text", "label"), [("x", "X"), (" 'y'. ", "Y"), ("z", None)])
def test_lower_case_counts_for_people_and_is_noted(text: str, label: str | None) -> None:
    assert read_answer(text, lower=True) == (label, label is not None)
    assert read_answer(text, lower=False) == (None, False)
