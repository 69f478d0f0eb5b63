"""Bootstrap over pairs of the means of columns (spec 10.1).

Both members of a pair, and all decisions of several people on it, are drawn together: they are not
independent. A mean over drawn pairs is a ratio of two sums (`simulator.stats`).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from simulator.stats import RESAMPLES, SHARE, Floats, Interval, cluster_bootstrap, interval_of, resampled

K = TypeVar("K", bound=Hashable)


def means(
    columns: Mapping[K, Sequence[float | None]],
    clusters: Sequence[Hashable],
    *,
    counts: Collection[K] = (),
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> dict[K, Interval | None]:
    """Return the mean of every column with a 95 % percentile interval from drawing whole clusters.

    Args:
        columns: a measure of every decision; None, or not a number, where it does not count.
        clusters: of the decisions.
        counts: columns that hold counts; the others hold shares (see `interval_of`).
        seed: of the drawing.
        resamples: how many.

    Returns:
        By column, `Interval.n` being the decisions that count; None where none does.
    """
    intervals: dict[K, Interval | None] = {}
    for name, column in columns.items():
        values, counted = _counted(column)
        intervals[name] = None
        if counted.any():
            interval = cluster_bootstrap(
                values.tolist(),
                clusters,
                weights=counted.tolist(),
                bounds=None if name in counts else SHARE,
                seed=seed,
                resamples=resamples,
            )
            intervals[name] = interval._replace(n=int(counted.sum()))
    return intervals


def mean_of_means(
    columns: Sequence[Sequence[float | None]], clusters: Sequence[Hashable], *, seed: int = 0
) -> Interval | None:
    """Return the plain average of the means of columns of shares; None if one has no values."""
    parts = [_counted(column) for column in columns]
    if not parts or not all(counted.any() for _, counted in parts):
        return None
    numbers = {cluster: number for number, cluster in enumerate(dict.fromkeys(clusters))}
    places = np.array([numbers[cluster] for cluster in clusters])
    sums = []
    for part in (0, 1):
        for values, counted in parts:
            order = np.argsort(values)  # sums are rounded: in one order, they are the same for all orders
            sums.append(np.bincount(places[order], (values, counted)[part][order], len(numbers)))
    table: Floats = np.column_stack(sums)
    drawn = resampled(table, seed=seed)
    with np.errstate(invalid="ignore", divide="ignore"):  # a rare type may be missing from a resample
        together = np.divide(*np.hsplit(drawn, 2)).mean(axis=1)
    rows = sum(int(counted.sum()) for _, counted in parts)
    # Where nothing varies, no more is known than of the type with the fewest pairs.
    groups = int((table[:, len(parts) :] > 0).sum(axis=0).min())
    return interval_of(together, rows, groups=groups)


def _counted(column: Sequence[float | None]) -> tuple[Floats, Floats]:
    """Return values, 0 where there is none, and 1 where there is one."""
    values = np.array(column, dtype=float)
    counted = ~np.isnan(values)
    return np.where(counted, values, 0.0), counted.astype(float)
