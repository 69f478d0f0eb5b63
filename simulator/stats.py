"""Intervals, paired tests, agreement: the statistics that all benchmarks report.

All functions are pure; those that resample take a seed and give the same numbers every time, whatever the
order of the observations. Whole groups are resampled (items, people, task types): a statistic is a function
of sums over groups, so a resample is a product of matrices and never looks at an observation again. Groups
are put in an order of their own before they are drawn: an interval depends on what was observed and on the
seed, not on the order of rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
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
"""Stands where a single item or person leaves nothing to resample."""
# Numbers held at once, so that memory does not grow with the number of resamples.
_AT_ONCE: Final = 4_000_000
# Drawing how often each different group comes pays where there are few of them.
_ALIKE: Final = 8

Floats = npt.NDArray[np.float64]
Bounds = tuple[float, float]


class Interval(NamedTuple):
    """An estimate with its confidence interval (95 % unless said otherwise).

    Attributes:
        value: the estimate.
        low: lower end; None, as the upper is, where there is no interval (`interval_of`).
        high: upper end.
        n: number of observations.
    """

    value: float
    low: float | None
    high: float | None
    n: int

    @property
    def reach(self) -> Bounds:
        """The ends, for scales and drawings: the estimate itself where there is no interval."""
        return (self.value, self.value) if self.low is None or self.high is None else (self.low, self.high)

    def times(self, factor: float) -> Interval:
        """Return the interval in another unit: of shares in per cent, with a factor of 100."""
        low, high = (None if end is None else factor * end for end in (self.low, self.high))
        return Interval(factor * self.value, low, high, self.n)

    @property
    def missing(self) -> str:
        """The reason for showing no interval (a single item, counts that are all the same), or empty."""
        if self.low is None:
            return "n = 1"
        return "SD = 0" if math.isclose(*self.reach, rel_tol=1e-12) else ""

    def ends(self, write: Callable[[float], str]) -> str:
        """Return both ends in words, each as `write` writes it; a dash where no interval is shown."""
        return NO_INTERVAL if self.missing else ", ".join(map(write, self.reach))

    def bracketed(self, write: Callable[[float], str] = "{:.2f}".format) -> str:
        """Return ``0.53 [0.48, 0.58]``; ``0.53 – (n = 1)`` where no interval is shown (`missing`)."""
        return f"{write(self.value)} {self.in_brackets(write)}"

    def in_brackets(self, write: Callable[[float], str] = "{:.2f}".format) -> str:
        """Return the part of `bracketed` that follows the estimate."""
        return f"{NO_INTERVAL} ({self.missing})" if self.missing else f"[{self.ends(write)}]"


def resampled(columns: Floats, *, seed: int = 0, resamples: int = RESAMPLES) -> Floats:
    """Sum columns as they are (first row), then over every resample of their rows (one row each).

    The order of the rows does not matter.

    `columns`: shape (groups, columns), at least one row.

    Raises:
        ValueError: if there are no rows.
    """
    if not len(columns):
        raise ValueError("there is nothing to resample")
    rows, counts = np.unique(columns, axis=0, return_counts=True)
    sums = [counts[None].astype(float) @ rows]
    if len(rows) * _ALIKE <= len(columns):
        sums += [block @ rows for block in _multinomial(counts, seed, resamples)]
    else:
        every = np.repeat(rows, counts, axis=0)
        sums += [block @ every for block in draws(len(every), seed=seed, resamples=resamples)]
    return np.vstack(sums)


def draws(groups: int, *, seed: int = 0, resamples: int = RESAMPLES) -> Iterator[Floats]:
    """Yield how often each group is drawn, one row a resample, in blocks that memory has room for.

    The blocks together are the same however large one is. Whoever draws groups by themselves puts them in an
    order that does not depend on that of the observations (`resampled` does).
    """
    if 0 < groups * resamples <= _AT_ONCE:
        yield _resampled_counts(groups, seed, resamples)
    else:
        yield from _blocks(groups, seed, resamples)


def interval_of(statistics: Floats, n: int, *, groups: int, bounds: Bounds | None = SHARE) -> Interval | None:
    """Give a statistic its 95 % percentile interval; None where it is undefined.

    Resampling says nothing where all groups are alike, or where there is but one: every resample is the same,
    and 0 of 5 would read [0, 0]. If the statistic has bounds, the interval is then as wide as Wilson's for
    the share of groups that differ, none of `groups` having been seen: for shares it is Wilson's own. One
    group says something only where its statistic is the least or the greatest that there can be, as that of
    a success or a failure is; a count, or a share of several things in one group, has no interval then.

    Args:
        statistics: of the groups as they are, then of every resample; not a number where it is undefined,
            which is left out.
        n: what `Interval.n` is to say.
        groups: how many were resampled.
        bounds: the least and the greatest value that there can be; None where there are none (counts).
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


# A table asks for the same few proportions again and again, and scipy works out a p-value with each.
@lru_cache(maxsize=4096)
def wilson_bounds(successes: int, n: int) -> Bounds:
    """Return the ends of Wilson's score interval of a proportion."""
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
    at_once = max(1, _AT_ONCE // groups)
    for start in range(0, resamples, at_once):
        yield min(at_once, resamples - start)


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
        items: the item of each; by default each is one of its own. Repeats of an item are one cluster, and
            `Interval.n` counts items.
        bounds: see `simulator.stats.interval_of`; None for counts.
        resamples: how many.

    Raises:
        ValueError: if there are no values or the lengths differ.
    """
    clusters = range(len(values)) if items is None else items
    mean = cluster_bootstrap(values, clusters, bounds=bounds, resamples=resamples)
    return mean._replace(n=len(set(clusters)))


def share(holds: Sequence[bool], items: Sequence[Hashable] | None = None) -> Interval:
    """Return a share: Wilson's interval where every item was observed once, else `bootstrap_mean` over items.

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
    """Return the weighted mean with a percentile interval from resampled clusters (task types, people).

    Args:
        values: observations; `Interval.n` counts them.
        clusters: the cluster of each.
        weights: of each; 1 by default. ``sum(w * v) / sum(w)`` is the estimate.
        bounds: see `simulator.stats.interval_of`; None for counts.
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
    sums = resampled(np.column_stack([top, bottom]), resamples=resamples)
    means = np.divide(sums[:, 0], sums[:, 1], out=np.full(len(sums), np.nan), where=sums[:, 1] > 0)
    interval = interval_of(means, len(data), groups=int((bottom > 0).sum()), bounds=bounds)
    if interval is None:
        raise ValueError("the weights add up to nothing")
    return interval


def wilson(successes: int, n: int) -> Interval:
    """Return a proportion with Wilson's score interval.

    Raises:
        ValueError: if `n` is 0 or `successes` is not between 0 and `n`.
    """
    if not 0 <= successes <= n or n == 0:
        raise ValueError(f"{successes} successes out of {n} make no proportion")
    return Interval(successes / n, *wilson_bounds(successes, n), n)


def share_difference(first: Interval, second: Interval) -> Interval:
    """Return ``first - second`` of two shares that do not hang together, with Newcombe's interval.

    His tenth method (1998): the ends of both shares' own intervals are put together, so that each tells as
    much as it has seen. Where a share is of a single item, and so has no interval, there is none either.
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

    `items`: the item of each pair; by default each is one of its own. `Interval.n` counts items. `bounds`: of
    the difference, where both are shares; None for counts and lengths.

    Raises:
        ValueError: if there are no pairs or the lengths differ.
    """
    before, after = _observations(first), _observations(second)
    if len(before) != len(after):
        raise ValueError("a paired comparison needs two lists of one length")
    difference: list[float] = (after - before).tolist()
    shares = all(((side >= 0) & (side <= 1)).all() for side in (before, after))
    bounds = bounds if shares else None
    return bootstrap_mean(difference, items, bounds=bounds)


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


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted by Holm's step-down method, in their order.

    In so many words because statsmodels' `multipletests` collects garbage at each call: half a second in a
    server that has been up for a while.
    """
    values = np.asarray(p_values, dtype=float)
    order = np.argsort(values)
    adjusted = np.empty_like(values)
    adjusted[order] = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)).clip(max=1)
    return [float(value) for value in adjusted]


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Return Cohen's kappa of two annotators on the same things; None if both always say the same one thing.

    Raises:
        ValueError: if there is nothing to compare or the lengths differ.
    """
    if len(first) != len(second) or not first:
        raise ValueError("agreement needs two lists of one length, not empty")
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
