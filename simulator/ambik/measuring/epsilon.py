"""What another target would have done: ask rate, accuracy and coverage over epsilon (spec 12, additions)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final, NamedTuple

from simulator.ambik import conformal
from simulator.ambik.measuring.outcome_rows import asked_well, cluster_of
from simulator.ambik.measuring.resampling import means
from simulator.ambik.records import Decision
from simulator.ambik.sets.coverage import coverage_of
from simulator.ambik.sets.predicting import (
    calibrate_prepared,
    check_same_scores,
    outcome_prepared,
    prepared,
    recalibrated,
)
from simulator.ambik.settings import Settings
from simulator.stats import Interval

GRID: Final = tuple(float(Fraction(step, 40)) for step in range(1, 40))
"""Every fortieth between 0 and 1."""


class EpsilonPoint(NamedTuple):
    """One epsilon.

    Attributes:
        epsilon: the error that is allowed.
        q_hat: the threshold.
        ask_rate: share of tasks of which the robot asks.
        accuracy: of the decision to ask or not; None where no task says whether a good robot asks.
        coverage: share of sets with a right option (`coverage_of`); None where no right option is known.
        set_size: mean size of the sets; None where none was made.
    """

    epsilon: float
    q_hat: float
    ask_rate: Interval
    accuracy: Interval | None
    coverage: Interval | None
    set_size: Interval | None


def epsilon_curve(
    decisions: Sequence[Decision],
    calibration: Sequence[Decision],
    settings: Settings,
    grid: Sequence[float] = GRID,
    *,
    seed: int = 0,
) -> tuple[EpsilonPoint, ...]:
    """Lay every threshold of `grid` on the same scores: no model is needed.

    Returns:
        One point for each value, in the order of `grid`; none if there are no decisions.

    Raises:
        InputError: if the decisions cannot be scored or are not of one conformal method.
    """
    if not decisions or not grid:
        return ()
    ready = [prepared(decision, settings) for decision in decisions]
    base = calibrate_prepared([prepared(decision, settings) for decision in calibration], settings)
    check_same_scores(decisions[0], base, settings)
    clusters = [cluster_of(decision.item) for decision in decisions]
    points = []
    for epsilon in grid:
        target = float(conformal.epsilon_of(epsilon))
        q_hat = recalibrated(base, replace(settings, target_success=target)).q_hat
        outcomes = [outcome_prepared(each, q_hat, settings) for each in ready]
        columns: dict[str, list[float | None]] = {
            "asks": [float(outcome.help) for outcome in outcomes],
            "right": [asked_well(outcome, settings) for outcome in outcomes],
            "size": [len(each.predicted) if each.decision.was_made else None for each in outcomes],
        }
        intervals = means(columns, clusters, counts=("size",), seed=seed)
        asks = intervals["asks"]
        assert asks is not None  # every decision asks or does not
        coverage = coverage_of(outcomes)
        points.append(EpsilonPoint(epsilon, q_hat, asks, intervals["right"], coverage, intervals["size"]))
    return tuple(points)
