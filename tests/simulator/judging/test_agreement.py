"""Kappa and alpha against worked examples, other implementations and slow ones of our own."""

import random
from collections.abc import Hashable, Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.judging.agreement import (
    Measure,
    alpha_measure,
    intervals,
    kappa_measure,
    masi_distance,
    mean_measure,
    modal_raters,
    nominal_distance,
    tally,
)
from simulator.stats import Interval, resample


def point(measure: Measure) -> float | None:
    """The estimate alone."""
    interval = intervals({"": measure}, resamples=0)[""]
    return None if interval is None else interval.value


def fleiss_kappa(counts: Any) -> float | None:
    return point(kappa_measure(np.asarray(counts, dtype=float)))


def fleiss_interval(counts: Any, *, seed: int = 0) -> Interval | None:
    return intervals({"kappa": kappa_measure(np.asarray(counts, dtype=float))}, seed=seed)["kappa"]


def krippendorff_alpha(units: Any, distance: Any) -> float | None:
    return point(alpha_measure(units, distance))


def alpha_interval(units: Any, distance: Any) -> Interval | None:
    return intervals({"alpha": alpha_measure(units, distance)})["alpha"]


def slow_kappa(counts: Sequence[Sequence[int]]) -> float:
    """The formula at the end of spec section 4, as it stands there."""
    n, subjects = sum(counts[0]), len(counts)
    agreed = [(sum(c * c for c in row) - n) / (n * (n - 1)) for row in counts]
    shares = [sum(column) / (n * subjects) for column in zip(*counts, strict=True)]
    chance = sum(share * share for share in shares)
    return float((sum(agreed) / subjects - chance) / (1 - chance))


def slow_alpha(units: Sequence[Sequence[Hashable]], distance: Any) -> float:
    """By definition, over all ordered pairs."""
    units = [unit for unit in units if len(unit) > 1]
    values = [value for unit in units for value in unit]
    n = len(values)
    observed = sum(sum(distance(a, b) for a, b in permutations(u, 2)) / (len(u) - 1) for u in units) / n
    expected = sum(distance(a, b) for a, b in permutations(values, 2)) / (n * (n - 1))
    return float(1 - observed / expected)


FLEISS_1971 = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]


def test_kappa_of_worked_examples() -> None:
    assert fleiss_kappa(FLEISS_1971) == pytest.approx(0.20993, abs=1e-5)
    # Two subjects, two raters: P = (1 + 0) / 2, p = (3/4, 1/4), chance 10/16.
    assert fleiss_kappa([[2, 0], [1, 1]]) == pytest.approx((1 / 2 - 10 / 16) / (6 / 16))
    assert fleiss_kappa([[2, 0], [0, 2]]) == 1


def test_kappa_is_undefined_where_all_ratings_are_the_same() -> None:
    assert fleiss_kappa([[3, 0], [3, 0]]) is None
    assert fleiss_interval([[3, 0], [3, 0]]) is None
    assert fleiss_kappa([]) is None
    assert fleiss_interval([]) is None


@pytest.mark.parametrize("counts", [[[2, 0], [2, 1]], [[1, 0], [0, 1]]])
def test_kappa_needs_one_number_of_raters_two_at_least(counts: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="an equal number of raters"):
        fleiss_kappa(counts)


@given(st.integers(2, 6), st.integers(2, 4), st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_kappa_is_the_formula(raters: int, categories: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    counts = generator.multinomial(raters, [1 / categories] * categories, size=7).tolist()
    if sum(any(column) for column in zip(*counts, strict=True)) > 1:
        assert fleiss_kappa(counts) == pytest.approx(slow_kappa(counts))


def test_masi_by_hand() -> None:
    e, n, en, cn, cen = (frozenset(letters) for letters in ("E", "N", "EN", "CN", "CEN"))
    assert masi_distance(en, en) == 0
    assert masi_distance(frozenset(), frozenset()) == 0
    assert masi_distance(e, n) == 1
    assert masi_distance(frozenset(), e) == 1
    assert masi_distance(e, en) == pytest.approx(1 - 1 / 2 * 2 / 3)
    assert masi_distance(en, cen) == pytest.approx(1 - 2 / 3 * 2 / 3)
    assert masi_distance(e, cen) == pytest.approx(1 - 1 / 3 * 2 / 3)
    assert masi_distance(en, cn) == pytest.approx(1 - 1 / 3 * 1 / 3)
    assert masi_distance(cn, en) == masi_distance(en, cn)


def test_alpha_of_a_worked_example() -> None:
    """Two raters, ten units, 0 or 1 (Krippendorff 2011, section B): alpha 0.095."""
    first, second = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    units = list(zip(first, second, strict=True))
    assert krippendorff_alpha(units, nominal_distance) == pytest.approx(0.0952, abs=5e-5)


def test_alpha_with_sets_by_hand() -> None:
    e, n, en = (frozenset(letters) for letters in ("E", "N", "EN"))
    # Values E 2, N 1, EN 1. Observed: (0 + 0)/1 and (2/3 + 2/3)/1, over 4. Expected over 12 ordered pairs:
    # E-N 2*2*1, E-EN 2*2*2/3, N-EN 2*2/3.
    expected = (4 + 8 / 3 + 4 / 3) / 12
    assert krippendorff_alpha([(e, e), (n, en)], masi_distance) == pytest.approx(1 - (4 / 3 / 4) / expected)


def test_alpha_is_undefined_where_there_is_nothing_to_compare() -> None:
    assert krippendorff_alpha([], nominal_distance) is None
    assert krippendorff_alpha([[], []], nominal_distance) is None
    assert krippendorff_alpha([["a"], ["b"]], nominal_distance) is None
    assert krippendorff_alpha([["a", "a"], ["a", "a"], ["b"]], nominal_distance) is None
    assert alpha_interval([["a", "a"]], nominal_distance) is None
    assert alpha_interval([], nominal_distance) is None


SETS = [frozenset(letters) for letters in ("C", "E", "N", "CE", "CN", "EN", "CEN")]


def random_units(seed: int, units: int = 30) -> list[list[frozenset[str]]]:
    generator = random.Random(seed)
    return [generator.choices(SETS, k=generator.randrange(5)) for _ in range(units)]


@pytest.mark.each("distance", [nominal_distance, masi_distance])
@pytest.mark.each("seed", range(5))
def test_alpha_is_its_definition(distance: Any, seed: int) -> None:
    units = random_units(seed)
    assert krippendorff_alpha(units, distance) == pytest.approx(slow_alpha(units, distance))


@pytest.mark.each("seed", range(5))
def test_alpha_of_names_is_that_of_the_krippendorff_package(seed: int) -> None:
    krippendorff = pytest.importorskip("krippendorff", reason="pip install krippendorff to compare with it")
    units = random_units(seed)
    counts = tally(units, SETS)
    theirs = krippendorff.alpha(value_counts=counts, level_of_measurement="nominal")
    assert krippendorff_alpha(units, nominal_distance) == pytest.approx(theirs)


def test_tally_and_the_modal_number_of_raters() -> None:
    assert tally(["ab", "", "bbb"], "ab").tolist() == [[1, 1], [0, 0], [0, 3]]
    assert tally([], "ab").shape == (0, 2)
    with pytest.raises(ValueError, match="'c' is not among"):
        tally(["abc"], "ab")
    assert modal_raters(["ab", "ab", "abc", "a", "a", "a"]) == 2
    assert modal_raters(["ab", "abc"]) == 3
    assert modal_raters(["a", ""]) is None
    assert modal_raters([]) is None


def test_sums_by_group() -> None:
    assert mean_measure([1, 3, 5], [1, 0, 1]).columns.tolist() == [[3, 1], [6, 2]]
    assert mean_measure([1, 3, 5], [1, 0, 1], 3).columns.tolist() == [[3, 1], [6, 2], [0, 0]]
    assert mean_measure([1, 3]).columns.tolist() == [[1, 1], [3, 1]]
    assert mean_measure([], [], 2).columns.tolist() == [[0, 0], [0, 0]]


def test_measures_are_told_together_and_none_depends_on_the_others() -> None:
    values = [0.0, 1.0, 5.0, 2.0]
    measured = intervals(
        {
            "mean": mean_measure(values),
            "twice": mean_measure([2 * value for value in values]),
            "none": mean_measure([], [], 4),
            "kappa": kappa_measure(tally([], "ab"), [], 4),
        },
        seed=1,
    )
    mean, twice = measured["mean"], measured["twice"]
    assert mean is not None
    assert twice is not None
    assert twice[:3] == pytest.approx([2 * value for value in mean[:3]])
    assert (mean.value, mean.n, measured["none"], measured["kappa"]) == (2, 4, None, None)
    assert intervals({"mean": mean_measure(values)}, seed=1) == {"mean": mean}
    assert intervals({}) == {}
    assert intervals({"mean": mean_measure([])}) == {"mean": None}


def test_resamples_are_of_rows_and_the_same_for_one_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = np.column_stack([np.arange(6.0), np.ones(6)])
    drawn = resample(columns, seed=3, resamples=500)
    assert drawn.shape == (501, 2)
    assert drawn[0].tolist() == [15, 6]
    assert set(drawn[:, 1]) == {6}
    assert drawn[1:, 0].mean() == pytest.approx(15, abs=1)
    assert (drawn == resample(columns, seed=3, resamples=500)).all()
    assert (drawn != resample(columns, seed=4, resamples=500)).any()
    monkeypatch.setattr("simulator.stats._BLOCK_SIZE", 50)
    assert (drawn == resample(columns, seed=3, resamples=500)).all()
    with pytest.raises(ValueError, match="nothing to resample"):
        resample(np.zeros((0, 2)))


def test_resampled_statistics_are_those_of_the_resampled_ratings() -> None:
    counts, units = np.array(FLEISS_1971, dtype=float), random_units(1, units=10)
    picks = [0, 0, 3, 4, 5, 5, 6, 8, 9, 9]
    weights = np.bincount(picks, minlength=10).astype(float)
    kappa, alpha = kappa_measure(counts), alpha_measure(units, masi_distance)
    statistic = kappa.statistic(weights[None] @ kappa.columns)
    assert statistic.tolist() == [pytest.approx(fleiss_kappa(counts[picks]))]
    statistic = alpha.statistic(weights[None] @ alpha.columns)
    assert statistic.tolist() == [pytest.approx(slow_alpha([units[place] for place in picks], masi_distance))]


def test_intervals_hold_their_value_and_say_of_how_many() -> None:
    interval = fleiss_interval(FLEISS_1971, seed=1)
    assert interval is not None
    assert interval.low < interval.value < interval.high
    assert (interval.value, interval.n) == (fleiss_kappa(FLEISS_1971), 10)
    assert interval == fleiss_interval(FLEISS_1971, seed=1)
    assert interval != fleiss_interval(FLEISS_1971, seed=2)
    units = random_units(2)
    alpha = alpha_interval(units, masi_distance)
    assert alpha is not None
    assert (alpha.value, alpha.n) == (
        krippendorff_alpha(units, masi_distance),
        sum(len(u) > 1 for u in units),
    )


def test_whole_groups_are_resampled() -> None:
    """Every subject twice, in one group: the interval is as wide as that of the subjects once."""
    counts = np.array(FLEISS_1971 * 2, dtype=float)
    once = fleiss_interval(FLEISS_1971, seed=5)
    twice = intervals({"kappa": kappa_measure(counts, [*range(10), *range(10)])}, seed=5)["kappa"]
    assert once is not None
    assert twice is not None
    assert twice[:3] == pytest.approx(once[:3])
    assert (once.n, twice.n) == (10, 20)


def test_undefined_resamples_are_left_out() -> None:
    """A resample of the third row alone is undefined."""
    measure = Measure(np.array([[1.0], [2.0], [0.0]]), lambda sums: np.where(sums > 0, sums, np.nan)[:, 0], 3)
    interval = intervals({"sum": measure}, seed=1)["sum"]
    assert interval is not None
    assert (interval.value, interval.n) == (3, 3)
    assert interval.low >= 1
    undefined = Measure(measure.columns, lambda sums: np.full(len(sums), np.nan), 3)
    assert intervals({"sum": undefined}) == {"sum": None}
    once = Measure(measure.columns, lambda sums: np.array([3.0] + [np.nan] * (len(sums) - 1)), 3)
    assert intervals({"sum": once}) == {"sum": (3, 3, 3, 3)}
