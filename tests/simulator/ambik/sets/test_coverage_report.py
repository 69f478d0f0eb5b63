"""The report on a calibration."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from simulator.ambik.cautions import MARGINAL, NO_PROMISE
from simulator.ambik.records import Decision
from simulator.ambik.sets.coverage import coverage_report
from simulator.ambik.sets.coverage_report import report_of
from simulator.ambik.sets.predicting import calibrate, outcome
from simulator.ambik.settings import Settings

HUNDRED = [place / 100 for place in range(1, 101)]


def test_a_report_tells_the_promise_and_what_happened() -> None:
    covered = [True] * 160 + [False] * 38 + [None] * 2
    sizes = [1] * 150 + [2] * 40 + [0] * 10
    report = coverage_report(HUNDRED, 0.2, covered=covered, sizes=sizes, without=3)
    assert (report.n, report.epsilon, report.rank, report.q_hat) == (100, 0.2, 81, 0.81)
    assert report.coverage is not None and report.coverage.n == 198
    assert report.coverage.value == pytest.approx(160 / 198)
    assert (report.tested, report.unknown, report.without) == (200, 2, 3)
    assert report.mean_size == pytest.approx(230 / 200)
    assert report.empty == pytest.approx(0.05)
    assert report.sizes == {0: 10, 1: 150, 2: 40}
    assert sum(report.nonconformities.counts) == 100
    assert report.promised.low < 0.8 < report.promised.high
    assert report.kept is True
    assert report.warnings == ()
    assert report.statement == MARGINAL


def test_a_report_before_anything_was_tested() -> None:
    report = coverage_report(HUNDRED, 0.2, quantile="numpy_higher")
    assert report.q_hat == 0.82
    assert report.coverage is report.mean_size is report.empty is report.kept is None
    assert report.promised.width < 0.16


def test_coverage_outside_of_the_range_is_told() -> None:
    report = coverage_report(HUNDRED, 0.2, covered=[False] * 50, sizes=[1] * 50)
    assert report.kept is False


def test_a_report_needs_a_size_for_every_set() -> None:
    with pytest.raises(ValueError, match="same sets"):
        coverage_report(HUNDRED, 0.2, covered=[True], sizes=[])


def test_the_report_of_a_run(make_decision: Callable[..., Decision]) -> None:
    decisions = [
        make_decision(tokens=(("A", math.log(share)), ("B", math.log(1 - share))), part="calibration")
        for share in (0.9, 0.8, 0.7, 0.6, 0.55)
    ]
    settings = Settings(temperature=1.0)
    calibrated = calibrate(decisions, settings)
    outcomes = [outcome(one, calibrated, settings) for one in decisions]
    report = report_of(calibrated, outcomes, settings)
    assert report.q_hat == calibrated.q_hat == pytest.approx(0.45)
    assert report.coverage is not None and report.coverage.value == 1
    thin = report_of(replace(calibrated, nonconformities=()), outcomes, settings)
    assert (thin.n, thin.q_hat, thin.nonconformities.counts) == (5, calibrated.q_hat, ())
    reference = replace(settings, cp_rule="reference")
    assert report_of(calibrate(decisions, reference), outcomes, reference).warnings == (NO_PROMISE,)
