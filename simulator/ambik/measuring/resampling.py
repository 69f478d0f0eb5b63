"""Bootstrap over pairs of the means of a table (spec 10.1).

Both members of a pair, and all decisions of several people on it, are drawn together: they are not
independent. A mean over drawn pairs is a ratio of two sums (`simulator.resampling`).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from simulator.resampling import RESAMPLES, SHARE, Interval, interval_of, resampled

Floats = NDArray[np.float64]


def cluster_numbers(clusters: Sequence[Hashable]) -> NDArray[np.intp]:
    """Clusters by number, in the order in which they first occur."""
    numbers = {cluster: number for number, cluster in enumerate(dict.fromkeys(clusters))}
    return np.array([numbers[cluster] for cluster in clusters], dtype=np.intp)


def means(
    values: Floats,
    clusters: NDArray[np.intp],
    *,
    counts: Collection[int] = (),
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> list[Interval | None]:
    """Return the mean of every column with a 95 % percentile interval from drawing whole clusters.

    Args:
        values: one row a decision, one column a measure; not a number where it does not count.
        clusters: of the rows (`cluster_numbers`).
        counts: columns that hold counts; the others hold shares (see `interval_of`).
        seed: of the drawing.
        resamples: how many.

    Returns:
        One interval a column, `Interval.n` being the rows that count; None where none does.
    """
    intervals, _ = means_and_macro(values, clusters, (), counts=counts, seed=seed, resamples=resamples)
    return intervals


def means_and_macro(
    values: Floats,
    clusters: NDArray[np.intp],
    macro: Sequence[int],
    *,
    counts: Collection[int] = (),
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> tuple[list[Interval | None], Interval | None]:
    """`means`, and the plain average of the means of some columns.

    Args:
        values: as for `means`.
        clusters: likewise.
        macro: columns whose means are averaged; they hold shares.
        counts: as for `means`.
        seed: of the drawing.
        resamples: how many.

    Returns:
        The columns' intervals, and that of the average; None for the latter if a column of it has no rows.
    """
    counted = ~np.isnan(values)
    rows = counted.sum(axis=0)
    if not values.size:
        return [None] * values.shape[1], None
    top, bottom = (_by_cluster(one, clusters) for one in (np.where(counted, values, 0.0), counted * 1.0))
    pairs = (bottom > 0).sum(axis=0)
    intervals = [
        interval_of(
            _ratios(top[:, [place]], bottom[:, [place]], seed, resamples)[:, 0],
            int(rows[place]),
            groups=int(pairs[place]),
            bounds=None if place in counts else SHARE,
        )
        if rows[place]
        else None
        for place in range(values.shape[1])
    ]
    if not macro or any(not rows[place] for place in macro):
        return intervals, None
    columns = list(macro)
    together = _ratios(top[:, columns], bottom[:, columns], seed, resamples).mean(axis=1)
    # Where nothing varies, no more is known than of the type with the fewest pairs.
    return intervals, interval_of(together, int(rows[columns].sum()), groups=int(pairs[columns].min()))


def _ratios(top: Floats, bottom: Floats, seed: int, resamples: int) -> Floats:
    """Means as they are, then in every resample; a rare type may be missing from one."""
    drawn = resampled(np.hstack([top, bottom]), seed=seed, resamples=resamples)
    with np.errstate(invalid="ignore", divide="ignore"):
        floats: Floats = np.divide(*np.hsplit(drawn, 2))
    return floats


def _by_cluster(values: Floats, clusters: NDArray[np.intp]) -> Floats:
    # Sums are rounded: in one order, they are the same for all orders of rows.
    order, number = np.argsort(values, axis=0), int(clusters.max()) + 1
    columns = [
        np.bincount(clusters[at], column[at], number) for at, column in zip(order.T, values.T, strict=True)
    ]
    return np.column_stack(columns)
