"""Figures 3 and 4, and figures on conformal prediction (spec 7, 12)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from simulator.ambik import conformal
from simulator.ambik.coverage import epsilon_curve
from simulator.ambik.measures import Measure
from simulator.ambik.metrics import SHORT
from simulator.ambik.reporting.results import Result
from simulator.ambik.terms import CONFORMAL, remark
from simulator.figures import Bars, Figure, Level, Line, Mark, Panel
from simulator.stats import Interval

KEPT: Final = "at most the threshold"
ABOVE: Final = "above it"


def figures(results: Sequence[Result]) -> tuple[Figure, ...]:
    """Return all figures that have data."""
    candidates = (
        icr_figure(results),
        ssc_figure(results),
        nonconformity_figure(results),
        sizes_figure(results),
        coverage_figure(results),
        epsilon_figure(results),
    )
    return tuple(figure for figure in candidates if figure is not None)


def icr_figure(results: Sequence[Result]) -> Figure | None:
    """Return Fig. 3: ICR, with a panel for each type, robots on the x axis, and a bar for each method."""
    pairs = [result for result in results if result.dataset == "ambik"]
    panels = []
    for kind, title in SHORT.items():
        measured = ((result, result.measures.find_type(kind)) for result in pairs)
        marks = _by_method((result, kind.icr) for result, kind in measured if kind is not None)
        panels += [Panel(title, "robot", "ICR", marks)] if marks else []
    return _figure("figure-3", "Intent coverage (Fig. 3)", panels, "icr")


def ssc_figure(results: Sequence[Result]) -> Figure | None:
    """Return Fig. 4: SSC of the conformal methods, by robot."""
    conformal_ones = (each for each in results if each.method in CONFORMAL)
    pairs = (result for result in conformal_ones if result.dataset == "ambik")
    marks = _by_method((result, result.measures.overall.ssc) for result in pairs)
    panels = [Panel("", "robot", "SSC", marks)] if marks else []
    return _figure("figure-4", "Set size correctness (Fig. 4)", panels, "ssc")


def nonconformity_figure(results: Sequence[Result]) -> Figure | None:
    """Return histograms of right options' nonconformities, with two colours divided by the threshold."""
    panels = []
    for result in results:
        calibrated = result.calibrated
        if calibrated is None or result.settings.cp_rule == "reference":
            continue
        edges = conformal.histogram(calibrated.nonconformities)["edges"]
        if not edges:
            continue
        finite = [value for value in calibrated.nonconformities if math.isfinite(value)]
        infinite = len(calibrated.nonconformities) - len(finite)
        threshold = "infinite" if math.isinf(calibrated.q_hat) else f"{calibrated.q_hat:.4f}"
        more = f", {infinite} infinite" if infinite else ""
        title = f"{result.label}: threshold {threshold}, n {calibrated.n}{more}"
        marks = _histogram(finite, edges, calibrated.q_hat)
        panels.append(Panel(title, "nonconformity, lower end", "items", marks, y_range=None))
    return _figure("nonconformity", "Calibration", panels, "nonconformity", columns=1)


def sizes_figure(results: Sequence[Result]) -> Figure | None:
    """Return the distribution of set sizes."""
    decided = [result for result in results if result.outcomes]
    every = sorted({size for result in decided for size in result.measures.sizes})
    marks = [
        Bars(
            result.label,
            list(map(str, every)),
            [result.measures.sizes.get(size, 0) / len(result.outcomes) for size in every],
            n=len(result.outcomes),
        )
        for result in decided
    ]
    panels = [Panel("", "actions in the set", "share of tasks", marks)] if marks else []
    return _figure("set-sizes", "Sizes of prediction sets", panels, "sizes")


def coverage_figure(results: Sequence[Result]) -> Figure | None:
    """Return coverage with its interval, next to the predicted range."""
    measured: dict[str, Interval] = {}
    predicted: dict[str, Interval] = {}
    targets: dict[float, None] = {}
    for result in results:
        report = result.coverage
        if report is None or report.coverage is None or result.settings.cp_rule != "split":
            continue
        low, high = report.promised
        middle = min(max((report.guarantee.low + report.guarantee.high) / 2, low), high)
        measured[result.label] = report.coverage
        predicted[result.label] = Interval(middle, low, high, 0)
        targets[1 - report.epsilon] = None
    if not measured:
        return None
    marks: list[Mark] = [
        Bars.from_intervals("measured (Clopper-Pearson)", measured.items()),
        Bars.from_intervals("predicted (beta-binomial)", predicted.items(), counted=False),
        *(Level(target, f"target {target:g}") for target in targets),
    ]
    return _figure("coverage", "Coverage", [Panel("", "", "coverage", marks)], "coverage")


def epsilon_figure(results: Sequence[Result]) -> Figure | None:
    """Return accuracy of asking against the ask rate, and ask rate and coverage over epsilon."""
    accuracy, asking, coverage = list[Line](), list[Line](), list[Line]()
    for result in results:
        if not result.calibration or not result.outcomes:
            continue
        by_rate: dict[float, Interval] = {}
        points = epsilon_curve(result.decisions, result.calibration, result.settings)
        for point in points:
            if point.accuracy is not None:  # the smallest epsilon with this ask rate
                by_rate.setdefault(point.ask_rate.value, point.accuracy)
        accuracy += _lines(result.label, {rate: by_rate[rate] for rate in sorted(by_rate)})
        asking += _lines(result.label, {point.epsilon: point.ask_rate for point in points})
        covered = {point.epsilon: point.coverage for point in points if point.coverage is not None}
        coverage += _lines(result.label, covered)
    panels = [
        Panel(title, x, y, lines, x_range=(0, 1))
        for title, x, y, lines in (
            ("Accuracy against asking", "asks", "right to ask or act", accuracy),
            ("Asking", "epsilon", "asks", asking),
            ("Coverage", "epsilon", "coverage", coverage),
        )
        if lines
    ]
    return _figure("epsilon", "Asking as epsilon varies", panels, "epsilon")


def _figure(
    name: str, title: str, panels: Sequence[Panel], caption: str, *, columns: int | None = None
) -> Figure | None:
    """Return a figure; None without panels."""
    return Figure(name, title, panels, remark("figures", caption), columns=columns) if panels else None


def _lines(name: str, intervals: dict[float, Interval]) -> list[Line]:
    """Return a curve through the values with their intervals; empty without values."""
    if not intervals:
        return []
    low, high = zip(*(interval.reach for interval in intervals.values()), strict=True)
    return [Line(name, [*intervals], [interval.value for interval in intervals.values()], low, high)]


def _by_method(measured: Iterable[tuple[Result, Measure]]) -> list[Bars]:
    """Return a series of bars for each method, with a category for each robot."""
    series: dict[str, list[tuple[str, Interval]]] = {}
    for result, measure in measured:
        if measure.interval is not None:
            series.setdefault(result.method_name, []).append((result.name, measure.interval))
    return [Bars.from_intervals(method, intervals) for method, intervals in series.items()]


def _histogram(values: Sequence[float], edges: Sequence[float], q_hat: float) -> list[Bars]:
    """Return counts in bins as two series: up to the threshold, and above it."""
    digits = 2 if edges[-1] - edges[0] > 0.3 else 3
    names = [f"{edge:.{digits}f}" for edge in edges[:-1]]
    if len(set(names)) < len(names):
        names = [repr(edge) for edge in edges[:-1]]
    marks = []
    for title, below in ((KEPT, True), (ABOVE, False)):
        counts, _ = np.histogram([value for value in values if (value <= q_hat) == below], edges)
        marks.append(Bars(title, names, counts.tolist(), n=int(counts.sum())))
    return marks
