"""The table of tokens that is read (spec 7)."""

import pytest

from simulator.ambik.methods import first_word, names_option, says_nothing, table_of
from simulator.models import TokenLogprob


@pytest.mark.each("token", ["", " ", "\n", "\u00a0", "(", " **", "<s>", "<|im_end|>", " <pad>", "\u2581"])
def test_blanks_brackets_and_special_tokens_say_nothing(token):
    assert says_nothing(TokenLogprob(token, -0.1))


@pytest.mark.each("token", ["A", " a", "1", "The", "(A", "是"])
def test_letters_digits_and_words_say_something(token):
    assert not says_nothing(TokenLogprob(token, -0.1))


def test_the_first_that_says_something_is_read():
    blank, bracket, letter = (TokenLogprob(token, -0.1) for token in (" ", "(", "B"))
    assert first_word((blank, bracket, letter)) is letter
    assert first_word((blank, bracket)) is blank
    assert first_word(()) is None


def test_what_was_written_belongs_to_its_table():
    top = (("A", -1.0), ("B", -2.0))
    assert table_of(TokenLogprob("A", -1.0, top)) == top
    assert table_of(TokenLogprob("C", -0.5, top)) == (("C", -0.5), *top)
    assert table_of(TokenLogprob("C", -0.5)) == (("C", -0.5),)
    assert table_of(None) == ()


@pytest.mark.each(
    ("tokens", "options", "named"),
    [
        (("The", " d"), 4, True),
        (("E",), 4, False),
        (("E",), 5, True),
        (("5",), 4, False),
        ((" 4",), 4, True),
        (("AB", "The", ""), 5, False),
        ((), 4, False),
    ],
)
def test_options_are_named_by_letters_and_numbers(tokens, options, named):
    assert names_option(tuple((token, -1.0) for token in tokens), options) is named
