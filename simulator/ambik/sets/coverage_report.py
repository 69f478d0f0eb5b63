"""The report on a method's calibration and its sets (spec 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simulator.ambik.cautions import NO_PROMISE, caution
from simulator.ambik.records import Calibrated, Outcome
from simulator.ambik.sets.coverage import CoverageReport, coverage_report
from simulator.ambik.settings import Settings


def report_of(calibrated: Calibrated, outcomes: Sequence[Outcome], settings: Settings) -> CoverageReport:
    """Report on a calibration and the sets that were made with it.

    Args:
        calibrated: the calibration.
        outcomes: of the test items, or of one type of them, for which nothing is promised.
        settings: under which both were made.
    """
    reference = settings.cp_rule == "reference"
    report = coverage_report(
        calibrated.nonconformities,
        calibrated.epsilon,
        covered=[one.covered for one in outcomes],
        sizes=[len(one.predicted) for one in outcomes],
        without=calibrated.without,
        quantile="numpy_linear" if reference else settings.quantile,
        n=calibrated.n,
        q_hat=calibrated.q_hat,
    )
    if reference:
        return replace(report, warnings=(NO_PROMISE,))
    if calibrated.unaffordable:
        told = caution(
            "unaffordable",
            unaffordable=calibrated.unaffordable,
            n=calibrated.n,
            most=calibrated.n - calibrated.rank + 1,
        )
        return replace(report, warnings=(*report.warnings, told))
    return report
