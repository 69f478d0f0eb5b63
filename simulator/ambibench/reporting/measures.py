"""Means with intervals (spec section 7.4): percentile bootstrap, 1000 resamples, whole units, fixed seed.

A unit is a prompt, or a person; each group that is asked for is resampled by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from simulator.resampling import Interval, interval_of, resampled
from simulator.stats import cluster_bootstrap

RESAMPLES: Final = 1000
SEED: Final = 0

Means = dict[tuple[Any, ...], Interval]
"""Levels of the columns asked for, in their order -> mean with its interval; `n` counts different trials."""


def means(trials: pd.DataFrame, measure: str, by: Sequence[str], *, seed: int = SEED) -> Means:
    """Return the mean of a measure in each group of trials that agree in the columns `by`.

    Trials without a value, or without a level of one of the columns, are left out.
    """
    known = trials.loc[trials[measure].notna(), [*by, measure, "unit", "trial"]]
    return {
        levels: cluster_bootstrap(
            group[measure].tolist(), group["unit"].tolist(), seed=seed, resamples=RESAMPLES
        )._replace(n=group["trial"].nunique())
        for levels, group in known.groupby(list(by), observed=True)
    }


def shares(trials: pd.DataFrame, category: str, by: Sequence[str], *, seed: int = SEED) -> Means:
    """Return the share of a category among the sorted trials of each group."""
    in_it = (trials["category"] == category).astype(float).where(trials["category"].notna())
    return means(trials.assign(in_category=in_it), "in_category", by, seed=seed)


def balanced(trials: pd.DataFrame, measure: str, by: Sequence[str], over: str, *, seed: int = SEED) -> Means:
    """Return the mean, over the levels of a column, of the means at each: figures that average over actors.

    Each level counts the same, however many trials it has. Units are resampled whole, with all their
    levels; a level that a resample misses is left out of that resample.
    """
    known = trials.loc[trials[measure].notna(), list(dict.fromkeys([*by, over, measure, "unit", "trial"]))]
    return {
        levels: _mean_of_means(group, measure, over, seed)
        for levels, group in known.groupby(list(by), observed=True)
    }


def split(means: Means) -> dict[Any, dict[Any, Interval]]:
    """Return means by two columns as a table: level of the first -> level of the second -> mean."""
    table: dict[Any, dict[Any, Interval]] = {}
    for (first, second), value in means.items():
        table.setdefault(first, {})[second] = value
    return table


def turned(table: Mapping[Any, Mapping[Any, Interval]]) -> dict[Any, dict[Any, Interval]]:
    """Return the same table with the second column first."""
    return split({(second, first): value for first, row in table.items() for second, value in row.items()})


def _mean_of_means(group: pd.DataFrame, measure: str, over: str, seed: int) -> Interval:
    sums = group.pivot_table(index="unit", columns=over, values=measure, aggfunc="sum", observed=True)
    counts = group.pivot_table(index="unit", columns=over, values=measure, aggfunc="count", observed=True)
    columns = np.hstack([sums.fillna(0).to_numpy(float), counts.fillna(0).to_numpy(float)])
    top, bottom = np.hsplit(resampled(columns, seed=seed, resamples=RESAMPLES), 2)
    at_levels = np.divide(top, bottom, out=np.full_like(top, np.nan), where=bottom > 0)
    mean = interval_of(np.nanmean(at_levels, axis=1), len(group), groups=len(sums))
    assert mean is not None  # every group has a value
    return mean._replace(n=group["trial"].nunique())
