"""Agreement of several raters: Fleiss' kappa and Krippendorff's alpha, with bootstrap intervals.

An interval resamples whole groups of what was rated (the rows of a file). Every statistic here is a function
of sums over groups, so that no resample looks at a rating again: `resampled` draws the sums of all resamples,
`kappa_of`, `alpha_of` and `ratio_of` make statistics of them, one per resample, `interval_of` an interval::

    columns = by_group(kappa_columns(counts), rows, len(rows))
    interval_of(kappa_of(resampled(columns, seed=seed), raters), n=len(counts))

An undefined statistic is NaN among arrays and None outside of them.

Sources: Fleiss 1971; Krippendorff 2011; Passonneau 2006 (MASI). `simulator.stats.cohen_kappa` is for two.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence, Set
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from simulator.stats import LEVEL, Interval

Floats = npt.NDArray[np.float64]
T = TypeVar("T", bound=Hashable)
Distance = Callable[[T, T], float]

RESAMPLES: Final = 1000
# Of picks held at once, so that memory does not grow with the number of resamples.
_AT_ONCE: Final = 4_000_000


def fleiss_kappa(counts: npt.ArrayLike) -> float | None:
    """Fleiss' kappa; None where it is undefined: nothing was rated, or one category got all ratings.

    Args:
        counts: shape (subjects, categories), how many raters chose the category.

    Raises:
        ValueError: if the raters of the subjects differ in number, or are fewer than two.
    """
    data = np.asarray(counts, dtype=float)
    if not data.size:
        return None
    return _or_none(kappa_of(kappa_columns(data).sum(axis=0), raters_of(data)))


def fleiss_interval(
    counts: npt.ArrayLike,
    *,
    groups: Sequence[int] | None = None,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Interval | None:
    """Fleiss' kappa with its interval; `Interval.n` is the number of subjects.

    Args:
        counts: as for `fleiss_kappa`.
        groups: the group of each subject, from 0; by default each is one of its own.
        seed: of the resampling.
        resamples: how many.

    Returns:
        None where kappa is undefined.

    Raises:
        ValueError: as for `fleiss_kappa`.
    """
    data = np.asarray(counts, dtype=float)
    if not data.size:
        return None
    raters, columns = raters_of(data), by_group(kappa_columns(data), groups)
    return interval_of(kappa_of(resampled(columns, seed=seed, resamples=resamples), raters), len(data))


def krippendorff_alpha(units: Sequence[Sequence[T]], distance: Distance[T]) -> float | None:
    """Krippendorff's alpha; None where it is undefined: nobody rated what another did, or all said the same.

    Args:
        units: the ratings of each unit, any number of them; a unit with fewer than two does not count.
        distance: of two ratings, 0 for equal ones; symmetric.
    """
    columns, distances = alpha_columns(units, distance)
    return _or_none(alpha_of(columns.sum(axis=0), distances)) if columns.size else None


def alpha_interval(
    units: Sequence[Sequence[T]],
    distance: Distance[T],
    *,
    groups: Sequence[int] | None = None,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Interval | None:
    """Krippendorff's alpha with its interval; `Interval.n` is the number of units with two ratings or more.

    Args:
        units: as for `krippendorff_alpha`.
        distance: likewise.
        groups: the group of each unit, from 0; by default each is one of its own.
        seed: of the resampling.
        resamples: how many.

    Returns:
        None where alpha is undefined.
    """
    columns, distances = alpha_columns(units, distance)
    if not columns.size:
        return None
    drawn = resampled(by_group(columns, groups), seed=seed, resamples=resamples)
    return interval_of(alpha_of(drawn, distances), sum(len(unit) >= 2 for unit in units))


def nominal_distance(first: Hashable, second: Hashable) -> float:
    """0 if two ratings are equal, else 1."""
    return float(first != second)


def masi_distance(first: Set[Hashable], second: Set[Hashable]) -> float:
    """Distance of two sets: 1 - Jaccard index * monotonicity.

    Monotonicity is 1 for equal sets, 2/3 if one holds the other, 1/3 if they overlap otherwise, else 0. Two
    empty sets are equal.
    """
    if first == second:
        return 0.0
    common = len(first & second)
    nested = first <= second or second <= first
    return 1 - common / len(first | second) * (2 / 3 if nested else 1 / 3)


def tally(ratings: Sequence[Sequence[Hashable]], categories: Sequence[Hashable]) -> Floats:
    """How often each subject was put into each category, of shape (subjects, categories).

    Raises:
        ValueError: if a rating is none of the categories.
    """
    place = {category: number for number, category in enumerate(categories)}
    try:
        columns = np.array([place[one] for subject in ratings for one in subject], dtype=np.intp)
    except KeyError as error:
        raise ValueError(f"{error.args[0]!r} is none of the categories") from error
    rows = np.repeat(np.arange(len(ratings)), [len(subject) for subject in ratings])
    cells = np.bincount(rows * len(place) + columns, minlength=len(ratings) * len(place))
    return cells.reshape(len(ratings), len(place)).astype(float)


def modal_raters(ratings: Sequence[Sequence[Hashable]]) -> int | None:
    """The number of raters that most subjects have, the larger of two such; None if none has two raters."""
    sizes = np.bincount([len(subject) for subject in ratings], minlength=2)
    sizes[:2] = 0
    return int(len(sizes) - 1 - np.argmax(sizes[::-1])) if sizes.any() else None


def raters_of(counts: Floats) -> int:
    """How many raters every subject has.

    Raises:
        ValueError: if they differ in number, or are fewer than two.
    """
    raters = counts.sum(axis=1)
    if not len(raters) or (raters != raters[0]).any() or raters[0] < 2:
        raise ValueError(f"kappa needs one number of raters, two at least: {sorted(set(raters.tolist()))}")
    return int(raters[0])


def kappa_columns(counts: Floats) -> Floats:
    """Per subject the share of pairs of raters who agree (P_i), and its counts: what kappa's sums are of."""
    raters = counts.sum(axis=1, keepdims=True)
    pairs = np.maximum(raters * (raters - 1), 1)
    return np.hstack([((counts**2).sum(axis=1, keepdims=True) - raters) / pairs, counts])


def kappa_of(sums: Floats, raters: int) -> Floats:
    """Kappa of sums of `kappa_columns`, in the last axis; NaN where it is undefined."""
    total = sums[..., 1:].sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = sums[..., 0] * raters / total
        chance = ((sums[..., 1:] / total[..., None]) ** 2).sum(axis=-1)
        kappa: Floats = np.where(chance < 1, (observed - chance) / (1 - chance), np.nan)
    return kappa


def alpha_columns(units: Sequence[Sequence[T]], distance: Distance[T]) -> tuple[Floats, Floats]:
    """What alpha's sums are of, and the distance of every two values.

    Returns:
        Per unit its observed disagreement (over ordered pairs of its ratings, divided by their number less
        one) and how often it has each value, nothing for a unit with fewer than two ratings; then the matrix
        of distances of the values in the order of their first appearance.
    """
    values = tuple(dict.fromkeys(one for unit in units for one in unit))
    distances = np.array([distance(one, other) for one in values for other in values], dtype=float)
    distances = distances.reshape(len(values), len(values))
    counts = tally(units, values) if values else np.zeros((len(units), 0))
    size = counts.sum(axis=1, keepdims=True)
    counts = np.where(size >= 2, counts, 0)
    disagreement = _quadratic(counts, distances)[:, None] / np.maximum(size - 1, 1)
    return np.hstack([disagreement, counts]), distances


def alpha_of(sums: Floats, distances: Floats) -> Floats:
    """Alpha of sums of `alpha_columns`, in the last axis; NaN where it is undefined."""
    counts = sums[..., 1:]
    n = counts.sum(axis=-1)
    expected = _quadratic(counts, distances)
    with np.errstate(invalid="ignore", divide="ignore"):
        alpha: Floats = np.where(expected > 0, 1 - sums[..., 0] * (n - 1) / expected, np.nan)
    return alpha


def ratio_of(top: Floats, bottom: Floats) -> Floats:
    """A mean, out of the sums of values and of weights; NaN where nothing was weighed."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio: Floats = np.where(bottom > 0, top / bottom, np.nan)
    return ratio


def by_group(columns: Floats, groups: Sequence[int] | None, number: int | None = None) -> Floats:
    """The sums of columns over the rows of each group, which are numbered from 0.

    Args:
        columns: shape (rows, columns).
        groups: of each row; None leaves the rows as they are.
        number: of groups, where the last ones may have no row.
    """
    if groups is None:
        return columns
    of = np.asarray(groups, dtype=np.intp)
    found = np.zeros((int(of.max(initial=-1)) + 1 if number is None else number, columns.shape[1]))
    np.add.at(found, of, columns)
    return found


def resampled(columns: Floats, *, seed: int = 0, resamples: int = RESAMPLES) -> Floats:
    """The sums of columns as they are (first row), then of every resample of the rows (one row each).

    Args:
        columns: shape (rows, columns), at least one row.
        seed: of the resampling.
        resamples: how many.

    Raises:
        ValueError: if there are no rows.
    """
    rows = len(columns)
    if not rows:
        raise ValueError("there is nothing to resample")
    generator, step = np.random.default_rng(seed), max(1, _AT_ONCE // rows)
    found = [columns.sum(axis=0, keepdims=True)]
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        picks = generator.integers(0, rows, size=(size, rows)) + np.arange(size)[:, None] * rows
        weights = np.bincount(picks.ravel(), minlength=size * rows).reshape(size, rows)
        found.append(weights.astype(float) @ columns)
    return np.vstack(found)


def interval_of(statistics: Floats, n: int) -> Interval | None:
    """The interval of a statistic: first as it is, then of every resample. None if it is undefined.

    Resamples in which it is undefined are left out.

    Args:
        statistics: shape (1 + resamples,).
        n: what `Interval.n` is to say.
    """
    value, drawn = float(statistics[0]), statistics[1:]
    if np.isnan(value):
        return None
    defined = drawn[~np.isnan(drawn)]
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(defined, [tail, 1 - tail]) if len(defined) else (value, value)
    return Interval(value, float(low), float(high), n)


def _quadratic(counts: Floats, distances: Floats) -> Floats:
    found: Floats = ((counts @ distances) * counts).sum(axis=-1)
    return found


def _or_none(value: Floats) -> float | None:
    return None if np.isnan(value) else float(value)
