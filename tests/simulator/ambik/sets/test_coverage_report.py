"""The report on a calibration."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from simulator.ambik import conformal
from simulator.ambik.conformal import MARGINAL, NO_PROMISE
from simulator.ambik.coverage import CoverageReport, epsilon_curve, report_of
from simulator.ambik.items import Pair
from simulator.ambik.measures import measures
from simulator.ambik.predicting import calibrate, outcome
from simulator.ambik.records import ABORTED, Calibrated, Decision, Outcome
from simulator.ambik.terms import Quantile, Settings

MakeDecision = Callable[..., Decision]
MakePair = Callable[..., Pair]
HUNDRED = [place / 100 for place in range(1, 101)]


def report_on(
    sets: Sequence[tuple[int, bool | None]] = (), *, quantile: Quantile = "exact", without: int = 0
) -> CoverageReport:
    """The report on a hundred items, and sets of such sizes, each covered or not."""
    calibrated = Calibrated(
        q_hat=conformal.threshold(HUNDRED, 0.2, quantile),
        n=100,
        epsilon=0.2,
        rank=81,
        nonconformities=tuple(HUNDRED),
        without=without,
    )
    outcomes = []
    for number, (size, covered) in enumerate(sets):
        made: Any = SimpleNamespace(was_made=True, task=str(number))
        outcomes.append(Outcome(decision=made, predicted=("x",) * size, help=size > 1, covered=covered))
    return report_of(calibrated, outcomes, Settings(quantile=quantile))


def test_a_report_tells_the_promise_and_what_happened() -> None:
    sizes = [1] * 150 + [2] * 40 + [0] * 10
    covered = [True] * 160 + [False] * 38 + [None] * 2
    report = report_on([*zip(sizes, covered, strict=True)], without=3)
    assert (report.n, report.epsilon, report.rank, report.q_hat) == (100, 0.2, 81, 0.81)
    assert report.coverage is not None and report.coverage.n == 198
    assert report.coverage.value == pytest.approx(160 / 198)
    assert (report.tested, report.unknown, report.without) == (200, 2, 3)
    assert report.mean_size == pytest.approx(230 / 200)
    assert report.empty == pytest.approx(0.05)
    assert report.sizes == {0: 10, 1: 150, 2: 40}
    assert sum(report.nonconformities["counts"]) == 100
    assert report.promised.low < 0.8 < report.promised.high
    assert report.kept is True
    assert report.warnings == ()
    assert report.statement == MARGINAL


def test_a_report_before_anything_was_tested() -> None:
    report = report_on(quantile="numpy_higher")
    assert report.q_hat == 0.82
    assert report.coverage is report.mean_size is report.empty is report.kept is None
    assert report.promised.width < 0.16


def test_coverage_outside_the_range_is_reported() -> None:
    report = report_on([(1, False)] * 50)
    assert report.kept is False


def five(make_decision: MakeDecision, make_pair: MakePair) -> list[Decision]:
    return [
        make_decision(
            make_pair(f"p{share}"),
            tokens=(("A", math.log(share)), ("B", math.log(1 - share))),
            part="calibration",
        )
        for share in (0.9, 0.8, 0.7, 0.6, 0.55)
    ]


def test_repeats_of_an_item_are_one_observation(make_decision: MakeDecision, make_pair: MakePair) -> None:
    decisions, settings = five(make_decision, make_pair), Settings(temperature=1.0)
    again = [replace(decision, tokens=(("A", math.log(0.3)), ("B", math.log(0.7)))) for decision in decisions]
    once, twice = calibrate(decisions, settings), calibrate([*decisions, *again], settings)
    assert (twice.q_hat, twice.n, twice.rank) == (once.q_hat, 5, once.rank)
    assert (once.repeats, twice.repeats) == (0, 5)
    outcomes = [outcome(decision, twice, settings) for decision in (*decisions, *again)]
    report = report_of(twice, outcomes, settings)
    assert any(
        "counts each of its 5 items once: 5 repeated decisions" in str(warning) for warning in report.warnings
    )
    assert report.coverage is not None and (report.coverage.value, report.coverage.n) == (0.5, 5)
    alone = report_of(once, outcomes[:5], settings)
    assert alone.promised == report.promised, "ten sets of five items are five observations"
    assert not any("repeated" in str(warning) for warning in alone.warnings)


def test_a_set_that_was_never_made_has_no_size(make_decision: MakeDecision, make_pair: MakePair) -> None:
    decisions, settings = five(make_decision, make_pair), Settings(temperature=1.0)
    calibrated = calibrate(decisions, settings)
    broken = replace(decisions[4], flags=(ABORTED,))
    outcomes = [outcome(decision, calibrated, settings) for decision in (*decisions[:4], broken)]
    report, measured = report_of(calibrated, outcomes, settings), measures(outcomes, settings)
    assert (report.mean_size, report.empty, report.sizes) == (1, 0, {1: 4})
    assert (report.tested, report.coverage and report.coverage.value) == (5, 0.8)
    size, empty = measured.overall.set_size, measured.overall.empty
    assert (size.value, size.n, size.left_out) == (1, 4, {"nothing decided": 1})
    assert (empty.value, empty.n, measured.sizes) == (0, 4, {1: 4})
    point = epsilon_curve([*decisions[:1], broken], decisions, settings, (0.4,))[0]
    assert point.set_size is not None and point.set_size.value == 1
    assert epsilon_curve([broken], decisions, settings, (0.4,))[0].set_size is None


def test_the_report_of_a_run(make_decision: MakeDecision, make_pair: MakePair) -> None:
    decisions = five(make_decision, make_pair)
    settings = Settings(temperature=1.0)
    calibrated = calibrate(decisions, settings)
    outcomes = [outcome(decision, calibrated, settings) for decision in decisions]
    report = report_of(calibrated, outcomes, settings)
    assert report.q_hat == calibrated.q_hat == pytest.approx(0.45)
    assert report.coverage is not None and report.coverage.value == 1
    thin = report_of(replace(calibrated, nonconformities=()), outcomes, settings)
    assert (thin.n, thin.q_hat, thin.nonconformities["counts"]) == (5, calibrated.q_hat, ())
    reference = replace(settings, cp_rule="reference")
    assert report_of(calibrate(decisions, reference), outcomes, reference).warnings == (NO_PROMISE,)
