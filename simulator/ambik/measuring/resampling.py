"""Bootstrap over pairs of many means at once: one drawing of pairs, one product of matrices (spec 10.1).

Both members of a pair, and all decisions of several people on it, are drawn together: they are not
independent. A mean over drawn pairs is a ratio of two sums, so all measures of a table cost as much as one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simulator.stats import LEVEL, RESAMPLES, Interval

Floats = NDArray[np.float64]
BLOCK = 1 << 23
"""Draws that are held at once: 64 MiB of numbers."""


def cluster_numbers(clusters: Sequence[Hashable]) -> NDArray[np.intp]:
    """Clusters by number, in the order in which they first occur."""
    numbers = {cluster: number for number, cluster in enumerate(dict.fromkeys(clusters))}
    return np.array([numbers[cluster] for cluster in clusters], dtype=np.intp)


def means(
    values: Floats,
    clusters: NDArray[np.intp],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> list[Interval | None]:
    """The mean of every column with a 95 % percentile interval from drawing whole clusters.

    Args:
        values: one row a decision, one column a measure; not a number where it does not count.
        clusters: of the rows (`cluster_numbers`).
        seed: of the drawing.
        resamples: how many.

    Returns:
        One interval a column, `Interval.n` being the rows that count; None where none does.
    """
    found, _ = means_and_macro(values, clusters, (), seed=seed, resamples=resamples)
    return found


def means_and_macro(
    values: Floats,
    clusters: NDArray[np.intp],
    macro: Sequence[int],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> tuple[list[Interval | None], Interval | None]:
    """`means`, and the plain average of the means of some columns.

    Args:
        values: as for `means`.
        clusters: likewise.
        macro: columns whose means are averaged.
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
    with np.errstate(invalid="ignore", divide="ignore"):
        blocks = _drawn(len(top), seed, resamples)
        ratios = np.concatenate([(drawn @ top) / (drawn @ bottom) for drawn in blocks])
        points = top.sum(axis=0) / bottom.sum(axis=0)
    intervals = [
        _interval(float(points[place]), ratios[:, place], int(rows[place])) if rows[place] else None
        for place in range(values.shape[1])
    ]
    if not macro or any(not rows[place] for place in macro):
        return intervals, None
    columns = list(macro)
    average = _interval(
        float(points[columns].mean()), ratios[:, columns].mean(axis=1), int(rows[columns].sum())
    )
    return intervals, average


def _by_cluster(values: Floats, clusters: NDArray[np.intp]) -> Floats:
    sums = np.zeros((int(clusters.max()) + 1, values.shape[1]))
    np.add.at(sums, clusters, values)
    return sums


def _drawn(clusters: int, seed: int, resamples: int) -> Iterable[Floats]:
    """How often each cluster is drawn, one row a resample, in blocks that memory has room for.

    The blocks together are the same however large one is.
    """
    at_once = max(1, BLOCK // clusters)
    return _kept(clusters, seed, resamples) if at_once >= resamples else _blocks(clusters, seed, resamples)


@lru_cache(maxsize=8)
def _kept(clusters: int, seed: int, resamples: int) -> tuple[Floats, ...]:
    return tuple(_blocks(clusters, seed, resamples))


def _blocks(clusters: int, seed: int, resamples: int) -> Iterator[Floats]:
    generator, at_once = np.random.default_rng(seed), max(1, BLOCK // clusters)
    for start in range(0, resamples, at_once):
        rows = min(at_once, resamples - start)
        picks = generator.integers(0, clusters, size=(rows, clusters))
        places = picks + np.arange(rows)[:, None] * clusters
        counts = np.bincount(places.ravel(), minlength=rows * clusters)
        yield counts.reshape(rows, clusters).astype(np.float64)


def _interval(value: float, drawn: Floats, n: int) -> Interval:
    finite = drawn[np.isfinite(drawn)]  # a rare type may be missing from a resample
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(finite, [tail, 1 - tail])
    return Interval(value, float(low), float(high), n)
