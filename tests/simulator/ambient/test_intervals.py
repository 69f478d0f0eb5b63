"""Intervals by resampling items."""

from __future__ import annotations

import pytest

from simulator.ambient.intervals import clustered_interval, mean_interval, share_interval


def test_a_share_of_those_that_count_resamples_all_items():
    values, counted = [1, 0, 1, 1, 0, 0, 1, 0] * 10, [True, True, False, True] * 20
    interval = share_interval(values, counted)
    assert interval is not None
    assert interval.n == 60
    assert interval.value == pytest.approx(sum(v for v, c in zip(values, counted, strict=True) if c) / 60)
    assert interval.low < interval.value < interval.high
    assert interval == share_interval(values, counted)


def test_a_share_of_all_is_the_mean():
    values = [1.0, 0.0, 0.5, 1.0]
    assert share_interval(values, [True] * 4) == pytest.approx(mean_interval(values))


def test_nothing_has_no_interval():
    assert share_interval([1.0], [False]) is None
    assert mean_interval([]) is None
    assert clustered_interval([], []) is None


def test_values_and_items_must_be_as_many():
    with pytest.raises(ValueError, match="the same length"):
        share_interval([1.0, 0.0], [True])
