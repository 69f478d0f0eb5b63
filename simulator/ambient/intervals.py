"""AmbiEnt's measures: their intervals are 95 % percentile bootstraps over items, 1000 resamples (spec 13)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final, NamedTuple

from simulator.stats import Interval, bootstrap_mean, cluster_bootstrap

RESAMPLES: Final = 1000


class Count(NamedTuple):
    """A number of things, and of how many; None where it is undefined."""

    value: Interval | float | None
    n: int | None = None


Values = dict[str, Any]
"""By measure of `reporting/wording.yaml`: an `Interval`, `Count`, number or None; and what else is told."""


def mean_interval(values: Sequence[float], items: Sequence[Hashable] | None = None) -> Interval | None:
    """Return the mean of one value per item; None if there are none.

    `items`: the item of each, where some were observed several times; `Interval.n` counts items.
    """
    return bootstrap_mean(values, items, resamples=RESAMPLES) if values else None


def clustered_interval(
    values: Sequence[float], items: Sequence[Hashable], units: Sequence[Hashable] | None = None
) -> Interval | None:
    """Return the mean of values of which an item may have several: whole items are resampled.

    `units`: what each is of, where that was observed several times; `Interval.n` then counts units.

    Returns:
        None if there are no values.
    """
    if not values and not items:
        return None
    interval = cluster_bootstrap(values, items, resamples=RESAMPLES)
    return interval if units is None else interval._replace(n=len(set(units)))


def share_interval(values: Sequence[float], counted: Sequence[bool]) -> Interval | None:
    """Return the mean of those items that count; all items are resampled, so how many count varies, too.

    Returns:
        None if none counts.
    """
    if not any(counted):
        return None
    interval = cluster_bootstrap(
        values, range(len(values)), weights=list(map(float, counted)), resamples=RESAMPLES
    )
    return interval._replace(n=sum(counted))
