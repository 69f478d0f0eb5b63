"""The report on a conformal calibration: what was promised, and what happened (spec 7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from simulator.ambik import conformal
from simulator.ambik.conformal import (
    MARGINAL,
    NO_PROMISE,
    Caution,
    Histogram,
    Number,
    Quantile,
    Range,
    caution,
)
from simulator.ambik.measuring.outcome_rows import cluster_of
from simulator.ambik.records import Calibrated, Outcome
from simulator.ambik.settings import Settings
from simulator.stats import Interval, cluster_bootstrap


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageReport:
    """A calibration and its sets.

    Attributes:
        n: calibration items; `without`: those of them without any right candidate.
        epsilon: the error that is allowed.
        rank: l, from 1; n + 1 where nothing can be promised.
        q_hat: the threshold; `quantile`: how it was taken.
        guarantee: between what the probability of coverage lies.
        promised: central 95 % range of the empirical coverage of as many items as were tested, by the
            beta-binomial law; of endlessly many (Beta) if none were.
        tested: decisions, those included that were never made.
        coverage: of those sets whose true answer is known; None if there are none.
        unknown: sets without a known true answer.
        mean_size: of the sets that were made; None if there are none.
        empty: share of empty sets; None likewise.
        nonconformities: of the calibration's true answers.
        sizes: set size -> how many sets.
        warnings: what is wrong.
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
        """Whether the empirical coverage lies in the range that the law predicts; None if it is unknown."""
        if self.coverage is None:
            return None
        return self.promised.low <= self.coverage.value <= self.promised.high


def coverage_report(
    nonconformities: Sequence[float],
    epsilon: Number,
    *,
    coverage: Interval | None = None,
    sizes: Sequence[int | None] = (),
    unknown: int = 0,
    without: int = 0,
    quantile: Quantile = "exact",
    n: int | None = None,
    q_hat: float | None = None,
) -> CoverageReport:
    """Report on a calibration.

    Args:
        nonconformities: of the calibration items' true answers.
        epsilon: the error that is allowed.
        coverage: of the sets whose true answer is known; None if there are none. `Interval.n` counts items.
        sizes: of the sets; None for one that was never made.
        unknown: sets without a known true answer.
        without: calibration items without any right candidate.
        quantile: how the threshold is taken.
        n: calibration items, where their nonconformities were not kept.
        q_hat: the threshold, likewise.

    Raises:
        ValueError: if a nonconformity is not a number.
    """
    n = len(nonconformities) if n is None else n
    made = [size for size in sizes if size is not None]
    if coverage is None or not coverage.n:
        promised = conformal.beta_range(n, epsilon, quantile)
    else:
        promised = conformal.beta_binomial_range(n, epsilon, coverage.n, quantile)
    return CoverageReport(
        n=n,
        epsilon=float(conformal.exact(epsilon)),
        rank=conformal.rank(n, epsilon),
        q_hat=conformal.threshold(nonconformities, epsilon, quantile) if q_hat is None else q_hat,
        quantile=quantile,
        guarantee=conformal.guarantee(n, epsilon, quantile),
        promised=promised,
        tested=len(sizes),
        coverage=coverage,
        unknown=unknown,
        mean_size=sum(made) / len(made) if made else None,
        empty=made.count(0) / len(made) if made else None,
        without=without,
        nonconformities=conformal.histogram(nonconformities),
        sizes=dict(sorted(Counter(made).items())),
        warnings=conformal.warnings(n, epsilon, without, quantile),
    )


def report_of(calibrated: Calibrated, outcomes: Sequence[Outcome], settings: Settings) -> CoverageReport:
    """Report on a calibration and the sets that were made with it."""
    reference = settings.cp_rule == "reference"
    report = coverage_report(
        calibrated.nonconformities,
        calibrated.epsilon,
        coverage=coverage_of(outcomes),
        sizes=[len(outcome.predicted) if outcome.decision.was_made else None for outcome in outcomes],
        unknown=sum(outcome.covered is None for outcome in outcomes),
        without=calibrated.without,
        quantile="numpy_linear" if reference else settings.quantile,
        n=calibrated.n,
        q_hat=calibrated.q_hat,
    )
    if reference:
        return replace(report, warnings=(NO_PROMISE,))
    n, repeats, unaffordable = calibrated.n, calibrated.repeats, calibrated.unaffordable
    most = n - calibrated.rank + 1
    more = {
        caution("repeats", repeats=repeats, n=n): repeats,
        caution("unaffordable", unaffordable=unaffordable, n=n, most=most): unaffordable,
    }
    holding = (told for told, count in more.items() if count)
    return replace(report, warnings=(*report.warnings, *holding))


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
    pairs = [cluster_of(outcome.decision.item) for outcome in known]
    return cluster_bootstrap(covered, pairs)._replace(n=len(tasks))
