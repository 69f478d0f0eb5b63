"""The report on a conformal calibration: what was promised, and what happened (spec 7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simulator.ambik import conformal
from simulator.ambik.cautions import MARGINAL, Caution
from simulator.ambik.conformal import Histogram, Number, Quantile, Range
from simulator.stats import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageReport:
    """A calibration and its sets.

    Attributes:
        n: calibration items.
        epsilon: the error that is allowed.
        rank: l, from 1; n + 1 where nothing can be promised.
        q_hat: the threshold.
        quantile: how it was taken.
        guarantee: between what the probability of coverage lies.
        promised: central 95 % range of the empirical coverage of as many items as were tested, by the
            beta-binomial law; of endlessly many (Beta) if none were.
        tested: sets that were made.
        coverage: of those sets whose true answer is known, with the Clopper-Pearson interval; None if there
            are none.
        unknown: sets without a known true answer.
        mean_size: of the sets; None if there are none.
        empty: share of empty sets; None likewise.
        without: calibration items without any right candidate.
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
    covered: Sequence[bool | None] = (),
    sizes: Sequence[int] = (),
    without: int = 0,
    quantile: Quantile = "exact",
    bins: int = 20,
    n: int | None = None,
    q_hat: float | None = None,
) -> CoverageReport:
    """Report on a calibration.

    Args:
        nonconformities: of the calibration items' true answers.
        epsilon: the error that is allowed.
        covered: per tested item whether its set holds a true answer; None where none is known.
        sizes: of the tested items' sets.
        without: calibration items without any right candidate.
        quantile: how the threshold is taken.
        bins: of the histogram of nonconformities.
        n: calibration items, where their nonconformities were not kept.
        q_hat: the threshold, likewise.

    Raises:
        ValueError: if a nonconformity is not a number or `covered` and `sizes` differ in length.
    """
    if len(covered) != len(sizes):
        raise ValueError("coverage and sizes must be told of the same sets")
    n = len(nonconformities) if n is None else n
    known = [one for one in covered if one is not None]
    counts = Counter(sizes)
    return CoverageReport(
        n=n,
        epsilon=float(conformal.exact(epsilon)),
        rank=conformal.rank(n, epsilon),
        q_hat=conformal.threshold(nonconformities, epsilon, quantile) if q_hat is None else q_hat,
        quantile=quantile,
        guarantee=conformal.guarantee(n, epsilon, quantile),
        promised=_promised(n, epsilon, len(known), quantile),
        tested=len(covered),
        coverage=conformal.coverage(sum(known), len(known)) if known else None,
        unknown=len(covered) - len(known),
        mean_size=sum(sizes) / len(sizes) if sizes else None,
        empty=counts[0] / len(sizes) if sizes else None,
        without=without,
        nonconformities=conformal.histogram(nonconformities, bins),
        sizes={size: counts[size] for size in sorted(counts) if counts[size]},
        warnings=conformal.warnings(n, epsilon, without, quantile),
    )


def _promised(n: int, epsilon: Number, tested: int, quantile: Quantile) -> Range:
    if tested:
        return conformal.beta_binomial_range(n, epsilon, tested, quantile)
    return conformal.beta_range(n, epsilon, quantile)
