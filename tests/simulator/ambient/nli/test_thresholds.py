"""Thresholds, compared with a literal, slow implementation of spec 9.1."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.ambient.labels import LABEL_SETS, LABELS, format_labels
from simulator.ambient.nli.families import (
    CLASSES,
    FAMILIES,
    SET_NAMES,
    label_set,
    output_of,
    output_of_width,
    tune_threshold,
)
from simulator.errors import InputError

# Few different numbers, so that there are ties.
numbers = st.integers(-4, 4).map(lambda whole: whole / 2)
sets = st.sampled_from(LABEL_SETS)
rows = st.lists(st.tuples(numbers, numbers, numbers, sets), min_size=1, max_size=12)
values = st.lists(st.tuples(numbers, sets), min_size=2, max_size=12)


def f1(predicted: list[bool], truth: list[bool]) -> Fraction:
    hits = sum(a and b for a, b in zip(predicted, truth, strict=True))
    both = sum(predicted) + sum(truth)
    return Fraction(2 * hits, both) if both else Fraction(0)


def slow_threshold(logits, gold):
    best, threshold = Fraction(-1), None
    for row in logits:
        for candidate in row:
            score = sum(
                f1([scores[at] > candidate for scores in logits], [label in labels for labels in gold])
                for at, label in enumerate(LABELS)
            )
            if score > best:
                best, threshold = score, candidate
    return threshold


def slow_interval(numbers, truth, pairs):
    best, interval = Fraction(-1), None
    for low, high in (permutations if pairs == "all" else combinations)(numbers, 2):
        score = f1([low <= number <= high for number in numbers], truth)
        if low < high and score > best:
            best, interval = score, (low, high)
    return interval


@settings(max_examples=60, deadline=None)
@given(rows)
def test_one_threshold_has_the_best_macro_f1(rows):
    logits, gold = [row[:3] for row in rows], [row[3] for row in rows]
    assert tune_threshold(logits, gold) == slow_threshold(logits, gold)


@settings(max_examples=60, deadline=None)
@given(values, st.sampled_from(["all", "reference"]))
def test_each_interval_has_the_best_f1_of_its_label(rows, pairs):
    given, gold = [row[0] for row in rows], [row[1] for row in rows]
    slow = {label: slow_interval(given, [label in labels for labels in gold], pairs) for label in LABELS}
    if None in slow.values():
        with pytest.raises(InputError, match="no two dev predictions are in increasing order"):
            tune_threshold([(score,) for score in given], gold, pairs)
    else:
        assert tune_threshold([(score,) for score in given], gold, pairs) == slow


def test_the_reference_does_not_try_pairs_whose_smaller_value_comes_later():
    given = [(0.9,), (0.5,), (0.8,)]
    gold = [frozenset({"entailment"}), frozenset({"neutral"}), frozenset({"entailment"})]
    # 0.8 stands behind 0.9, so the reference cannot choose the interval that fits.
    assert tune_threshold(given, gold)["entailment"] == (0.8, 0.9)
    assert tune_threshold(given, gold, "reference")["entailment"] == (0.5, 0.8)


def test_a_tie_goes_to_the_first_candidate_in_file_order_then_label_order():
    gold = [frozenset({"entailment"})]
    # Everything below 3 is equally good: the first logit that is, is contradiction's.
    assert tune_threshold([(1.0, 3.0, 1.0)], gold) == 1.0
    # Order, not size, decides: a wrong neutral costs nothing where no neutral is gold.
    assert tune_threshold([(2.0, 3.0, 1.0)], gold) == 2.0
    # Nobody can be right on a label that is nowhere gold: the first pair of all.
    assert tune_threshold([(2.0,), (1.0,), (3.0,)], gold * 3)["neutral"] == (2.0, 3.0)


def test_the_logit_itself_is_not_above_it_but_the_ends_of_an_interval_belong_to_it():
    assert label_set((1.0, 1.5, 0.0), 1.0) == {"entailment"}
    assert label_set((0.0, 0.0, 0.0), 0.0) == frozenset()
    intervals = {"contradiction": (0.0, 0.2), "entailment": (0.8, 1.0), "neutral": (0.2, 0.8)}
    assert label_set((0.2,), intervals) == {"contradiction", "neutral"}
    assert label_set((0.8,), intervals) == {"entailment", "neutral"}
    assert label_set((1.1,), intervals) == frozenset()


def test_seven_classes_are_named_in_alphabetical_order_and_the_highest_is_taken():
    assert SET_NAMES == (
        "contradiction",
        "contradiction, entailment",
        "contradiction, entailment, neutral",
        "contradiction, neutral",
        "entailment",
        "entailment, neutral",
        "neutral",
    )
    for place, name in enumerate(SET_NAMES):
        scores = tuple(float(at == place) for at in range(7))
        assert format_labels(label_set(scores, None)) == name
    assert label_set((1.0,) * 7, None) == {"contradiction"}
    assert tune_threshold([(0.0,) * 7], [frozenset({"neutral"})]) is None


def test_every_family_gives_one_three_or_seven_numbers():
    assert [len(CLASSES[output_of(family)]) for family in FAMILIES] == [1, 3, 3, 3, 7, 3]
    with pytest.raises(ValueError, match="1, 3 or 7 numbers for a pair, not 2"):
        output_of_width(2)


@pytest.mark.parametrize(
    ("scores", "threshold"), [((0.5,), 0.5), ((0.1, 0.2, 0.3), None), ((0.1, 0.2, 0.3), {})]
)
def test_a_threshold_of_another_family_is_refused(scores, threshold):
    with pytest.raises(ValueError, match="does not fit"):
        label_set(scores, threshold)


def test_tuning_needs_valid_predictions():
    with pytest.raises(InputError, match="0 dev predictions for 1 dev examples"):
        tune_threshold([], [frozenset({"neutral"})])
    with pytest.raises(InputError, match="not finite"):
        tune_threshold([(0.0, float("nan"), 0.0)], [frozenset({"neutral"})])
