"""Intervals, paired tests, agreement: the statistics that all benchmarks report.

All functions are pure; those that resample take a seed and give the same numbers every time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

LEVEL = 0.95
RESAMPLES = 2000

Floats = npt.NDArray[np.float64]


class Interval(NamedTuple):
    """An estimate with its confidence interval (95 % unless said otherwise).

    Attributes:
        value: the estimate.
        low: lower end.
        high: upper end.
        n: number of observations.
    """

    value: float
    low: float
    high: float
    n: int


def bootstrap_mean(values: Sequence[float], *, seed: int = 0, resamples: int = RESAMPLES) -> Interval:
    """Mean with a percentile bootstrap interval.

    Raises:
        ValueError: if there are no values.
    """
    data = _observations(values)
    picks = np.random.default_rng(seed).integers(0, len(data), size=(resamples, len(data)))
    return _percentile(float(data.mean()), data[picks].mean(axis=1), len(data))


def cluster_bootstrap(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    weights: Sequence[float] | None = None,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Interval:
    """Weighted mean with a percentile interval from resampling whole clusters (task types, people).

    Args:
        values: observations.
        clusters: the cluster of each.
        weights: of each; 1 by default. ``sum(w * v) / sum(w)`` is the estimate.
        seed: of the resampling.
        resamples: how many.

    Raises:
        ValueError: if there are no values or the lengths differ.
    """
    data = _observations(values)
    weight = np.ones_like(data) if weights is None else np.asarray(weights, dtype=float)
    if not len(data) == len(clusters) == len(weight):
        raise ValueError("values, clusters and weights must be of one length")
    index = {cluster: number for number, cluster in enumerate(dict.fromkeys(clusters))}
    of = np.array([index[cluster] for cluster in clusters])
    top = np.bincount(of, data * weight, len(index))
    bottom = np.bincount(of, weight, len(index))
    picks = np.random.default_rng(seed).integers(0, len(index), size=(resamples, len(index)))
    means = top[picks].sum(axis=1) / np.maximum(bottom[picks].sum(axis=1), np.finfo(float).tiny)
    return _percentile(float(top.sum() / bottom.sum()), means, len(data))


# A table asks for the same few proportions again and again, and scipy works out a p-value with each.
@lru_cache(maxsize=4096)
def wilson(successes: int, n: int, *, level: float = LEVEL) -> Interval:
    """A proportion with Wilson's score interval.

    Raises:
        ValueError: if `n` is 0 or `successes` is not between 0 and `n`.
    """
    if not 0 <= successes <= n or n == 0:
        raise ValueError(f"{successes} successes out of {n} make no proportion")
    interval = scipy.stats.binomtest(successes, n).proportion_ci(level, method="wilson")
    return Interval(successes / n, float(interval.low), float(interval.high), n)


def paired_bootstrap(
    first: Sequence[float], second: Sequence[float], *, seed: int = 0, resamples: int = RESAMPLES
) -> Interval:
    """Mean of ``second - first`` over pairs, with a percentile bootstrap interval.

    Raises:
        ValueError: if there are no pairs or the lengths differ.
    """
    one, two = _observations(first), _observations(second)
    if len(one) != len(two):
        raise ValueError("a paired comparison needs two lists of one length")
    difference: list[float] = (two - one).tolist()
    return bootstrap_mean(difference, seed=seed, resamples=resamples)


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> float:
    """Two-sided p-value of the exact McNemar test on paired yes/no outcomes; 1 if they never differ.

    Raises:
        ValueError: if the lengths differ.
    """
    if len(first) != len(second):
        raise ValueError("a paired test needs two lists of one length")
    gained = sum(b and not a for a, b in zip(first, second, strict=True))
    lost = sum(a and not b for a, b in zip(first, second, strict=True))
    if gained + lost == 0:
        return 1.0
    return float(scipy.stats.binomtest(gained, gained + lost).pvalue)


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """Cohen's kappa of two annotators on the same things; 1 if both always say the same one thing.

    Raises:
        ValueError: if there is nothing to compare or the lengths differ.
    """
    if len(first) != len(second) or not first:
        raise ValueError("agreement needs two lists of one length, not empty")
    n = len(first)
    observed = sum(a == b for a, b in zip(first, second, strict=True)) / n
    labels = set(first) | set(second)
    expected = sum((first.count(label) / n) * (second.count(label) / n) for label in labels)
    return 1.0 if expected == 1 else (observed - expected) / (1 - expected)


def bootstrap(
    n: int, statistic: Callable[[npt.NDArray[np.intp]], float], *, seed: int = 0, resamples: int = RESAMPLES
) -> Interval:
    """Any statistic of `n` observations, given their indices, with a percentile bootstrap interval.

    Raises:
        ValueError: if there are no observations.
    """
    if n == 0:
        raise ValueError("there are no values")
    generator = np.random.default_rng(seed)
    drawn = np.array([statistic(generator.integers(0, n, size=n)) for _ in range(resamples)])
    return _percentile(statistic(np.arange(n)), drawn, n)


def _observations(values: Sequence[float]) -> Floats:
    data = np.asarray(values, dtype=float)
    if not len(data):
        raise ValueError("there are no values")
    return data


def _percentile(value: float, drawn: Floats, n: int) -> Interval:
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return Interval(value, float(low), float(high), n)
