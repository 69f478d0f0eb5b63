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
    by_label = f1_by_label(pairs)
    for label in LABELS:
        hits = sum(label in gold_set and label in predicted_set for gold_set, predicted_set in pairs)
        given, gold = (sum(label in pair[at] for pair in pairs) for at in (0, 1))
        precision, recall = hits / given if given else 0, hits / gold if gold else 0
        expected = 2 * precision * recall / (precision + recall) if hits else 0
        assert by_label[label] == pytest.approx(expected)
    assert measured(pairs).f1.value == pytest.approx(sum(by_label.values()) / 3)


def test_a_label_never_predicted_or_never_gold_has_f1_zero():
    assert f1_by_label([(E, E), (E, N)]) == {
        "contradiction": 0.0,
        "entailment": pytest.approx(2 / 3),
        "neutral": 0.0,
    }


def test_an_empty_set_is_wrong_and_counted():
    measures = nli_measures([record(N, N, ()), record(N, frozenset(), ())])
    assert (measures.em.value, measures.empty, measures.n) == (0.5, 1, 2)
    assert measures.f1_by_label["neutral"].value == pytest.approx(2 / 3)


def test_a_group_is_right_when_the_original_and_every_reading_are():
    both = E | N
    right = record(both, both, (E, N), ("entailment", "neutral"))
    one_off = record(both, both, (E, both), ("entailment", "neutral"))
    original_off = record(both, E, (E, N), ("entailment", "neutral"))
    plain = record(C, C, ())
    measures = nli_measures([right, one_off, original_off, plain])
    assert measures.group_em.value == 0.5
    assert measures.em.value == 0.75
    assert measures.group_em.n == 4


def test_without_readings_there_is_no_group_exact_match():
    assert nli_measures([record(C, C, ()), record(C, C, None)]).group_em is None


def test_intervals_hold_the_estimate_and_come_out_the_same_again():
    records = [record(E, E if at % 3 else N, ()) for at in range(60)]
    measures = nli_measures(records)
    assert measures == nli_measures(records)
    for measure in (measures.em, measures.f1, measures.group_em, *measures.f1_by_label.values()):
        assert measure.low <= measure.value <= measure.high
    assert measures.em.low < measures.em.value < measures.em.high


def test_intervals_are_those_of_the_bootstrap_of_all_benchmarks():
    records = [record(E, E if at % 3 else N, ()) for at in range(60)]
    exact = [row.gold == row.predicted for row in records]
    again = bootstrap_mean(exact, resamples=200)
    assert nli_measures(records, resamples=200).em == pytest.approx(again)


def test_seeds_have_mean_sample_deviation_and_median_thresholds():
    summary = seeds_summary([seed(44, 0.4, -3.0), seed(42, 0.2, -1.0), seed(43, 0.3, -1.5)])
    assert summary.seeds == (42, 43, 44)
    assert summary.em == pytest.approx((0.3, 0.1))
    assert summary.group_em == pytest.approx((0.15, 0.05))
    assert summary.threshold == -1.5
    assert seeds_summary([seed(42, 0.2)]).em == (0.2, None)


def test_medians_of_intervals_are_per_end():
    ends = [((0.1, 0.9), (0.5, 0.6)), ((0.3, 0.7), (0.4, 0.8)), ((0.2, 1.0), (0.6, 0.7))]
    summary = seeds_summary(
        [
            seed(at, 0.1, {"entailment": first, "neutral": two, "contradiction": (0.0, 1.0)})
            for at, (first, two) in enumerate(ends)
        ]
    )
    assert summary.threshold == {"contradiction": (0.0, 1.0), "entailment": (0.2, 0.9), "neutral": (0.5, 0.7)}


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
    baselines = constant_baselines([N, N, E | N, C])
    assert list(baselines) == list(CONSTANTS)
    always_n, always_en, always_all = baselines.values()
    assert always_n.em.value == 0.5
    assert always_n.f1.value == pytest.approx((6 / 7) / 3)
    assert always_en.em.value == 0.25
    assert always_all.em.value == 0
    assert always_all.f1.value == pytest.approx((2 / 5 + 2 / 5 + 6 / 7) / 3)
    assert always_n.group_em is None
    assert pytest.approx(14.3, abs=0.05) == 100 * RANDOM_SET
