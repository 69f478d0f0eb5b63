from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.ambient.generation import TOKENIZERS, edit_f1, edits, item_edit_f1
from simulator.ambient.labels import Label

SENTENCES = st.lists(st.sampled_from(["the", "The", "cat", "sat.", "", "down"]), max_size=8).map(" ".join)


def test_edits_are_multisets_of_deleted_and_added_tokens() -> None:
    assert edits("a a b", "a c c") == {("-", "a"): 1, ("-", "b"): 1, ("+", "c"): 2}
    assert edits("a b", "b a") == {}
    assert edits("a b", "a  b") == {("+", ""): 1}


@pytest.mark.each(
    ("original", "gold", "predicted", "score"),
    [
        ("a b", "a b", "a b", 1),
        ("a b", "a b", "a c", 0),
        ("a b", "a c", "a b", 0),
        ("a b", "a c", "a d", 0.5),  # both delete b
        ("a b", "a c", "a\tc", 0.4),  # a tab parts no tokens: -b +c against -a -b +"a\tc"
        ("a b", "a B", "a b.", 0.5),
    ],
)
def test_cases_by_hand(original: str, gold: str, predicted: str, score: float) -> None:
    assert edit_f1(original, gold, predicted) == pytest.approx(score)


def test_gold_labels_make_the_denominator() -> None:
    gold: dict[Label, str] = {"neutral": "a c", "entailment": "a d"}
    right_and_extra: dict[Label, str] = {"neutral": "a c", "contradiction": "a x"}
    assert item_edit_f1("a b", gold, right_and_extra) == pytest.approx(1 / 2)
    assert item_edit_f1("a b", gold, right_and_extra, denominator="union") == pytest.approx(1 / 3)
    assert item_edit_f1("a b", gold, {"neutral": "a c"}, denominator="predicted") == 1
    assert item_edit_f1("a b", gold, {}, denominator="predicted") == 0
    assert item_edit_f1("a b", gold, {}) == 0


def test_repeating_the_ambiguous_sentence_scores_nothing() -> None:
    gold: dict[Label, str] = {"neutral": "a c", "entailment": "a d"}
    assert item_edit_f1("a b", gold, dict.fromkeys(gold, "a b")) == 0


@given(SENTENCES, SENTENCES, SENTENCES)
def test_bounds_and_symmetry(original: str, gold: str, predicted: str) -> None:
    for tokenize in TOKENIZERS.values():
        score = edit_f1(original, gold, predicted, tokenize=tokenize)
        assert 0 <= score <= 1
        assert edit_f1(original, predicted, gold, tokenize=tokenize) == pytest.approx(score)
        assert edit_f1(original, gold, gold, tokenize=tokenize) == 1
