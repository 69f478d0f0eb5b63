"""Measures of asking back over episodes (see `simulator.asking`): shares, Youden's J, means per question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from simulator.resampling import SHARE, Bounds, interval_of, resampled
from simulator.stats import Interval, bootstrap_mean, cluster_bootstrap, share

if TYPE_CHECKING:
    from simulator.asking import Asked, Asking, Decision, Need

T = TypeVar("T")


def right(some: Sequence[Asking]) -> Interval | None:
    """Share that was right in the end."""
    return share_of(some, lambda one: bool(one.told.right), lambda one: one)


def asked(made: Sequence[tuple[Asking, Decision]], *needs: Need) -> Interval | None:
    """Share that asked of the decisions with one of these needs."""
    mine = [one for one in made if one[1].need in needs]
    return share_of(mine, lambda one: one[1].asked, lambda one: one[0])


def decided(made: Sequence[tuple[Asking, Decision]]) -> Interval | None:
    """Share of decisions in which asking or not was what was needed."""
    return share_of(made, lambda one: one[1].asked == (one[1].need == "person"), lambda one: one[0])


def share_of(some: Sequence[T], holds: Callable[[T], bool], of: Callable[[T], Asking]) -> Interval | None:
    """Wilson's interval; a bootstrap one over items where some come several times."""
    return share([holds(one) for one in some], [of(one).item for one in some]) if some else None


def youden(made: Sequence[tuple[Asking, Decision]]) -> Interval | None:
    """Asked where only this person knew, less asked where not; whole items are resampled."""
    sums: dict[str, list[float]] = {}
    for one, (need, asked) in made:
        cells, place = sums.setdefault(one.item, [0.0] * 4), 0 if need == "person" else 2
        cells[place] += asked
        cells[place + 1] += 1
    if not sums:
        return None
    drawn = resampled(np.array(list(sums.values())))
    with np.errstate(invalid="ignore", divide="ignore"):
        differences = drawn[:, 0] / drawn[:, 1] - drawn[:, 2] / drawn[:, 3]
    # Where nothing varies, no more is known than of the smaller of the two cells.
    groups = min(sum(cells[at] > 0 for cells in sums.values()) for at in (1, 3))
    return interval_of(differences, len(made), groups=groups, bounds=(-1, 1))


def questions(could: Sequence[Asking]) -> Interval | None:
    """Questions per episode."""
    if not could:
        return None
    return bootstrap_mean([one.told.questions for one in could], [one.item for one in could], bounds=None)


def per_question(
    some: Sequence[Asking], value: Callable[[Asked], float | None], bounds: Bounds | None = SHARE
) -> Interval | None:
    """The mean over all questions; those of one item hang together, so items are resampled."""
    asked = [one for one in some if one.asked and value(one.told) is not None]
    if not asked:
        return None
    weights = [one.told.questions for one in asked]
    means = [(value(one.told) or 0) / weight for one, weight in zip(asked, weights, strict=True)]
    whole = cluster_bootstrap(means, [one.item for one in asked], weights=weights, bounds=bounds)
    return whole._replace(n=sum(weights))
