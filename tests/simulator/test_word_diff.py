"""The words that a rewrite changes."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.word_diff import word_diff

# Few words, so that sentences share them; all kinds of white space and marks between them.
SENTENCES = st.lists(
    st.sampled_from(["The", "bank", "isn't", "river", " ", "  ", "\n", ".", ", ", "é", "-"])
).map("".join)


@pytest.mark.each(
    ("original", "rewrite", "pieces"),
    [
        (
            "They met at the bank.",
            "They met at the river bank.",
            [("They met at the ", "same"), ("river ", "added"), ("bank.", "same")],
        ),
        (
            "He saw it again.",
            "He saw it again, today.",
            [("He saw it again", "same"), (", today", "added"), (".", "same")],
        ),
        (
            "We can't go.",
            "We won't go.",
            [("We ", "same"), ("can't ", "removed"), ("won't ", "added"), ("go.", "same")],
        ),
        ("a  b", "a b", [("a", "same"), ("  ", "removed"), (" ", "added"), ("b", "same")]),
        (" a", "a", [(" ", "removed"), ("a", "same")]),
        ("a", "a", [("a", "same")]),
        ("a", "b", [("a", "removed"), ("b", "added")]),
        ("", "", []),
        ("", "b", [("b", "added")]),
        ("  ", "  ", [("  ", "same")]),
    ],
)
def test_pieces(original: str, rewrite: str, pieces: list[tuple[str, str]]) -> None:
    assert [tuple(piece) for piece in word_diff(original, rewrite)] == pieces


@given(st.one_of(SENTENCES, st.text()), st.one_of(SENTENCES, st.text()))
def test_pieces_make_up_both_sentences(original: str, rewrite: str) -> None:
    pieces = word_diff(original, rewrite)
    assert "".join(text for text, change in pieces if change != "added") == original
    assert "".join(text for text, change in pieces if change != "removed") == rewrite
    assert all(text for text, _ in pieces)
    changes = [change for _, change in pieces]
    assert all(first != second for first, second in pairwise(changes))
    assert ("added", "removed") not in pairwise(changes)


@given(SENTENCES)
def test_a_sentence_is_the_same_as_itself(sentence: str) -> None:
    assert {change for _, change in word_diff(sentence, sentence)} <= {"same"}
