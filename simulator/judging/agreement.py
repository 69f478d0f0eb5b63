"""Agreement of raters: Cohen's and Fleiss' kappa, Krippendorff's alpha, with bootstrap intervals.

An interval resamples groups of rated units (such as the rows of a file). Every statistic here is a function
of sums over groups (`simulator.stats`), so resamples do not look at single ratings again::

    kappa = modal_kappa(votes, LABELS, rows, len(records))
    share = mean_measure(values, rows, len(records))
    intervals({"kappa": kappa, "share": share}, seed=seed)

An undefined statistic is NaN in arrays and None elsewhere.

Sources: Cohen 1960; Fleiss 1971; Krippendorff 2011; Passonneau 2006 (MASI).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from typing import Final, NamedTuple, TypeVar

import numpy as np

from simulator.stats import SHARE, Bounds, Floats, Interval, interval_of, resample

T = TypeVar("T", bound=Hashable)
Distance = Callable[[T, T], float]
Statistic = Callable[[Floats], Floats]

RESAMPLES: Final = 1000
_CHANCE_CORRECTED: Final = (-1.0, 1.0)


class Measure(NamedTuple):
    """A statistic of sums.

    Attributes:
        columns: the summands, of shape (groups, columns).
        statistic: maps sums of shape (resamples, columns) to one value each; NaN if undefined.
        n: the value of `Interval.n`.
        bounds: the minimum and maximum; see `simulator.stats.interval_of`.
    """

    columns: Floats
    statistic: Statistic
    n: int
    bounds: Bounds | None = None


def nominal_distance(first: Hashable, second: Hashable) -> float:
    """Return 0 if two ratings are equal, else 1."""
    return float(first != second)


def masi_distance(first: Set[Hashable], second: Set[Hashable]) -> float:
    """Return the distance of two sets: 1 - Jaccard index * monotonicity.

    Monotonicity is 1 for equal sets, 2/3 if one contains the other, 1/3 if they overlap otherwise, else 0.
    Two empty sets are equal.
    """
    if first == second:
        return 0.0
    common = len(first & second)
    nested = first <= second or second <= first
    return 1 - common / len(first | second) * (2 / 3 if nested else 1 / 3)


def tally(ratings: Sequence[Sequence[Hashable]], categories: Sequence[Hashable]) -> Floats:
    """Return the counts of ratings by subject and category, of shape (subjects, categories).

    Raises:
        ValueError: if a rating is not among the categories.
    """
    place = {category: number for number, category in enumerate(categories)}
    try:
        columns = np.array([place[rating] for subject in ratings for rating in subject], dtype=np.intp)
    except KeyError as error:
        raise ValueError(f"{error.args[0]!r} is not among the categories") from error
    rows = np.repeat(np.arange(len(ratings)), [len(subject) for subject in ratings])
    cells = np.bincount(rows * len(place) + columns, minlength=len(ratings) * len(place))
    return cells.reshape(len(ratings), len(place)).astype(float)


def modal_raters(ratings: Sequence[Sequence[Hashable]]) -> int | None:
    """Return the most frequent number of raters per subject, the larger of ties; None if always below two."""
    sizes = np.bincount([len(subject) for subject in ratings], minlength=2)
    sizes[:2] = 0
    return int(len(sizes) - 1 - np.argmax(sizes[::-1])) if sizes.any() else None


def modal_subjects(ratings: Sequence[Sequence[Hashable]]) -> list[int]:
    """Return the indices of the subjects with the most frequent number of raters (`modal_raters`)."""
    raters = modal_raters(ratings)
    return [place for place, subject in enumerate(ratings) if len(subject) == raters]


def modal_kappa(
    ratings: Sequence[Sequence[Hashable]],
    categories: Sequence[Hashable],
    groups: Sequence[int] | None = None,
    number: int | None = None,
) -> Measure:
    """Return Fleiss' kappa over the subjects of `modal_subjects`; arguments as for `kappa_measure`."""
    modal = modal_subjects(ratings)
    counts = tally([ratings[place] for place in modal], categories)
    return kappa_measure(counts, None if groups is None else [groups[place] for place in modal], number)


def set_measures(
    ratings: Sequence[Sequence[Set[T]]],
    members: Sequence[T],
    groups: Sequence[int] | None = None,
    number: int | None = None,
) -> dict[str, Measure]:
    """Return the agreement of raters who give sets: a kappa per member, and the share of ``identical`` sets.

    All subjects have the same number of raters; Fleiss' kappa of a member concerns having it or not. `groups`
    and `number`: as for `kappa_measure`.
    """
    measures = {
        str(member): kappa_measure(
            tally([[member in chosen for chosen in subject] for subject in ratings], (False, True)),
            groups,
            number,
        )
        for member in members
    }
    identical = [float(all(chosen == subject[0] for chosen in subject)) for subject in ratings]
    return {**measures, "identical": mean_measure(identical, groups, number)}


def kappa_measure(counts: Floats, groups: Sequence[int] | None = None, number: int | None = None) -> Measure:
    """Return Fleiss' kappa; its `n` is the number of subjects.

    Args:
        counts: the number of raters who chose each category, of shape (subjects, categories).
        groups: the group of each subject, from 0; by default each is its own group.
        number: the number of groups, if the last ones may have no subject.

    Raises:
        ValueError: if the number of raters differs between subjects, or is less than two.
    """
    if not len(counts):
        return Measure(np.zeros((number or 0, 1)), lambda sums: np.full(len(sums), np.nan), 0)
    raters = counts.sum(axis=1)
    each = float(raters[0])
    if (raters != each).any() or each < 2:
        raise ValueError(
            f"kappa needs an equal number of raters, at least two: {sorted(set(raters.tolist()))}"
        )
    agreed = ((counts**2).sum(axis=1, keepdims=True) - each) / (each * (each - 1))
    return Measure(
        _by_group(np.hstack([agreed, counts]), groups, number), _kappa(each), len(counts), _CHANCE_CORRECTED
    )


def cluster_kappa(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    clusters: Sequence[Hashable],
    *,
    resamples: int = RESAMPLES,
) -> tuple[Interval, Interval | None]:
    """Return observed agreement of two raters and Cohen's kappa, with intervals from resampled clusters.

    Kappa is None if both always give the same single answer, since expected agreement is then 1.

    Raises:
        ValueError: if there is nothing to compare or the lengths differ.
    """
    if not first or not len(first) == len(second) == len(clusters):
        raise ValueError("agreement needs non-empty lists of equal length")
    label = {name: place for place, name in enumerate(sorted({*first, *second}, key=_name))}
    place = {name: number for number, name in enumerate(dict.fromkeys(clusters))}
    tables = np.zeros((len(place), len(label), len(label)))
    for left, right, cluster in zip(first, second, clusters, strict=True):
        tables[place[cluster], label[left], label[right]] += 1
    columns = tables.reshape(len(place), -1)

    def agreement(sums: Floats) -> Floats:
        shares: Floats = sums[:, :: len(label) + 1].sum(axis=1) / sums.sum(axis=1)
        return shares

    def kappa(sums: Floats) -> Floats:
        drawn = sums.reshape(-1, len(label), len(label))
        expected = (drawn.sum(axis=1) * drawn.sum(axis=2)).sum(axis=1) / sums.sum(axis=1) ** 2
        certain = np.isclose(expected, 1)
        return np.where(certain, np.nan, (agreement(sums) - expected) / np.where(certain, 1.0, 1 - expected))

    measures = {
        "observed": Measure(columns, agreement, len(first), SHARE),
        "kappa": Measure(columns, kappa, len(first), _CHANCE_CORRECTED),
    }
    bounds = intervals(measures, resamples=resamples)
    assert bounds["observed"] is not None  # there are ratings
    return bounds["observed"], bounds["kappa"]


def cohen_measure(
    pairs: Sequence[tuple[Hashable, Hashable]],
    categories: Sequence[Hashable],
    groups: Sequence[int],
    number: int,
) -> Measure:
    """Return Cohen's kappa of two raters, undefined if both always give the same single answer.

    `groups`: the group of each subject, from 0. `number`: the number of groups.
    """
    width = len(categories)
    columns = np.zeros((number, 1 + 2 * width))
    for group, (first, second) in zip(groups, pairs, strict=True):
        columns[group, 0] += first == second
        columns[group, 1 + categories.index(first)] += 1
        columns[group, 1 + width + categories.index(second)] += 1

    def statistic(sums: Floats) -> Floats:
        total = sums[:, 1 : 1 + width].sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            chance = (sums[:, 1 : 1 + width] * sums[:, 1 + width :]).sum(axis=1) / total**2
            return np.where(chance < 1, (sums[:, 0] / total - chance) / (1 - chance), np.nan)

    return Measure(columns, statistic, len(pairs), _CHANCE_CORRECTED)


def alpha_measure(
    units: Sequence[Sequence[T]],
    distance: Distance[T],
    groups: Sequence[int] | None = None,
    number: int | None = None,
) -> Measure:
    """Return Krippendorff's alpha; its `n` is the number of units with two ratings or more.

    `units`: the ratings of each unit, any number of them; a unit with fewer than two does not count.
    `distance`: symmetric, 0 for equal ratings. `groups` and `number`: as for `kappa_measure`.
    """
    # Sorted: resamples must not depend on the order of units.
    values = sorted({value for unit in units for value in unit}, key=_name)
    distances = np.array([distance(value, other) for value in values for other in values], dtype=float)
    distances = distances.reshape(len(values), len(values))
    counts = tally(units, values)
    size = counts.sum(axis=1, keepdims=True)
    counts = np.where(size >= 2, counts, 0)
    observed = _quadratic(counts, distances)[:, None] / np.maximum(size - 1, 1)
    columns = _by_group(np.hstack([observed, counts]), groups, number)
    return Measure(columns, _alpha(distances), int((size >= 2).sum()), _CHANCE_CORRECTED)


def mean_measure(
    values: Sequence[float], groups: Sequence[int] | None = None, number: int | None = None
) -> Measure:
    """Return the mean of values between 0 and 1; its `n` is their number.

    `groups` and `number`: as for `kappa_measure`.
    """
    columns = np.column_stack([np.asarray(values, dtype=float), np.ones(len(values))])
    return Measure(_by_group(columns, groups, number), _mean, len(values), SHARE)


def intervals(
    measures: Mapping[str, Measure], *, seed: int = 0, resamples: int = RESAMPLES
) -> dict[str, Interval | None]:
    """Return every measure with its interval; None if it is undefined.

    Measures are resampled separately, so that an interval does not depend on the other measures.
    """
    return {name: _interval(measure, seed, resamples) for name, measure in measures.items()}


def _interval(measure: Measure, seed: int, resamples: int) -> Interval | None:
    if not len(measure.columns):
        return None
    statistics = measure.statistic(resample(measure.columns, seed=seed, resamples=resamples))
    groups = max(1, int(measure.columns.any(axis=1).sum()))
    return interval_of(statistics, measure.n, groups=groups, bounds=measure.bounds)


def _kappa(raters: float) -> Statistic:
    """Return kappa as a function of sums: of the shares of agreeing pairs of raters (P_i), then of counts."""

    def statistic(sums: Floats) -> Floats:
        total = sums[:, 1:].sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            observed = sums[:, 0] * raters / total
            chance = ((sums[:, 1:] / total[:, None]) ** 2).sum(axis=1)
            return np.where(chance < 1, (observed - chance) / (1 - chance), np.nan)

    return statistic


def _alpha(distances: Floats) -> Statistic:
    """Return alpha as a function of sums: of disagreements (ordered pairs / (ratings - 1)), then counts."""

    def statistic(sums: Floats) -> Floats:
        counts = sums[:, 1:]
        expected = _quadratic(counts, distances)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(expected > 0, 1 - sums[:, 0] * (counts.sum(axis=1) - 1) / expected, np.nan)

    return statistic


def _mean(sums: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(sums[:, 1] > 0, sums[:, 0] / sums[:, 1], np.nan)


def _by_group(columns: Floats, groups: Sequence[int] | None, number: int | None) -> Floats:
    """Return the sums of columns over the rows of each group."""
    if groups is None:
        return columns
    group = np.asarray(groups, dtype=np.intp)
    sums = np.zeros((int(group.max(initial=-1)) + 1 if number is None else number, columns.shape[1]))
    order = np.lexsort(columns.T)  # a fixed order: rounded sums must not depend on the order of rows
    np.add.at(sums, group[order], columns[order])
    return sums


def _name(value: object) -> str:
    return str(sorted(map(repr, value))) if isinstance(value, Set) else repr(value)


def _quadratic(counts: Floats, distances: Floats) -> Floats:
    total: Floats = ((counts @ distances) * counts).sum(axis=-1)
    return total
