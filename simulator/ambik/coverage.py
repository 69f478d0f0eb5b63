"""The report on a conformal calibration: guaranteed and observed coverage (spec 7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, NamedTuple

from simulator.ambik import conformal
from simulator.ambik.conformal import MARGINAL, NO_PROMISE, Caution, Range, caution
from simulator.ambik.measures import means
from simulator.ambik.metrics import asks_as_needed
from simulator.ambik.predicting import apply_threshold, calibrate, check_same_scores, prepare, recalibrate
from simulator.ambik.records import Calibrated, Decision, Outcome
from simulator.ambik.terms import Quantile, Settings
from simulator.stats import Interval, cluster_bootstrap


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageReport:
    """A calibration and its prediction sets.

    Attributes:
        n: number of calibration items; `without`: the number of those without any right candidate.
        rank: l, from 1; n + 1 where nothing can be guaranteed.
        guarantee: bounds on the probability of coverage.
        promised: central 95 % range of the empirical coverage on as many items as were tested
            (beta-binomial), or on infinitely many (Beta) if none were tested.
        tested: number of decisions, including those that were never made.
        coverage: of the sets whose true answer is known; None if there are none.
        mean_size: mean size of the sets made; None if there are none.
        empty: share of empty sets; None if no set was made.
        statement: what the guarantee covers and what it does not; to be shown with the numbers.
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
    nonconformities: Mapping[str, Any]
    sizes: Mapping[int, int]
    warnings: tuple[Caution, ...]
    statement: Caution = MARGINAL

    @property
    def kept(self) -> bool | None:
        """True if the coverage is in the predicted range; None if it is unknown."""
        if self.coverage is None:
            return None
        return self.promised.low <= self.coverage.value <= self.promised.high


def report_of(calibrated: Calibrated, outcomes: Sequence[Outcome], settings: Settings) -> CoverageReport:
    """Report on a calibration and the sets made with it, both under `settings`.

    The guarantee does not apply to outcomes of a single type.
    """
    reference = settings.cp_rule == "reference"
    quantile: Quantile = "numpy_linear" if reference else settings.quantile
    n, epsilon, coverage = calibrated.n, calibrated.epsilon, coverage_of(outcomes)
    made = [len(outcome.predicted) for outcome in outcomes if outcome.decision.was_made]
    if coverage is None or not coverage.n:
        promised = conformal.beta_range(n, epsilon, quantile)
    else:
        promised = conformal.beta_binomial_range(n, epsilon, coverage.n, quantile)
    warnings = list(conformal.warnings(n, epsilon, calibrated.without, quantile))
    if repeats := calibrated.repeats:
        warnings.append(caution("repeats", repeats=repeats, n=n))
    if unaffordable := calibrated.unaffordable:
        warnings.append(caution("unaffordable", unaffordable=unaffordable, n=n, most=n - calibrated.rank + 1))
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
        warnings=(NO_PROMISE,) if reference else tuple(warnings),
    )


def coverage_of(outcomes: Sequence[Outcome]) -> Interval | None:
    """Return the share of sets with a right option; None where no right option is known.

    The interval is Clopper-Pearson where each task was played once; otherwise pairs are resampled.
    `Interval.n` counts tasks.
    """
    known = [outcome for outcome in outcomes if outcome.covered is not None]
    covered = [float(bool(outcome.covered)) for outcome in known]
    tasks = {outcome.decision.task for outcome in known}
    if not known or len(tasks) == len(known):
        return conformal.coverage(int(sum(covered)), len(known)) if known else None
    pairs = [outcome.decision.item.cluster for outcome in known]
    return cluster_bootstrap(covered, pairs)._replace(n=len(tasks))


# ---- results at other targets

GRID: Final = tuple(float(Fraction(step, 40)) for step in range(1, 40))
"""Every fortieth between 0 and 1."""


class EpsilonPoint(NamedTuple):
    """The results at one epsilon.

    Attributes:
        ask_rate: share of tasks about which the robot asks.
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
    """Apply the threshold of every epsilon in `grid` to the same scores; no model is needed.

    Returns:
        One point for each epsilon, in the order of `grid`; empty if there are no decisions.
    """
    if not decisions or not grid:
        return ()
    ready = [prepare(decision, settings) for decision in decisions]
    base = calibrate(calibration, settings)
    check_same_scores(decisions[0], base, settings)
    clusters = [decision.item.cluster for decision in decisions]
    points = []
    for epsilon in grid:
        target = float(conformal.epsilon_of(epsilon))
        q_hat = recalibrate(base, replace(settings, target_success=target)).q_hat
        outcomes = [apply_threshold(each, q_hat, settings) for each in ready]
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
