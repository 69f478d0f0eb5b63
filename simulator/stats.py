"""Confidence intervals, paired tests and agreement: the statistics that all benchmarks report.

All functions are pure. Those that resample use a fixed seed, and their result does not depend on the order of
the observations, because groups are sorted before they are drawn. Resampling is by group (item, person, task
type): a statistic is a function of sums over groups, so a resample is a matrix product and the individual
observations are not revisited.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

LEVEL: Final = 0.95
RESAMPLES: Final = 2000
SHARE: Final = (0.0, 1.0)
"""The range of a share."""
NO_INTERVAL: Final = "–"
"""Shown instead of an interval where a single item or person leaves nothing to resample."""
# Numbers per block of resamples, so that memory does not grow with the number of resamples.
_BLOCK_SIZE: Final = 4_000_000
# Groups per distinct row above which drawing the count of each distinct row is faster.
_REPETITION: Final = 8

_LARGE: Final = 1e15

Floats = npt.NDArray[np.float64]
Bounds = tuple[float, float]


def half_up(number: float, digits: int = 2) -> str:
    """Round a number half up, as papers do, after removing binary errors below 1e-9."""
    if not abs(number) < _LARGE:
        return f"{number:.{digits}f}"
    exact = Decimal(repr(round(float(number), 9)))
    rounded = exact.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP)
    return f"{abs(rounded) if rounded == 0 else rounded:.{digits}f}"


class Interval(NamedTuple):
    """An estimate with its 95 % confidence interval.

    Attributes:
        low: lower end; None if there is no interval (see `interval_of`).
        high: upper end; None if there is no interval.
        n: number of observations.
    """

    value: float
    low: float | None
    high: float | None
    n: int

    @property
    def reach(self) -> Bounds:
        """Both ends, for axes and drawings; without an interval, the estimate twice."""
        return (self.value, self.value) if self.low is None or self.high is None else (self.low, self.high)

    def times(self, factor: float) -> Interval:
        """Return the interval multiplied by a factor, such as 100 for per cent."""
        low, high = (None if end is None else factor * end for end in (self.low, self.high))
        return Interval(factor * self.value, low, high, self.n)

    @property
    def missing(self) -> str:
        """The reason for showing no interval (a single item, or no variance); empty if one is shown."""
        if self.low is None:
            return "n = 1"
        return "SD = 0" if math.isclose(*self.reach, rel_tol=1e-12) else ""

    def ends(self, write: Callable[[float], str]) -> str:
        """Return both ends, each formatted by `write`; a dash if no interval is shown."""
        return NO_INTERVAL if self.missing else ", ".join(map(write, self.reach))

    def bracketed(self, write: Callable[[float], str] = half_up) -> str:
        """Return ``0.53 [0.48, 0.58]``; ``0.53 – (n = 1)`` if no interval is shown (`missing`)."""
        return f"{write(self.value)} {self.in_brackets(write)}"

    def in_brackets(self, write: Callable[[float], str] = half_up) -> str:
        """Return the part of `bracketed` after the estimate."""
        return f"{NO_INTERVAL} ({self.missing})" if self.missing else f"[{self.ends(write)}]"


def resample(columns: Floats, *, seed: int = 0, resamples: int = RESAMPLES) -> Floats:
    """Return column sums of the data (first row) and of each bootstrap resample of its rows (one row each).

    The order of the rows does not matter.

    `columns`: shape (groups, columns), at least one row. The result has shape (1 + resamples, columns).

    Raises:
        ValueError: if there are no rows.
    """
    if not len(columns):
        raise ValueError("there is nothing to resample")
    rows, counts = np.unique(columns, axis=0, return_counts=True)
    sums = [counts[None].astype(float) @ rows]
    if len(rows) * _REPETITION <= len(columns):
        sums += [block @ rows for block in _multinomial(counts, seed, resamples)]
    else:
        sorted_rows = np.repeat(rows, counts, axis=0)
        blocks = resample_counts(len(sorted_rows), seed=seed, resamples=resamples)
        sums += [block @ sorted_rows for block in blocks]
    return np.vstack(sums)


def resample_counts(groups: int, *, seed: int = 0, resamples: int = RESAMPLES) -> Iterator[Floats]:
    """Yield how often each group is drawn, one row per resample, in blocks of bounded size.

    The draws do not depend on the block size. Callers must sort their groups, so that the result does not
    depend on the order of the observations; `resample` does.
    """
    if 0 < groups * resamples <= _BLOCK_SIZE:
        yield _resampled_counts(groups, seed, resamples)
    else:
        yield from _blocks(groups, seed, resamples)


def interval_of(statistics: Floats, n: int, *, groups: int, bounds: Bounds | None = SHARE) -> Interval | None:
    """Return a statistic with its 95 % percentile interval; None if it is undefined.

    If all groups are equal, every resample is the same, and 0 of 5 would read [0, 0]. For a bounded statistic
    the interval is then as wide as Wilson's for 0 of `groups` differing groups; for shares that is Wilson's
    own. A single group has an interval only if its statistic is at a bound, as a success or a failure is; a
    count, or a share of several observations within one group, has none.

    Args:
        statistics: the observed value, then that of each resample; NaN if undefined (such resamples are
            ignored).
        n: the value of `Interval.n`.
        groups: number of groups resampled.
        bounds: smallest and largest possible value; None if unbounded (counts).
    """
    value, drawn = float(statistics[0]), statistics[1:]
    if not np.isfinite(value):
        return None
    defined = drawn[np.isfinite(drawn)]
    tail = (1 - LEVEL) / 2
    bounded = bounds is not None and bounds[0] <= value <= bounds[1]
    extreme = bounds is not None and bool(np.isclose(value, bounds, rtol=0, atol=1e-12).any())
    if groups == 1 and not extreme:
        return Interval(value, None, None, n)
    low, high = np.quantile(defined, [tail, 1 - tail]).tolist() if len(defined) else (value, value)
    if bounds is not None and bounded and np.isclose(low, high, rtol=0, atol=1e-12):
        unseen = wilson_bounds(0, groups)[1]
        low, high = value - unseen * (value - bounds[0]), value + unseen * (bounds[1] - value)
    return Interval(value, low, high, n)


# Tables ask for the same few proportions repeatedly, and scipy computes a p-value each time.
@lru_cache(maxsize=4096)
def wilson_bounds(successes: int, n: int) -> Bounds:
    """Return the ends of the Wilson score interval of a proportion."""
    interval = scipy.stats.binomtest(successes, n).proportion_ci(LEVEL, method="wilson")
    return float(interval.low), float(interval.high)


@lru_cache(maxsize=8)
def _resampled_counts(groups: int, seed: int, resamples: int) -> Floats:
    counts = np.vstack(list(_blocks(groups, seed, resamples)))
    counts.flags.writeable = False
    return counts


def _blocks(groups: int, seed: int, resamples: int) -> Iterator[Floats]:
    generator = np.random.default_rng(seed)
    for size in _sizes(groups, resamples):
        picks = generator.integers(0, groups, size=(size, groups)) + np.arange(size)[:, None] * groups
        yield np.bincount(picks.ravel(), minlength=size * groups).reshape(size, groups).astype(float)


def _multinomial(counts: npt.NDArray[np.intp], seed: int, resamples: int) -> Iterator[Floats]:
    generator, total = np.random.default_rng(seed), int(counts.sum())
    for size in _sizes(len(counts), resamples):
        yield generator.multinomial(total, counts / total, size=size).astype(float)


def _sizes(groups: int, resamples: int) -> Iterator[int]:
    block = max(1, _BLOCK_SIZE // groups)
    for start in range(0, resamples, block):
        yield min(block, resamples - start)


def bootstrap_mean(
    values: Sequence[float],
    items: Sequence[Hashable] | None = None,
    *,
    bounds: Bounds | None = SHARE,
    resamples: int = RESAMPLES,
) -> Interval:
    """Return the mean with a percentile bootstrap interval over items.

    Args:
        values: observations.
        items: the item of each; by default each observation is a separate item. Repeats of an item are one
            cluster, and `Interval.n` counts items.
        bounds: see `interval_of`; None for counts.
        resamples: number of bootstrap resamples.

    Raises:
        ValueError: if there are no values or the lengths differ.
    """
    clusters = range(len(values)) if items is None else items
    mean = cluster_bootstrap(values, clusters, bounds=bounds, resamples=resamples)
    return mean._replace(n=len(set(clusters)))


def share(holds: Sequence[bool], items: Sequence[Hashable] | None = None) -> Interval:
    """Return a share with Wilson's interval, or with `bootstrap_mean` over items if items are repeated.

    Raises:
        ValueError: if there are no values or the lengths differ.
    """
    if items is None or len(set(items)) == len(items) == len(holds):
        return wilson(sum(map(bool, holds)), len(holds))
    return bootstrap_mean(holds, items)


def cluster_bootstrap(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    weights: Sequence[float] | None = None,
    bounds: Bounds | None = SHARE,
    resamples: int = RESAMPLES,
) -> Interval:
    """Return the weighted mean with a percentile interval, resampling clusters (task types, people).

    Args:
        values: observations; `Interval.n` counts them.
        clusters: the cluster of each.
        weights: the weight of each; 1 by default. ``sum(w * v) / sum(w)`` is the estimate.
        bounds: see `interval_of`; None for counts.
        resamples: number of bootstrap resamples.

    Raises:
        ValueError: if there are no values or the lengths differ.
    """
    data = _observations(values)
    weight = np.ones_like(data) if weights is None else np.asarray(weights, dtype=float)
    if not len(data) == len(clusters) == len(weight):
        raise ValueError("values, clusters and weights must have the same length")
    index = {cluster: number for number, cluster in enumerate(dict.fromkeys(clusters))}
    labels = np.array([index[cluster] for cluster in clusters])
    # Floating-point sums depend on the order of the terms, so the observations are sorted first.
    order = np.lexsort((weight, data))
    labels, data, weight = labels[order], data[order], weight[order]
    top = np.bincount(labels, data * weight, len(index))
    bottom = np.bincount(labels, weight, len(index))
    sums = resample(np.column_stack([top, bottom]), resamples=resamples)
    means = np.divide(sums[:, 0], sums[:, 1], out=np.full(len(sums), np.nan), where=sums[:, 1] > 0)
    interval = interval_of(means, len(data), groups=int((bottom > 0).sum()), bounds=bounds)
    if interval is None:
        raise ValueError("the weights sum to zero")
    return interval


def wilson(successes: int, n: int) -> Interval:
    """Return a proportion with Wilson's score interval.

    Raises:
        ValueError: if `n` is 0 or `successes` is not between 0 and `n`.
    """
    if not 0 <= successes <= n or n == 0:
        raise ValueError(f"{successes} successes out of {n} is not a proportion")
    return Interval(successes / n, *wilson_bounds(successes, n), n)


def share_difference(first: Interval, second: Interval) -> Interval:
    """Return ``first - second`` of two independent shares with Newcombe's interval.

    Method 10 of Newcombe (1998), which combines the ends of the two shares' own intervals. If either share
    has no interval (a single item), neither has the difference.
    """
    value, n = first.value - second.value, first.n + second.n
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return Interval(value, None, None, n)
    down = np.hypot(first.value - first.low, second.high - second.value)
    up = np.hypot(first.high - first.value, second.value - second.low)
    return Interval(value, float(value - down), float(value + up), n)


def paired_bootstrap(
    first: Sequence[float],
    second: Sequence[float],
    items: Sequence[Hashable] | None = None,
    *,
    bounds: Bounds | None = (-1.0, 1.0),
) -> Interval:
    """Return the mean of ``second - first`` over pairs, with a percentile bootstrap interval over items.

    `items`: the item of each pair; by default each pair is a separate item. `Interval.n` counts items.
    `bounds`: of the difference, used if both sides are shares; None for counts and lengths.

    Raises:
        ValueError: if there are no pairs or the lengths differ.
    """
    before, after = _observations(first), _observations(second)
    if len(before) != len(after):
        raise ValueError("a paired comparison needs two lists of the same length")
    difference: list[float] = (after - before).tolist()
    shares = all(((side >= 0) & (side <= 1)).all() for side in (before, after))
    return bootstrap_mean(difference, items, bounds=bounds if shares else None)


def mcnemar(first: Sequence[bool], second: Sequence[bool], items: Sequence[Hashable] | None = None) -> float:
    """Return the two-sided p-value of the exact McNemar test on paired outcomes; 1 if they never differ.

    Args:
        first: the first outcome of each pair.
        second: the second outcome of each pair.
        items: the item of each pair. With repeated items the test is the exact permutation test that swaps
            the two sides of all pairs of an item together; it equals McNemar's if no item is repeated.

    Raises:
        ValueError: if the lengths differ.
    """
    if len(first) != len(second) or (items is not None and len(items) != len(first)):
        raise ValueError("a paired test needs two lists of the same length")
    changes: dict[Hashable, int] = {}
    for item, before, after in zip(items or range(len(first)), first, second, strict=True):
        changes[item] = changes.get(item, 0) + bool(after) - bool(before)
    sizes = [abs(change) for change in changes.values() if change]
    # Null distribution of the summed changes under random signs; the middle entry is a sum of zero.
    chances = np.ones(1)
    for size in sizes:
        chances = np.convolve(chances, [0.5, *[0.0] * (2 * size - 1), 0.5])
    far = np.abs(np.arange(len(chances)) - sum(sizes)) >= abs(sum(changes.values()))
    return min(1.0, float(chances[far].sum()))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted by Holm's step-down method, in the order given.

    Not statsmodels' `multipletests`, which runs the garbage collector on each call: half a second in a
    long-running server.
    """
    values = np.asarray(p_values, dtype=float)
    order = np.argsort(values)
    adjusted = np.empty_like(values)
    adjusted[order] = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)).clip(max=1)
    return [float(value) for value in adjusted]


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Return Cohen's kappa of two annotators; None if both give one and the same label throughout.

    Raises:
        ValueError: if there is nothing to compare or the lengths differ.
    """
    if len(first) != len(second) or not first:
        raise ValueError("agreement needs two non-empty lists of the same length")
    n = len(first)
    observed = sum(a == b for a, b in zip(first, second, strict=True)) / n
    labels = set(first) | set(second)
    expected = sum((first.count(label) / n) * (second.count(label) / n) for label in labels)
    return None if expected == 1 else (observed - expected) / (1 - expected)


def _observations(values: Sequence[float]) -> Floats:
    data = np.asarray(values, dtype=float)
    if not len(data):
        raise ValueError("there are no values")
    return data
