"""Split conformal prediction on numbers: ranks, thresholds, guarantees and observed coverage."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

from simulator.ambik import conformal
from simulator.ambik.conformal import caution

QUIET = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
scores = st.lists(st.floats(0, 1), min_size=1, max_size=60)
targets = st.integers(0, 1000).map(lambda thousandths: Fraction(thousandths, 1000))
quantiles = st.sampled_from(["exact", "numpy_higher", "numpy_linear"])


def brute_rank(n: int, target: Fraction) -> int:
    """The smallest whole number that is at least (n + 1) times the target, found by counting."""
    rank = 0
    while rank * target.denominator < (n + 1) * target.numerator:
        rank += 1
    return rank


@QUIET
@given(st.integers(0, 400), targets)
def test_the_rank_is_exact_for_any_type_of_target(n: int, target: Fraction) -> None:
    rank = brute_rank(n, target)
    as_float = float(target)
    assert conformal.rank(n, 1 - target) == rank
    assert conformal.rank(n, 1 - as_float) == rank
    assert conformal.rank(n, conformal.epsilon_of(as_float)) == rank
    assert conformal.rank(n, conformal.epsilon_of(str(as_float))) == rank
    assert conformal.rank(n, conformal.epsilon_of(Decimal(str(as_float)))) == rank


@pytest.mark.each(
    ("n", "target", "rank"),
    [(100, 0.8, 81), (99, 0.8, 80), (4, 0.8, 4), (3, 0.8, 4), (9, 0.9, 9), (19, 0.7, 14), (0, 0.8, 1)],
)
def test_known_ranks(n: int, target: float, rank: int) -> None:
    assert conformal.rank(n, 1 - target) == rank


def test_a_share_is_between_0_and_1() -> None:
    for wrong in (-0.1, 1.1, "2"):
        with pytest.raises(ValueError, match="is not a share"):
            conformal.exact(wrong)


def test_the_threshold_of_a_hundred_is_the_81st_and_by_numpys_higher_rule_the_82nd() -> None:
    values = [place / 100 for place in range(1, 101)]
    assert conformal.threshold(values[::-1], 0.2) == 0.81
    assert conformal.threshold(values, 0.2, "numpy_higher") == 0.82
    assert conformal.threshold(values, 0.2, "numpy_linear") == pytest.approx(0.8119)
    assert [conformal.order(100, 0.2, rule) for rule in ("exact", "numpy_higher", "numpy_linear")] == [
        81,
        82,
        81,
    ]


@QUIET
@given(scores, st.integers(0, 99).map(lambda hundredths: Fraction(hundredths, 100)))
def test_numpys_quantiles_are_numpys(values: list[float], target: Fraction) -> None:
    rank, n = brute_rank(len(values), target), len(values)
    for rule, method in (("numpy_higher", "higher"), ("numpy_linear", "linear")):
        threshold = conformal.threshold(values, 1 - target, rule)
        if rank > n:
            assert threshold == math.inf
        elif rank == 0:
            assert threshold == -math.inf
        elif (n - 1) * rank % n or rule == "numpy_linear":  # whole places are subject to NumPy's own rounding
            assert threshold == pytest.approx(float(np.quantile(values, rank / n, method=method)), abs=1e-9)
        else:
            assert threshold == sorted(values)[(n - 1) * rank // n]


@QUIET
@given(scores, targets)
def test_the_exact_threshold_is_the_smallest_value_with_enough_at_most_it(
    values: list[float], target: Fraction
) -> None:
    rank = brute_rank(len(values), target)
    threshold = conformal.threshold(values, 1 - target)
    enough = [value for value in values if sum(other <= value for other in values) >= rank]
    assert threshold == (min(enough, default=math.inf) if rank else -math.inf)


@QUIET
@given(scores, st.lists(st.floats(0, 1), max_size=8), targets, targets, quantiles)
def test_sets_grow_as_epsilon_shrinks(
    values: list[float], candidates: list[float], first: Fraction, other: Fraction, rule: conformal.Quantile
) -> None:
    large, small = sorted((first, other), reverse=True)
    loose, strict = (conformal.threshold(values, epsilon, rule) for epsilon in (small, large))
    assert strict <= loose
    assert all(value <= loose for value in candidates if value <= strict)


def test_the_threshold_of_ties_is_their_value() -> None:
    q_hat = conformal.threshold([0.5, 0.5, 0.5, 0.5, 0.9], 0.4)
    assert q_hat == 0.5


def test_too_few_items_put_everything_into_the_set() -> None:
    q_hat = conformal.threshold([0.1, 0.2, 0.3], 0.2)
    assert q_hat == math.inf
    assert conformal.threshold([], 0.2) == math.inf
    assert conformal.threshold([0.1, 0.2], 1.0) == -math.inf


def test_infinite_nonconformities_are_ranked_and_interpolated() -> None:
    values = [0.1, math.inf, math.inf, 0.2, math.inf]
    assert conformal.threshold(values, 0.5, "exact") == math.inf
    assert conformal.threshold(values, 0.5, "numpy_linear") == math.inf
    assert conformal.threshold(values, 0.9, "numpy_linear") == pytest.approx(0.18)
    assert conformal.threshold(values, 0.8, "numpy_linear") == math.inf
    with pytest.raises(ValueError, match="is NaN"):
        conformal.threshold([0.1, math.nan], 0.2)


@settings(QUIET, max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(5, 60), st.sampled_from([0.1, 0.2, 0.35]), quantiles)
def test_exchangeable_scores_are_covered_as_promised(
    seed: int, n: int, epsilon: float, rule: conformal.Quantile
) -> None:
    trials, n_test = 400, 20
    draw = np.random.default_rng(seed)
    # Whatever the distribution: the ranks alone matter, so a strange one is as good as any.
    sample = draw.standard_cauchy((trials, n + n_test)) ** 3
    q_hats = [conformal.threshold(row[:n].tolist(), epsilon, rule) for row in sample]
    covered = (sample[:, n:] <= np.array(q_hats)[:, None]).sum(axis=1)
    rank = conformal.order(n, epsilon, rule)
    low, high = conformal.guarantee(n, epsilon, rule)
    if rank > n:
        assert (covered == n_test).all()
        return
    law = stats.betabinom(n_test, rank, n + 1 - rank)
    spread = 5 * math.sqrt(float(law.var()) / trials) / n_test
    if rule == "numpy_linear":
        spread += 1 / (n + 1)
    assert low - spread <= covered.mean() / n_test <= high + spread


def test_coverage_over_calibrations_follows_the_beta_binomial_law() -> None:
    n, n_test, trials, epsilon = 30, 25, 4000, 0.2
    draw = np.random.default_rng(7)
    sample = draw.random((trials, n + n_test))
    q_hats = [conformal.threshold(row[:n].tolist(), epsilon) for row in sample]
    covered = (sample[:, n:] <= np.array(q_hats)[:, None]).sum(axis=1)
    rank = conformal.rank(n, epsilon)
    expected = stats.betabinom(n_test, rank, n + 1 - rank).pmf(np.arange(n_test + 1)) * trials
    observed = np.bincount(covered, minlength=n_test + 1)
    likely = expected >= 5
    together = [*observed[likely], observed[~likely].sum()]
    assert stats.chisquare(together, [*expected[likely], expected[~likely].sum()]).pvalue > 1e-4
    low, high = conformal.beta_binomial_range(n, epsilon, n_test)
    assert 0.94 < np.mean((covered / n_test >= low) & (covered / n_test <= high)) <= 1


@QUIET
@given(st.integers(0, 300), st.integers(1, 300))
def test_clopper_pearson_is_scipys(covered: int, n: int) -> None:
    covered = min(covered, n)
    coverage = conformal.coverage(covered, n)
    expected = stats.binomtest(covered, n).proportion_ci(0.95, method="exact")
    assert coverage.value == covered / n and coverage.n == n
    assert (coverage.low, coverage.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_what_is_promised_of_a_hundred_items() -> None:
    assert conformal.guarantee(100, 0.2) == pytest.approx((0.8, 0.8 + 1 / 101))
    assert conformal.guarantee(100, 0.2, "numpy_higher") == pytest.approx((0.8, 82 / 101))
    assert conformal.guarantee(3, 0.2) == (0.8, 1.0)
    low, high = conformal.beta_range(100, 0.2)
    law = stats.beta(81, 20)
    assert (low, high) == pytest.approx((law.ppf(0.025), law.ppf(0.975)))
    assert conformal.beta_range(3, 0.2) == (1, 1)
    assert conformal.beta_range(3, 1) == (0, 0)
    assert conformal.beta_binomial_range(3, 0.2, 10) == (1, 1)


@QUIET
@given(st.integers(2, 99).map(lambda hundredths: Fraction(hundredths, 100)))
def test_the_fewest_items_are_the_fewest(epsilon: Fraction) -> None:
    n = conformal.fewest_items(epsilon)
    assert conformal.rank(n, epsilon) <= n or n == 0
    assert n == 0 or conformal.rank(n - 1, epsilon) > n - 1


def test_warnings_name_what_is_wrong_and_the_way_out() -> None:
    assert conformal.warnings(100, 0.2) == ()
    assert conformal.warnings(3, 0.2) == (caution("too_few", n=3, epsilon=0.2, least=4),)
    assert conformal.warnings(50, 0) == (caution("target_of_one"),)
    (wide,) = conformal.warnings(20, 0.2)
    low, high = conformal.beta_range(20, 0.2)
    more = conformal.items_to_halve(20, 0.2)
    assert wide == caution("wide", n=20, low=low, high=high, more=more)
    assert conformal.beta_range(more, 0.2).width <= (high - low) / 2
    assert conformal.warnings(100, 0.2, without=20) == (caution("without", without=20, n=100, most=19),)
    assert conformal.warnings(100, 0.2, without=19) == ()
    assert conformal.warnings(100, 0.2, without=19, quantile="numpy_higher")


@QUIET
@given(st.lists(st.one_of(st.floats(-1e6, 1e6), st.just(math.inf)), max_size=40))
def test_histograms_hold_every_value(values: list[float]) -> None:
    edges, counts, infinite = conformal.histogram(values).values()
    assert sum(counts) + infinite == len(values)
    assert len(edges) == len(counts) + bool(counts)
    assert list(edges) == sorted(edges)


def test_a_histogram_has_its_values_in_their_bins() -> None:
    edges, counts, infinite = conformal.histogram([0.0, 0.09, 0.51, 0.9, 1.0, math.inf]).values()
    assert edges == pytest.approx([place / 20 for place in range(21)])
    assert [place for place, count in enumerate(counts) for _ in range(count)] == [0, 1, 10, 18, 19]
    assert infinite == 1
