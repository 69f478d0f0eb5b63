from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.ambient.labels import LABEL_SETS, LABELS
from simulator.ambient.nli.metrics import (
    CONSTANTS,
    RANDOM_SET,
    constant_baselines,
    nli_measures,
    seeds_summary,
)
from simulator.ambient.records import NliRecord, SeedRecord
from simulator.errors import InputError
from simulator.stats import bootstrap_mean

E, N, C = (frozenset({label}) for label in ("entailment", "neutral", "contradiction"))
any_set = st.sampled_from([frozenset(), *LABEL_SETS])


def record(gold, predicted, readings=None, labels=(), id="1"):
    return NliRecord(
        id=id,
        premise="It rains.",
        hypothesis="It pours.",
        gold=gold,
        predicted=predicted,
        readings=readings,
        reading_labels=labels,
    )


def seed(number, em, threshold=None, model="m"):
    return SeedRecord(model=model, seed=number, em=em, f1=0.5, group_em=em / 2, threshold=threshold)


def measured(pairs):
    return nli_measures([record(gold, predicted) for predicted, gold in pairs], resamples=0)


def f1_by_label(pairs):
    return {label: f1.value for label, f1 in measured(pairs).f1_by_label.items()}


@given(st.lists(st.tuples(any_set, any_set), min_size=1, max_size=20))
def test_f1_counts_each_label_separately(pairs):
    found = f1_by_label(pairs)
    for label in LABELS:
        hits = sum(label in one and label in two for one, two in pairs)
        given, gold = (sum(label in pair[at] for pair in pairs) for at in (0, 1))
        precision, recall = hits / given if given else 0, hits / gold if gold else 0
        expected = 2 * precision * recall / (precision + recall) if hits else 0
        assert found[label] == pytest.approx(expected)
    assert measured(pairs).f1.value == pytest.approx(sum(found.values()) / 3)


def test_a_label_never_predicted_or_never_gold_has_f1_zero():
    assert f1_by_label([(E, E), (E, N)]) == {
        "contradiction": 0.0,
        "entailment": pytest.approx(2 / 3),
        "neutral": 0.0,
    }


def test_an_empty_set_is_wrong_and_counted():
    found = nli_measures([record(N, N, ()), record(N, frozenset(), ())])
    assert (found.em.value, found.empty, found.n) == (0.5, 1, 2)
    assert found.f1_by_label["neutral"].value == pytest.approx(2 / 3)


def test_a_group_is_right_when_the_original_and_every_reading_are():
    both = E | N
    right = record(both, both, (E, N), ("entailment", "neutral"))
    one_off = record(both, both, (E, both), ("entailment", "neutral"))
    original_off = record(both, E, (E, N), ("entailment", "neutral"))
    plain = record(C, C, ())
    found = nli_measures([right, one_off, original_off, plain])
    assert found.group_em.value == 0.5
    assert found.em.value == 0.75
    assert found.group_em.n == 4


def test_without_readings_there_is_no_group_exact_match():
    assert nli_measures([record(C, C, ()), record(C, C, None)]).group_em is None


def test_intervals_hold_the_estimate_and_come_out_the_same_again():
    records = [record(E, E if at % 3 else N, ()) for at in range(60)]
    found = nli_measures(records)
    assert found == nli_measures(records)
    for one in (found.em, found.f1, found.group_em, *found.f1_by_label.values()):
        assert one.low <= one.value <= one.high
    assert found.em.low < found.em.value < found.em.high


def test_intervals_are_those_of_the_bootstrap_of_all_benchmarks():
    records = [record(E, E if at % 3 else N, ()) for at in range(60)]
    exact = [one.gold == one.predicted for one in records]
    again = bootstrap_mean(exact, resamples=200)
    assert nli_measures(records, resamples=200).em == pytest.approx(again)


def test_seeds_have_mean_sample_deviation_and_median_thresholds():
    found = seeds_summary([seed(44, 0.4, -3.0), seed(42, 0.2, -1.0), seed(43, 0.3, -1.5)])
    assert found.seeds == (42, 43, 44)
    assert found.em == pytest.approx((0.3, 0.1))
    assert found.group_em == pytest.approx((0.15, 0.05))
    assert found.threshold == -1.5
    assert seeds_summary([seed(42, 0.2)]).em == (0.2, None)


def test_medians_of_intervals_are_per_end():
    ends = [((0.1, 0.9), (0.5, 0.6)), ((0.3, 0.7), (0.4, 0.8)), ((0.2, 1.0), (0.6, 0.7))]
    found = seeds_summary(
        [
            seed(at, 0.1, {"entailment": one, "neutral": two, "contradiction": (0.0, 1.0)})
            for at, (one, two) in enumerate(ends)
        ]
    )
    assert found.threshold == {"contradiction": (0.0, 1.0), "entailment": (0.2, 0.9), "neutral": (0.5, 0.7)}


@pytest.mark.each(
    ("records", "message"),
    [
        ([], "no seeds"),
        ([seed(1, 0.1), seed(1, 0.2)], "not distinct seeds"),
        ([seed(1, 0.1), seed(2, 0.2, model="other")], "one model"),
        ([seed(1, 0.1), seed(2, 0.2, -1.0)], "m: its seeds have thresholds of different kinds"),
    ],
)
def test_invalid_sets_of_seeds_are_refused(records, message):
    with pytest.raises(InputError, match=message):
        seeds_summary(records)


def test_constant_baselines_by_hand():
    found = constant_baselines([N, N, E | N, C])
    assert list(found) == list(CONSTANTS)
    always_n, always_en, always_all = found.values()
    assert always_n.em.value == 0.5
    assert always_n.f1.value == pytest.approx((6 / 7) / 3)
    assert always_en.em.value == 0.25
    assert always_all.em.value == 0
    assert always_all.f1.value == pytest.approx((2 / 5 + 2 / 5 + 6 / 7) / 3)
    assert always_n.group_em is None
    assert pytest.approx(14.3, abs=0.05) == 100 * RANDOM_SET
