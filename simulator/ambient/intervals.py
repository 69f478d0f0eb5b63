"""Intervals of AmbiEnt's measures: 95 % percentile bootstraps over items, 1000 resamples (spec 13)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final, NamedTuple

from simulator.stats import Interval, bootstrap_mean, cluster_bootstrap

RESAMPLES: Final = 1000


class Count(NamedTuple):
    """A count out of `n`; None where undefined."""

    value: Interval | float | None
    n: int | None = None


Values = dict[str, Any]
"""An `Interval`, `Count`, number or None per measure of `reporting/wording.yaml`, and further facts."""


def mean_interval(values: Sequence[float], items: Sequence[Hashable] | None = None) -> Interval | None:
    """Return the mean of one value per item; None without values.

    `items`: the item of each value if items have repeated observations; `Interval.n` counts items.
    """
    return bootstrap_mean(values, items, resamples=RESAMPLES) if values else None


def clustered_interval(
    values: Sequence[float], items: Sequence[Hashable], units: Sequence[Hashable] | None = None
) -> Interval | None:
    """Return the mean of values, resampling items, which may have several values; None without values.

    `units`: the unit of each value if units have repeated observations; `Interval.n` then counts units.
    """
    if not values and not items:
        return None
    interval = cluster_bootstrap(values, items, resamples=RESAMPLES)
    return interval if units is None else interval._replace(n=len(set(units)))


def share_interval(values: Sequence[float], counted: Sequence[bool]) -> Interval | None:
    """Return the mean over the items that are `counted`, a number that varies in resamples of all items.

    Returns:
        None if no item is counted.
    """
    if not any(counted):
        return None
    interval = cluster_bootstrap(
        values, range(len(values)), weights=list(map(float, counted)), resamples=RESAMPLES
    )
    return interval._replace(n=sum(counted))
