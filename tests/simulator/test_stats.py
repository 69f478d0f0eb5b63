import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from simulator.stats import (
    bootstrap_mean,
    cluster_bootstrap,
    cohen_kappa,
    half_up,
    holm,
    mcnemar,
    paired_bootstrap,
    wilson,
)


def test_wilson_as_in_the_textbook():
    # Newcombe (1998), Table I: 15 of 148 gives 0.0624 to 0.1605; 0 of 20 gives 0 to 0.1611.
    interval = wilson(15, 148)
    assert (interval.low, interval.high) == pytest.approx((0.0624, 0.1605), abs=1e-4)
    none = wilson(0, 20)
    assert (none.value, none.low) == pytest.approx((0, 0))
    assert none.high == pytest.approx(0.1611, abs=1e-4)


@pytest.mark.parametrize(("successes", "n"), [(3, 2), (-1, 2), (0, 0)])
def test_wilson_refuses_what_is_no_proportion(successes, n):
    with pytest.raises(ValueError, match="is not a proportion"):
        wilson(successes, n)


def test_bootstrap_mean_agrees_with_the_normal_interval():
    values = list(np.random.default_rng(1).normal(5, 2, 400))
    interval = bootstrap_mean(values)
    assert interval.value == pytest.approx(np.mean(values))
    assert interval.high - interval.low == pytest.approx(2 * 1.96 * np.std(values) / 20, rel=0.1)
    assert bootstrap_mean(values) == interval


def test_clusters_that_agree_within_widen_the_interval():
    values = [float(cluster % 2) for cluster in range(20) for _ in range(30)]
    clusters = [str(cluster) for cluster in range(20) for _ in range(30)]
    apart, together = bootstrap_mean(values), cluster_bootstrap(values, clusters)
    assert together.value == apart.value == 0.5
    assert together.high - together.low > 3 * (apart.high - apart.low)


def test_unequal_clusters_keep_the_overall_mean():
    interval = cluster_bootstrap([1.0, 1.0, 1.0, 0.0], ["a", "a", "a", "b"])
    assert interval == (0.75, 0, 1, 4)
    weighted = cluster_bootstrap([1.0, 0.0], ["a", "b"], weights=[1, 3])
    assert weighted.value == 0.25


def test_lengths_and_emptiness_are_checked():
    with pytest.raises(ValueError, match="no values"):
        bootstrap_mean([])
    with pytest.raises(ValueError, match="the same length"):
        cluster_bootstrap([1.0], ["a", "b"])
    with pytest.raises(ValueError, match="the same length"):
        paired_bootstrap([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="the same length"):
        mcnemar([True], [])
    with pytest.raises(ValueError, match="the same length"):
        cohen_kappa([], [])


def test_pairs_share_their_noise():
    noise = np.random.default_rng(2).normal(0, 10, 200)
    interval = paired_bootstrap(list(noise), list(noise + 1))
    assert (interval.value, interval.low, interval.high) == pytest.approx((1, 1, 1))


@pytest.mark.parametrize("values", [[0.04, 0.001, 0.03, 0.03, 1.0, 0.5, 0.0], [0.7]])
def test_holm_is_that_of_statsmodels(values):
    assert holm(values) == multipletests(values, method="holm")[1].tolist()


def test_mcnemar_counts_only_the_changes():
    assert mcnemar([True] * 5, [True] * 5) == 1
    # Ten changes, one against: two-sided binomial, 2 * (1 + 10) / 2**10.
    first = [False] * 9 + [True] + [True] * 20
    second = [True] * 9 + [False] + [True] * 20
    assert mcnemar(first, second) == pytest.approx(22 / 1024)


def test_kappa():
    assert cohen_kappa("aabb", "aabb") == 1
    assert cohen_kappa("aaaa", "aaaa") is None
    # Cohen (1960): 0.7 observed, 0.5 by chance.
    first = "y" * 25 + "n" * 25
    second = "y" * 20 + "n" * 5 + "y" * 10 + "n" * 15
    assert cohen_kappa(first, second) == pytest.approx(0.4)


@pytest.mark.each(
    ("number", "digits", "rounded"),
    [
        (57.85, 1, "57.9"),
        (0.25, 1, "0.3"),
        (100 * 0.5785, 1, "57.9"),
        (-0.25, 1, "-0.3"),
        (-0.04, 1, "0.0"),
        (97.58, 1, "97.6"),
        (2.345, 2, "2.35"),
        (12, 0, "12"),
    ],
)
def test_halves_are_rounded_up(number: float, digits: int, rounded: str) -> None:
    assert half_up(number, digits) == rounded
