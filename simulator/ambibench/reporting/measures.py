"""Means with intervals (spec section 7.4): percentile bootstrap, 1000 resamples, whole units, fixed seed.

A unit is a prompt, or a person; each group that is asked for is resampled by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from simulator.ambibench.reporting.results import Codes, Floats, Mask, Measure, Name, Results
from simulator.resampling import Interval, interval_of, resampled

RESAMPLES: Final = 1000
SEED: Final = 0

Means = dict[tuple[str, ...], Interval]
"""Levels of the factors asked for, in their order -> mean with its interval; `n` counts different trials."""
PlainMeans = dict[tuple[str, ...], tuple[int | float | None, ...]]


def means(results: Results, measure: Measure, by: Sequence[Name], *, seed: int = SEED) -> Means:
    """The mean of a measure in each group of trials that agree in the factors `by`.

    It is what `stats.cluster_bootstrap` gives with `RESAMPLES` resamples and units as clusters. Trials
    without a value, or without a level of one of the factors, are left out.
    """
    return {
        levels: _mean(results, results.numbers[measure], at, seed)
        for levels, at in groups(results, by, ~np.isnan(results.numbers[measure]))
    }


def shares(results: Results, category: str, by: Sequence[Name], *, seed: int = SEED) -> Means:
    """The share of a category among the sorted trials of each group."""
    factor = results.factors["category"]
    hits = results.has("category", category).astype(float)
    return {levels: _mean(results, hits, at, seed) for levels, at in groups(results, by, factor.codes >= 0)}


def balanced(
    results: Results, measure: Measure, by: Sequence[Name], over: Name, *, seed: int = SEED
) -> Means:
    """The mean, over the levels of a factor, of the means at each: figures that average over actors.

    Each level counts the same, however many trials it has. Units are resampled whole, with all their
    levels; a level that a resample misses is left out of that resample.
    """
    found: Means = {}
    values, units = results.numbers[measure], results.factors["unit"].codes
    levels = results.factors[over].codes
    for group, at in groups(results, by, ~np.isnan(values) & (levels >= 0)):
        found[group] = _mean_of_means(values[at], units[at], levels[at], seed)._replace(
            n=_trials(results, at)
        )
    return found


def plain_means(results: Results, measures: Sequence[Measure], by: Sequence[Name]) -> PlainMeans:
    """Means without intervals: in each group the number of trials, then the mean of each measure.

    A mean is None where no trial has a value.
    """
    everywhere = np.ones(len(results), dtype=bool)
    levels, order, starts = _sorted_groups(results, by, everywhere)
    if not levels:
        return {}
    counts = np.diff([*starts, len(order)])
    columns = [_plain(results.numbers[measure][order], starts) for measure in measures]
    return {group: (int(n), *values) for group, n, *values in zip(levels, counts, *columns, strict=True)}


def split(found: Means) -> dict[str, dict[str, Interval]]:
    """Means by two factors as a table: level of the first -> level of the second -> mean."""
    table: dict[str, dict[str, Interval]] = {}
    for (first, second), value in found.items():
        table.setdefault(first, {})[second] = value
    return table


def turned(table: Mapping[str, Mapping[str, Interval]]) -> dict[str, dict[str, Interval]]:
    """The same table with the second factor first."""
    found: dict[str, dict[str, Interval]] = {}
    for first, row in table.items():
        for second, value in row.items():
            found.setdefault(second, {})[first] = value
    return found


def longest(results: Results) -> int:
    """The last k that there is."""
    return max((int(k) for k in results.present("k")), default=0)


def groups(results: Results, by: Sequence[Name], among: Mask) -> Iterator[tuple[tuple[str, ...], Codes]]:
    """The trials of each group: its levels, and where its trials are; groups in the order of the levels."""
    levels, order, starts = _sorted_groups(results, by, among)
    yield from zip(levels, np.split(order, starts[1:]), strict=True) if levels else ()


def _sorted_groups(
    results: Results, by: Sequence[Name], among: Mask
) -> tuple[list[tuple[str, ...]], Codes, Codes]:
    """The groups' levels, all trials with those of a group beside each other, and where each group starts."""
    factors = [results.factors[name] for name in by]
    kept = np.flatnonzero(among & np.logical_and.reduce([factor.codes >= 0 for factor in factors]))
    shape = [len(factor.levels) for factor in factors]
    if not len(kept):
        return [], kept, kept
    place = np.ravel_multi_index([factor.codes[kept] for factor in factors], shape)
    order = np.argsort(place, kind="stable")
    ordered = place[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    codes = np.stack(np.unravel_index(ordered[starts], shape), axis=1).tolist()
    levels = [tuple(factor.levels[code] for factor, code in zip(factors, row, strict=True)) for row in codes]
    return levels, kept[order], starts


def _mean(results: Results, values: Floats, at: Codes, seed: int) -> Interval:
    found = mean(values[at], results.factors["unit"].codes[at], seed=seed)
    return found._replace(n=_trials(results, at))


def _trials(results: Results, at: Codes) -> int:
    return len(np.unique(results.factors["trial"].codes[at]))


def mean(values: Floats, units: Codes, *, seed: int = SEED) -> Interval:
    """The mean of some values with its interval; units are resampled whole.

    Args:
        values: at least one.
        units: the unit of each.
        seed: of the resampling.
    """
    order = np.argsort(values, kind="stable")  # sums are rounded: in one order, they are always the same
    _, unit = np.unique(units[order], return_inverse=True)
    sums = np.column_stack([np.bincount(unit, values[order]), np.bincount(unit)]).astype(float)
    drawn = resampled(sums, seed=seed, resamples=RESAMPLES)
    return _interval(drawn[:, 0] / drawn[:, 1], len(values), len(sums))


def _mean_of_means(values: Floats, units: Codes, levels: Codes, seed: int) -> Interval:
    _, unit = np.unique(units, return_inverse=True)
    _, level = np.unique(levels, return_inverse=True)
    shape = (unit.max() + 1, level.max() + 1)
    cell = unit * shape[1] + level
    sums = np.bincount(cell, values, shape[0] * shape[1]).reshape(shape)
    counts = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape).astype(float)
    drawn = resampled(np.hstack([sums, counts]), seed=seed, resamples=RESAMPLES)
    top, bottom = np.hsplit(drawn, 2)
    at_levels = np.divide(top, bottom, out=np.full_like(top, np.nan), where=bottom > 0)
    return _interval(np.nanmean(at_levels, axis=1), len(values), shape[0])


def _plain(values: Floats, starts: Codes) -> list[float | None]:
    """The mean of each stretch of values, NaN left out."""
    known = ~np.isnan(values)
    counts = np.add.reduceat(known.astype(float), starts)
    sums = np.add.reduceat(np.where(known, values, 0.0), starts)
    return [total / n if n else None for total, n in zip(sums.tolist(), counts.tolist(), strict=True)]


def _interval(statistics: Floats, n: int, units: int) -> Interval:
    found = interval_of(statistics, n, groups=units)
    assert found is not None  # every group has a value
    return found
