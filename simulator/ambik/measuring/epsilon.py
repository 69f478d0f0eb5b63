"""What another target would have done: ask rate, accuracy and coverage over epsilon (spec 12, additions)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np

from simulator.ambik import conformal
from simulator.ambik.measuring import resampling
from simulator.ambik.measuring.outcome_rows import asked_well, cluster_of
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

    Args:
        decisions: of the test items, of one conformal method.
        calibration: of its calibration items.
        settings: all but the target.
        grid: values of epsilon, between 0 and 1.
        seed: of the resampling.

    Returns:
        One point for each value, in the order of `grid`; none if there are no decisions.

    Raises:
        InputError: if the decisions cannot be scored or are not of one conformal method.
    """
    if not decisions or not grid:
        return ()
    ready = [prepared(decision, settings) for decision in decisions]
    base = calibrate_prepared([prepared(one, settings) for one in calibration], settings)
    check_same_scores(decisions[0], base, settings)
    targets = [float(conformal.epsilon_of(value)) for value in grid]
    q_hats = [recalibrated(base, replace(settings, target_success=target)).q_hat for target in targets]
    table: list[list[float | None]] = []
    covered: list[Interval | None] = []
    for q_hat in q_hats:
        outcomes = [outcome_prepared(one, q_hat, settings) for one in ready]
        table.append([outcome.help for outcome in outcomes])
        table.append([asked_well(outcome, settings) for outcome in outcomes])
        table.append([len(outcome.predicted) if outcome.decision.was_made else None for outcome in outcomes])
        covered.append(coverage_of(outcomes))
    clusters = resampling.cluster_numbers([cluster_of(decision.item) for decision in decisions])
    sizes = range(2, len(table), 3)
    found = resampling.means(np.array(table, dtype=float).T, clusters, counts=sizes, seed=seed)
    return tuple(
        _point(epsilon, q_hat, found[3 * place : 3 * place + 3], covered[place])
        for place, (epsilon, q_hat) in enumerate(zip(grid, q_hats, strict=True))
    )


def _point(
    epsilon: float, q_hat: float, intervals: Sequence[Interval | None], covered: Interval | None
) -> EpsilonPoint:
    asks, accuracy, size = intervals
    if asks is None:
        raise ValueError("every decision asks or does not")
    return EpsilonPoint(epsilon, q_hat, asks, accuracy, covered, size)
