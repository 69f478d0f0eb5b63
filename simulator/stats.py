"""Intervals, paired tests, agreement: the statistics that all benchmarks report.

All functions are pure; those that resample take a seed and give the same numbers every time, whatever the
order of the observations (`simulator.resampling`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from simulator.resampling import (
    LEVEL,
    RESAMPLES,
    SHARE,
    Bounds,
    Floats,
    Interval,
    interval_of,
    resampled,
    wilson_bounds,
)

__all__ = [
    "LEVEL",
    "RESAMPLES",
    "Interval",
    "bootstrap_mean",
    "cluster_bootstrap",
    "cohen_kappa",
    "mcnemar",
    "paired_bootstrap",
    "share",
    "wilson",
]


def bootstrap_mean(
    values: Sequence[float],
    items: Sequence[Hashable] | None = None,
    *,
    bounds: Bounds | None = SHARE,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Interval:
    """Return the mean with a percentile bootstrap interval over items.

    Args:
        values: observations.
        items: the item of each; by default each is one of its own. Repeats of an item are one cluster, and
            `Interval.n` counts items.
        bounds: see `simulator.resampling.interval_of`; None for counts.
        seed: of the resampling.
        resamples: how many.

    Raises:
        ValueError: if there are no values or the lengths differ.
    """
    clusters = range(len(values)) if items is None else items
    mean = cluster_bootstrap(values, clusters, bounds=bounds, seed=seed, resamples=resamples)
    return mean._replace(n=len(set(clusters)))


def share(holds: Sequence[bool], items: Sequence[Hashable] | None = None, *, seed: int = 0) -> Interval:
    """Return a share: Wilson's interval where every item was observed once, else `bootstrap_mean` over items.

    Raises:
        ValueError: if there are no values or the lengths differ.
    """
    if items is None or len(set(items)) == len(items) == len(holds):
        return wilson(sum(map(bool, holds)), len(holds))
    return bootstrap_mean(holds, items, seed=seed)


def cluster_bootstrap(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    weights: Sequence[float] | None = None,
    bounds: Bounds | None = SHARE,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Interval:
    """Return the weighted mean with a percentile interval from resampled clusters (task types, people).

    Args:
        values: observations; `Interval.n` counts them.
        clusters: the cluster of each.
        weights: of each; 1 by default. ``sum(w * v) / sum(w)`` is the estimate.
        bounds: see `simulator.resampling.interval_of`; None for counts.
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
    places = np.array([index[cluster] for cluster in clusters])
    # Sums are rounded: in one order, they are the same for all orders of rows.
    order = np.lexsort((weight, data))
    places, data, weight = places[order], data[order], weight[order]
    top = np.bincount(places, data * weight, len(index))
    bottom = np.bincount(places, weight, len(index))
    sums = resampled(np.column_stack([top, bottom]), seed=seed, resamples=resamples)
    means = np.divide(sums[:, 0], sums[:, 1], out=np.full(len(sums), np.nan), where=sums[:, 1] > 0)
    interval = interval_of(means, len(data), groups=int((bottom > 0).sum()), bounds=bounds)
    if interval is None:
        raise ValueError("the weights add up to nothing")
    return interval


def wilson(successes: int, n: int, *, level: float = LEVEL) -> Interval:
    """Return a proportion with Wilson's score interval.

    Raises:
        ValueError: if `n` is 0 or `successes` is not between 0 and `n`.
    """
    if not 0 <= successes <= n or n == 0:
        raise ValueError(f"{successes} successes out of {n} make no proportion")
    return Interval(successes / n, *wilson_bounds(successes, n, level), n)


def paired_bootstrap(
    first: Sequence[float],
    second: Sequence[float],
    items: Sequence[Hashable] | None = None,
    *,
    bounds: Bounds | None = (-1.0, 1.0),
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Interval:
    """Return the mean of ``second - first`` over pairs, with a percentile bootstrap interval over items.

    Args:
        first: of each pair.
        second: likewise.
        items: the item of each pair; by default each is one of its own. `Interval.n` counts items.
        bounds: of the difference, where both are shares; None for counts and lengths.
        seed: of the resampling.
        resamples: how many.

    Raises:
        ValueError: if there are no pairs or the lengths differ.
    """
    before, after = _observations(first), _observations(second)
    if len(before) != len(after):
        raise ValueError("a paired comparison needs two lists of one length")
    difference: list[float] = (after - before).tolist()
    shares = all(((side >= 0) & (side <= 1)).all() for side in (before, after))
    bounds = bounds if shares else None
    return bootstrap_mean(difference, items, bounds=bounds, seed=seed, resamples=resamples)


def mcnemar(first: Sequence[bool], second: Sequence[bool], items: Sequence[Hashable] | None = None) -> float:
    """Return the two-sided p-value of the exact McNemar test on paired outcomes; 1 if they never differ.

    Args:
        first: of each pair.
        second: likewise.
        items: the item of each pair. The repeats of an item change together: the test is then the exact
            permutation test that exchanges the two sides of whole items, which is McNemar's where no item
            comes twice.

    Raises:
        ValueError: if the lengths differ.
    """
    if len(first) != len(second) or (items is not None and len(items) != len(first)):
        raise ValueError("a paired test needs two lists of one length")
    changes: dict[Hashable, int] = {}
    for item, before, after in zip(items or range(len(first)), first, second, strict=True):
        changes[item] = changes.get(item, 0) + bool(after) - bool(before)
    sizes = [abs(change) for change in changes.values() if change]
    # Of all sums of these changes with either sign: at least as far from none as the one observed.
    chances = np.ones(1)
    for size in sizes:
        chances = np.convolve(chances, [0.5, *[0.0] * (2 * size - 1), 0.5])
    far = np.abs(np.arange(len(chances)) - sum(sizes)) >= abs(sum(changes.values()))
    return min(1.0, float(chances[far].sum()))


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """Return Cohen's kappa of two annotators on the same things; 1 if both always say the same one thing.

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


def _observations(values: Sequence[float]) -> Floats:
    data = np.asarray(values, dtype=float)
    if not len(data):
        raise ValueError("there are no values")
    return data
