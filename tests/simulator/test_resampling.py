"""Test the resampling kernel: draws, and intervals of data without variance."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest
import scipy

from simulator.judging.agreement import (
    alpha_measure,
    cluster_kappa,
    intervals,
    kappa_measure,
    masi_distance,
    mean_measure,
    tally,
)
from simulator.stats import (
    bootstrap_mean,
    cluster_bootstrap,
    interval_of,
    mcnemar,
    paired_bootstrap,
    resample,
    resample_counts,
    share,
    wilson,
)


def test_draws_are_whole_fixed_and_the_same_in_blocks_of_any_size(monkeypatch):
    whole = np.vstack(list(resample_counts(5, seed=1, resamples=300)))
    assert whole.shape == (300, 5)
    assert (whole.sum(axis=1) == 5).all()
    assert (whole != np.vstack(list(resample_counts(5, seed=2, resamples=300)))).any()
    monkeypatch.setattr("simulator.stats._BLOCK_SIZE", 12)
    assert (whole == np.vstack(list(resample_counts(5, seed=1, resamples=300)))).all()


def test_few_different_rows_are_drawn_as_many():
    """Drawing counts of distinct rows gives the same spread as drawing rows one by one."""
    columns = np.column_stack([np.arange(400) % 3, np.ones(400)])
    apart = columns + np.column_stack([np.linspace(0, 1e-9, 400), np.zeros(400)])
    counted, single = (resample(table, seed=1, resamples=4000)[1:, 0] for table in (columns, apart))
    assert counted.mean() == pytest.approx(single.mean(), rel=0.01)
    assert counted.std() == pytest.approx(single.std(), rel=0.05)


def test_no_interval_depends_on_the_order_of_rows():
    random = Random(4)
    values = [random.random() for _ in range(40)]
    clusters = [place // 3 for place in range(40)]
    weights = [random.random() for _ in range(40)]
    sets = [random.choices([frozenset("E"), frozenset("EN"), frozenset("C")], k=3) for _ in range(40)]
    labels = [random.choices("ab", k=3) for _ in range(40)]

    def intervals_of(order):
        value, cluster, weight, units, rated = (
            [column[place] for place in order] for column in (values, clusters, weights, sets, labels)
        )
        measures = {
            "alpha": alpha_measure(units, masi_distance),
            "kappa": kappa_measure(tally(rated, "ab")),
            "mean": mean_measure(value),
        }
        return (
            bootstrap_mean(value),
            cluster_bootstrap(value, cluster, weights=weight),
            paired_bootstrap(value, weight, cluster),
            intervals(measures, seed=3),
            cluster_kappa([pair[0] for pair in rated], [pair[1] for pair in rated], cluster),
        )

    first = intervals_of(range(40))
    for seed in range(5):
        order = list(range(40))
        Random(seed).shuffle(order)
        assert intervals_of(order) == first


def test_where_nothing_varies_a_share_has_wilsons_interval():
    """0 of 5 is not [0, 0]."""
    for value in (0.0, 1.0):
        interval = bootstrap_mean([value] * 5)
        assert interval == pytest.approx(wilson(int(value) * 5, 5))
        assert interval.high - interval.low > 0.4
    together = cluster_bootstrap([0.0] * 20, ["a", "b"] * 10)
    assert together[:3] == pytest.approx(wilson(0, 2)[:3])
    assert bootstrap_mean([1.0]).low == pytest.approx(wilson(1, 1).low)
    half = bootstrap_mean([0.5] * 8)
    assert (half.low, half.high) == pytest.approx((0.5 - wilson(0, 8).high / 2, 0.5 + wilson(0, 8).high / 2))


def test_where_nothing_varies_bounds_decide():
    count = bootstrap_mean([0.1] * 5, bounds=None)  # nothing is known of how high it could be
    assert (count.bracketed(), count.ends(str)) == ("0.10 – (SD = 0)", "–")
    assert bootstrap_mean([3.0] * 5) == (3, 3, 3, 5)
    assert bootstrap_mean([1.0] * 5, bounds=None) == (1, 1, 1, 5)
    assert bootstrap_mean([3.0, 5.0], ["a", "a"]) == (4, None, None, 1), "one item played twice"
    assert paired_bootstrap([1.0], [4.0]) == (3, None, None, 1)
    assert bootstrap_mean([0.5]) == (0.5, None, None, 1), "one item, half right"
    several = cluster_bootstrap([1.0, 0.0, 1.0, 0.0], ["a"] * 4)
    assert several == (0.5, None, None, 4)
    assert several.bracketed() == "0.50 – (n = 1)", "the answers of one item are no sample of items"
    assert bootstrap_mean([0.0]).high == pytest.approx(wilson(0, 1).high)
    per_100 = cluster_bootstrap([0.0] * 5, range(5), bounds=(0, 100))
    assert per_100.high == pytest.approx(100 * wilson(0, 5).high)
    same = paired_bootstrap([True] * 5, [True] * 5)
    assert (same.low, same.high) == pytest.approx((-wilson(0, 5).high, wilson(0, 5).high))
    assert paired_bootstrap([2.0] * 5, [2.0] * 5) == (0, 0, 0, 5)
    perfect = intervals({"kappa": kappa_measure(tally(["aa", "bb"] * 10, "ab"))})["kappa"]
    assert perfect.value == perfect.high == 1
    assert 0.5 < perfect.low < 1
    assert interval_of(np.array([np.nan, 1.0]), 1, groups=1) is None


def test_repeats_of_an_item_are_one_cluster():
    values, items = [1.0] * 10 + [0.0] * 8 + [1.0] * 2, ["a"] * 10 + ["b"] * 10
    interval = bootstrap_mean(values, items)
    assert (interval.value, interval.n) == (0.6, 2)
    assert (interval.low, interval.high) == (0.2, 1.0)
    assert share([bool(value) for value in values], items) == interval
    assert share([True, False], ["a", "b"]) == wilson(1, 2)
    assert share([True] * 4, ["a", "a", "b", "b"])[:3] == pytest.approx(wilson(2, 2)[:3])
    assert paired_bootstrap(values, [0.0] * 20, items).n == 2


def test_mcnemars_test_exchanges_whole_items():
    """The test equals the enumeration of all swaps, and without repeats the binomial test."""
    random = Random(1)
    first, second = ([random.random() < chance for _ in range(24)] for chance in (0.3, 0.6))
    items = [place // 3 for place in range(24)]
    changes = [
        sum(second[place] - first[place] for place in range(24) if items[place] == item) for item in range(8)
    ]
    sums = [
        sum(sign * change for sign, change in zip(signs, changes, strict=True))
        for signs in product((1, -1), repeat=8)
    ]
    assert mcnemar(first, second, items) == pytest.approx(
        np.mean([abs(change) >= abs(sum(changes)) for change in sums])
    )
    gained = sum(b > a for a, b in zip(first, second, strict=True))
    changed = sum(b != a for a, b in zip(first, second, strict=True))
    assert mcnemar(first, second) == pytest.approx(scipy.stats.binomtest(gained, changed).pvalue)
    with pytest.raises(ValueError, match="the same length"):
        mcnemar(first, second, items[:3])
