"""Parsing options, actions and certainty from messy model output (spec 6, 8.1, 8.4)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.ambik.prompts import FIVE, LETTERS, read_action, read_certainty, read_options, with_not_listed
from simulator.ambik.terms import DO_NOTHING, NOT_LISTED

OPTIONS = {"A": "take the red mug", "B": "take the blue mug", "C": "wash it", "D": "wait"}


@pytest.mark.each(
    "text",
    [
        "A) take the red mug\nB) take the blue mug\nC) wash it\nD) wait",
        "A. take the red mug\nB. take the blue mug\nC. wash it\nD. wait",
        "1) take the red mug\n2. take the blue mug\n3) wash it\n4. wait",
        "a) take the red mug\nb) take the blue mug\nc. wash it\nd) wait",
        "Sure, here they are:\n\nA) take the red mug\n\nB) take the blue mug\n\nC) wash it\n\nD) wait\n",
        "  A)   take the   red mug \r\n\tB)take the blue mug\r\nC)\u00a0wash it\r\nD)  wait",
        "**A)** take the red mug\n**B)** take the blue mug\n**C)** wash it\n**D)** wait",
        "- A) take the red mug\n- B) take the blue mug\n* C) wash it\n\u2022 D) wait",
        "(A) take the red mug\n(B) take the blue mug\n(C) wash it\n(D) wait",
        "**A) take the red mug**\n**B) take the blue mug**\n_C) wash it_\n**D. wait**",
        "D) wait\nC) wash it\nB) take the blue mug\nA) take the red mug",
        "A) take the red mug\nA) throw it\nB) take the blue mug\nC) wash it\nD) wait\nB) no",
        "A) take the red mug\nB) take the blue mug\nC) wash it\nD) wait\nE) sing\n5) dance\n\nScene: a cup",
        "A\uff09take the red mug\nB\uff0e take the blue mug\nC) wash it\nD) wait",
        "A)\nA) take the red mug\nB) take the blue mug\nC) wash it\nD) wait",
    ],
)
def test_four_options_however_they_are_laid_out(text: str) -> None:
    options = read_options(text)
    assert dict(options.texts) == OPTIONS
    assert options.filled == ()


@pytest.mark.each(
    ("text", "filled"),
    [
        ("", LETTERS),
        ("I would take the red mug.", LETTERS),
        ("A take the red mug\nB: take the blue mug\nC - wash it", LETTERS),
        ("Also) no\nBoth. no\n10) no\nF) no\n0) no", LETTERS),
        ("1.5 cups of milk\n2.5 cups of tea", LETTERS),
        ("take it, A) or B) or C) or D)", LETTERS),
        ("A) take the red mug", ("B", "C", "D")),
        ("B) take the blue mug\n4. wait", ("A", "C")),
        ("A) take the red mug\nB)\nC) **\nD)   ", ("B", "C", "D")),
    ],
)
def test_missing_options_are_filled_and_flagged(text: str, filled: tuple[str, ...]) -> None:
    options = read_options(text)
    assert options.filled == filled
    assert tuple(options.texts) == LETTERS
    for letter, option in options.texts.items():
        assert option == (DO_NOTHING if letter in filled else OPTIONS[letter])


def test_options_that_say_the_same_stay() -> None:
    options = read_options("A) wait\nB) wait\nC) wait\nD) go")
    assert list(options.texts.values()) == ["wait", "wait", "wait", "go"]
    assert options.filled == ()


def test_a_model_that_says_do_nothing_has_not_left_it_out() -> None:
    assert read_options("A) do nothing\nB) go\nC) go\nD) go").filled == ()


@given(st.text(max_size=300))
def test_there_are_always_four(text: str) -> None:
    options = read_options(text)
    assert tuple(options.texts) == LETTERS
    assert all(option and "\n" not in option for option in options.texts.values())
    assert all(options.texts[letter] == DO_NOTHING for letter in options.filled)


class TestNotListed:
    def test_repeated_ones_give_way_to_fillers(self) -> None:
        options = with_not_listed(read_options("A) Wait.\nB) wait\nC) go\nD) WAIT"), seed=1)
        assert sorted(options.texts.values()) == sorted(["Wait.", "go", DO_NOTHING, DO_NOTHING, NOT_LISTED])
        assert tuple(options.texts) == FIVE
        assert {options.texts[letter] for letter in options.filled} == {DO_NOTHING}
        assert len(options.filled) == 2

    def test_the_seed_makes_the_order(self) -> None:
        four = read_options("A) a b\nB) c d\nC) e f\nD) g h")
        orders = {tuple(with_not_listed(four, seed).texts.values()) for seed in range(40)}
        assert with_not_listed(four, 3) == with_not_listed(four, 3)
        assert len(orders) > 20
        assert {order.index(NOT_LISTED) for order in orders} == set(range(5))

    def test_a_filler_that_was_filled_counts_as_such(self) -> None:
        options = with_not_listed(read_options("A) go"), seed=0)
        assert len(options.filled) == 3
        assert sorted(options.texts.values()) == sorted(["go", *[DO_NOTHING] * 3, NOT_LISTED])


@pytest.mark.each(
    ("text", "action"),
    [
        ("Take the red mug.", "Take the red mug."),
        ("\n\n  Take the red mug. \nThen wash it.", "Take the red mug."),
        ("A) Take the red mug.", "Take the red mug."),
        ("1. Take the red mug.", "Take the red mug."),
        ("Action: Take the red mug.", "Take the red mug."),
        ("**Next action:** Take the red mug.", "Take the red mug."),
        ("- Take the red mug.", "Take the red mug."),
        ("Action:\nTake the red mug.", "Take the red mug."),
        ("动作：Take the red mug.", "Take the red mug."),
        ("1.5 cups of milk are heated.", "1.5 cups of milk are heated."),
        ("A mug is taken.", "A mug is taken."),
        ("Activate the kettle: boil water", "Activate the kettle: boil water"),
        ("   \n\t\n", ""),
        ("***\n", ""),
    ],
)
def test_one_action_is_the_first_line_that_says_something(text: str, action: str) -> None:
    assert read_action(text) == action


@pytest.mark.each(
    ("text", "word"),
    [
        ("certain", "certain"),
        (" Certain\n", "certain"),
        ("Certain.", "invalid"),
        ("**Certain**", "invalid"),
        ("CERTAIN", "certain"),
        ("Uncertain", "uncertain"),
        ("\tuncertain ", "uncertain"),
        ("Uncertain.", "invalid"),
        ("Certainly", "invalid"),
        ("not certain", "invalid"),
        ("Uncertain, since both may be meant", "invalid"),
        ("", "invalid"),
        ("yes", "invalid"),
    ],
)
def test_certainty_is_one_of_two_words(text: str, word: str) -> None:
    assert read_certainty(text) == word
