"""Bootstrap of whole groups: the one kernel under every resampled interval.

A statistic is a function of sums over groups (items, people, task types), so a resample is a product of
matrices and never looks at an observation again. Groups are put in an order of their own before they are
drawn: an interval depends on what was observed and on the seed, not on the order of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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

    def ends(self, write: Callable[[float], str], between: str = ", ") -> str:
        """Return both ends in words, each as `write` writes it; a dash where there is no interval."""
        return NO_INTERVAL if self.low is None else between.join(map(write, self.reach))

    def bracketed(self, write: Callable[[float], str] = "{:.2f}".format) -> str:
        """Return ``0.53 [0.48, 0.58]``; ``0.53 – (n = 1)``, with its n, where there is no interval."""
        return f"{write(self.value)} {self.in_brackets(write)}"

    def in_brackets(self, write: Callable[[float], str] = "{:.2f}".format) -> str:
        """Return the part of `bracketed` that follows the estimate."""
        return f"{NO_INTERVAL} (n = {self.n})" if self.low is None else f"[{self.ends(write)}]"


def resampled(columns: Floats, *, seed: int = 0, resamples: int = RESAMPLES) -> Floats:
    """Sum columns as they are (first row), then over every resample of their rows (one row each).

    The order of the rows does not matter.

    Args:
        columns: shape (groups, columns), at least one row.
        seed: of the resampling.
        resamples: how many.

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


def totals(columns: Floats) -> Floats:
    """Sum columns over their rows, to the last digit the same for every order: shape (1, columns)."""
    return resampled(columns, resamples=0) if len(columns) else np.zeros((1, columns.shape[1]))


def draws(groups: int, *, seed: int = 0, resamples: int = RESAMPLES) -> Iterator[Floats]:
    """Yield how often each group is drawn, one row a resample, in blocks that memory has room for.

    The blocks together are the same however large one is. Whoever draws groups by themselves puts them in an
    order that does not depend on that of the observations (`resampled` does).
    """
    if 0 < groups * resamples <= _AT_ONCE:
        yield _kept(groups, seed, resamples)
    else:
        yield from _blocks(groups, seed, resamples)


def interval_of(statistics: Floats, n: int, *, groups: int, bounds: Bounds | None = SHARE) -> Interval | None:
    """Give a statistic its 95 % percentile interval; None where it is undefined.

    Resampling says nothing where all groups are alike, or where there is but one: every resample is the same,
    and 0 of 5 would read [0, 0]. If the statistic has bounds, the interval is then as wide as Wilson's for
    the share of groups that differ, none of `groups` having been seen: for shares it is Wilson's own. A
    statistic without bounds (a count) has no interval where there is but one group.

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
    if groups == 1 and not bounded:
        return Interval(value, None, None, n)
    low, high = np.quantile(defined, [tail, 1 - tail]).tolist() if len(defined) else (value, value)
    if bounds is not None and bounded and np.isclose(low, high, rtol=0, atol=1e-12):
        unseen = wilson_bounds(0, groups)[1]
        low, high = value - unseen * (value - bounds[0]), value + unseen * (bounds[1] - value)
    return Interval(value, low, high, n)


# A table asks for the same few proportions again and again, and scipy works out a p-value with each.
@lru_cache(maxsize=4096)
def wilson_bounds(successes: int, n: int, level: float = LEVEL) -> Bounds:
    """Return the ends of Wilson's score interval of a proportion."""
    interval = scipy.stats.binomtest(successes, n).proportion_ci(level, method="wilson")
    return float(interval.low), float(interval.high)


@lru_cache(maxsize=8)
def _kept(groups: int, seed: int, resamples: int) -> Floats:
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
