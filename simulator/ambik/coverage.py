"""The report on a conformal calibration: what was promised, and what happened (spec 7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, NamedTuple

from simulator.ambik import conformal
from simulator.ambik.conformal import MARGINAL, NO_PROMISE, Caution, Histogram, Range, caution
from simulator.ambik.measures import means
from simulator.ambik.metrics import asks_as_needed
from simulator.ambik.predicting import (
    calibrate,
    check_same_scores,
    outcome_prepared,
    prepared,
    recalibrated,
)
from simulator.ambik.records import Calibrated, Decision, Outcome
from simulator.ambik.terms import Quantile, Settings
from simulator.stats import Interval, cluster_bootstrap


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageReport:
    """A calibration and its sets.

    Attributes:
        n: calibration items; `without`: those of them without any right candidate.
        rank: l, from 1; n + 1 where nothing can be promised.
        q_hat: the threshold; `quantile`: how it was taken.
        guarantee: between what the probability of coverage lies.
        promised: central 95 % range of the empirical coverage of as many items as were tested, by the
            beta-binomial law; of endlessly many (Beta) if none were.
        tested: decisions, those included that were never made.
        coverage: of those sets whose true answer is known; None if there are none.
        mean_size: of the sets that were made; None if there are none.
        empty: share of empty sets; None likewise.
        sizes: set size -> how many sets.
        statement: what is promised and what is not; to be shown beside the numbers.
    """

    n: int
    epsilon: float
    rank: int
    q_hat: float
    quantile: Quantile
    guarantee: Range
    promised: Range
    tested: int
    coverage: Interval | None
    unknown: int
    mean_size: float | None
    empty: float | None
    without: int
    nonconformities: Histogram
    sizes: Mapping[int, int]
    warnings: tuple[Caution, ...]
    statement: Caution = MARGINAL

    @property
    def kept(self) -> bool | None:
        """Return True if the coverage lies in the range that the law predicts; None if it is unknown."""
        if self.coverage is None:
            return None
        return self.promised.low <= self.coverage.value <= self.promised.high


def report_of(calibrated: Calibrated, outcomes: Sequence[Outcome], settings: Settings) -> CoverageReport:
    """Report on a calibration and the sets that were made with it, both under `settings`.

    Of outcomes of one type alone nothing is promised.
    """
    reference = settings.cp_rule == "reference"
    quantile: Quantile = "numpy_linear" if reference else settings.quantile
    n, epsilon, coverage = calibrated.n, calibrated.epsilon, coverage_of(outcomes)
    made = [len(outcome.predicted) for outcome in outcomes if outcome.decision.was_made]
    if coverage is None or not coverage.n:
        promised = conformal.beta_range(n, epsilon, quantile)
    else:
        promised = conformal.beta_binomial_range(n, epsilon, coverage.n, quantile)
    cautions = {
        caution("repeats", repeats=calibrated.repeats, n=n): calibrated.repeats,
        caution(
            "unaffordable", unaffordable=calibrated.unaffordable, n=n, most=n - calibrated.rank + 1
        ): calibrated.unaffordable,
    }
    holding = (each for each, count in cautions.items() if count)
    warnings = (*conformal.warnings(n, epsilon, calibrated.without, quantile), *holding)
    return CoverageReport(
        n=n,
        epsilon=float(conformal.exact(epsilon)),
        rank=conformal.rank(n, epsilon),
        q_hat=calibrated.q_hat,
        quantile=quantile,
        guarantee=conformal.guarantee(n, epsilon, quantile),
        promised=promised,
        tested=len(outcomes),
        coverage=coverage,
        unknown=sum(outcome.covered is None for outcome in outcomes),
        mean_size=sum(made) / len(made) if made else None,
        empty=made.count(0) / len(made) if made else None,
        without=calibrated.without,
        nonconformities=conformal.histogram(calibrated.nonconformities),
        sizes=dict(sorted(Counter(made).items())),
        warnings=(NO_PROMISE,) if reference else warnings,
    )


def coverage_of(outcomes: Sequence[Outcome]) -> Interval | None:
    """Return the share of sets with a right option; None where no right option is known.

    Clopper and Pearson's interval holds where each task was played once; otherwise whole pairs are resampled.
    `Interval.n` counts tasks.
    """
    known = [outcome for outcome in outcomes if outcome.covered is not None]
    covered = [float(bool(outcome.covered)) for outcome in known]
    tasks = {outcome.decision.task for outcome in known}
    if not known or len(tasks) == len(known):
        return conformal.coverage(int(sum(covered)), len(known)) if known else None
    pairs = [outcome.decision.item.cluster for outcome in known]
    return cluster_bootstrap(covered, pairs)._replace(n=len(tasks))


# ---- what another target would have done

GRID: Final = tuple(float(Fraction(step, 40)) for step in range(1, 40))
"""Every fortieth between 0 and 1."""


class EpsilonPoint(NamedTuple):
    """One epsilon.

    Attributes:
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
) -> tuple[EpsilonPoint, ...]:
    """Lay every threshold of `grid` on the same scores: no model is needed.

    Returns:
        One point for each value, in the order of `grid`; none if there are no decisions.
    """
    if not decisions or not grid:
        return ()
    ready = [prepared(decision, settings) for decision in decisions]
    base = calibrate(calibration, settings)
    check_same_scores(decisions[0], base, settings)
    clusters = [decision.item.cluster for decision in decisions]
    points = []
    for epsilon in grid:
        target = float(conformal.epsilon_of(epsilon))
        q_hat = recalibrated(base, replace(settings, target_success=target)).q_hat
        outcomes = [outcome_prepared(each, q_hat, settings) for each in ready]
        columns: dict[str, list[float | None]] = {
            "asks": [float(outcome.help) for outcome in outcomes],
            "right": [asks_as_needed(outcome, settings) for outcome in outcomes],
            "size": [len(each.predicted) if each.decision.was_made else None for each in outcomes],
        }
        intervals = means(columns, clusters, counts=("size",))
        asks = intervals["asks"]
        assert asks is not None  # every decision asks or does not
        coverage = coverage_of(outcomes)
        points.append(EpsilonPoint(epsilon, q_hat, asks, intervals["right"], coverage, intervals["size"]))
    return tuple(points)
