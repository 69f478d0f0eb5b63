"""Figures 3 and 4, and those of conformal prediction (spec 7, 12)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from simulator.ambik import conformal
from simulator.ambik.measuring.epsilon import EpsilonPoint, epsilon_curve
from simulator.ambik.measuring.measures import Measure
from simulator.ambik.reporting.groups import Result
from simulator.ambik.reporting.tables import SHORT
from simulator.ambik.terms import CONFORMAL
from simulator.figures import Bars, Figure, Level, Line, Mark, Panel
from simulator.stats import Interval

BINS: Final = 20
KEPT: Final = "at most the threshold"
ABOVE: Final = "above it"


def figures(results: Sequence[Result]) -> tuple[Figure, ...]:
    """Return all figures for which there is something to draw."""
    made = [make(results) for make in _MAKERS]
    return tuple(one for one in made if one is not None)


def icr_figure(results: Sequence[Result]) -> Figure | None:
    """Fig. 3: ICR, a panel for each type; who decides below, a bar for each method."""
    panels = []
    for kind, title in SHORT.items():
        found = [(result, result.measures.of(kind)) for result in results if result.group.dataset == "ambik"]
        marks = _bars([(one, of.icr) for one, of in found if of is not None])
        if marks:
            panels.append(Panel(title, "robot", "ICR", marks))
    if not panels:
        return None
    caption = (
        "Share of the intent's concepts that the prediction set realises, with 95 % intervals over pairs."
    )
    return Figure("figure-3", "Intent coverage (Fig. 3)", panels, caption)


def ssc_figure(results: Sequence[Result]) -> Figure | None:
    """Fig. 4: SSC of the conformal methods, by robot."""
    some = [
        result for result in results if result.group.method in CONFORMAL and result.group.dataset == "ambik"
    ]
    marks = _bars([(one, one.measures.overall.ssc) for one in some])
    if not marks:
        return None
    caption = "Overlap of prediction set and shortlist; preferences with a shortlist alone. 95 % intervals."
    return Figure("figure-4", "Set size correctness (Fig. 4)", [Panel("", "robot", "SSC", marks)], caption)


def nonconformity_figure(results: Sequence[Result]) -> Figure | None:
    """Nonconformities of right options, with the threshold between two colours."""
    panels = []
    for result in results:
        found = result.calibrated
        if found is None or not found.nonconformities or result.settings.cp_rule == "reference":
            continue
        edges = conformal.histogram(found.nonconformities, BINS).edges
        finite = [value for value in found.nonconformities if math.isfinite(value)]
        if not edges:
            continue
        infinite = len(found.nonconformities) - len(finite)
        told = "infinite" if math.isinf(found.q_hat) else f"{found.q_hat:.4f}"
        more = f", {infinite} infinite" if infinite else ""
        marks = _histogram(finite, edges, found.q_hat)
        title = f"{result.label}: threshold {told}, n {found.n}{more}"
        panels.append(Panel(title, "nonconformity, lower end", "items", marks, y_range=None))
    if not panels:
        return None
    caption = (
        "Nonconformity of the right option of each calibration item. Where the colour changes is the "
        "threshold: every option up to it is in a prediction set."
    )
    return Figure("nonconformity", "Calibration", panels, caption, columns=1)


def sizes_figure(results: Sequence[Result]) -> Figure | None:
    """Sizes of prediction sets."""
    some = [result for result in results if result.outcomes]
    if not some:
        return None
    every = sorted({size for one in some for size in one.measures.sizes})
    marks = [
        Bars(
            one.label,
            list(map(str, every)),
            [one.measures.sizes.get(size, 0) / len(one.outcomes) for size in every],
            n=len(one.outcomes),
        )
        for one in some
    ]
    panel = Panel("", "actions in the set", "share of tasks", marks)
    return Figure("set-sizes", "Sizes of prediction sets", [panel], "Fillers (do nothing) are left out.")


def coverage_figure(results: Sequence[Result]) -> Figure | None:
    """Coverage with its interval beside what the law predicts."""
    some = [
        (result, result.coverage)
        for result in results
        if result.coverage is not None
        and result.coverage.coverage is not None
        and result.settings.cp_rule == "split"
    ]
    if not some:
        return None
    names = [one.label for one, _ in some]
    measured = [report.coverage for _, report in some if report.coverage is not None]
    expected = [
        min(
            max((report.guarantee.low + report.guarantee.high) / 2, report.promised.low), report.promised.high
        )
        for _, report in some
    ]
    marks: list[Mark] = [
        Bars(
            "measured (Clopper-Pearson)",
            names,
            [one.value for one in measured],
            [one.reach[0] for one in measured],
            [one.reach[1] for one in measured],
            [one.n for one in measured],
        ),
        Bars(
            "predicted (beta-binomial)",
            names,
            expected,
            [report.promised.low for _, report in some],
            [report.promised.high for _, report in some],
        ),
    ]
    targets = dict.fromkeys(1 - report.epsilon for _, report in some)
    marks += [Level(target, f"target {target:g}") for target in targets]
    caption = (
        "Share of sets that hold a right option. The guarantee is marginal, over items of the calibration's "
        "kind; of test tasks the intent alone is right, so preferences can lie below it."
    )
    return Figure("coverage", "Coverage", [Panel("", "", "coverage", marks)], caption)


def epsilon_figure(results: Sequence[Result]) -> Figure | None:
    """Accuracy of asking against how often is asked, and both over epsilon, as the threshold moves."""
    curves: list[tuple[str, tuple[EpsilonPoint, ...]]] = []
    for result in results:
        if result.group.calibration and result.outcomes:
            curves.append(
                (
                    result.label,
                    epsilon_curve(result.group.decisions, result.group.calibration, result.settings),
                )
            )
    panels = [
        _panel(
            "Accuracy against asking", "asks", "right to ask or not", [_against(*curve) for curve in curves]
        ),
        _panel("Asking", "epsilon", "asks", [_over(name, points, _asks) for name, points in curves]),
        _panel("Coverage", "epsilon", "coverage", [_over(name, points, _covers) for name, points in curves]),
    ]
    held = [panel for panel in panels if panel is not None]
    if not held:
        return None
    caption = "Every fortieth between 0 and 1 as epsilon, on the same scores; 95 % intervals over pairs."
    return Figure("epsilon", "To ask or not, as epsilon varies", held, caption)


def _asks(point: EpsilonPoint) -> tuple[float, float, float] | None:
    return _drawn(point.ask_rate)


def _drawn(interval: Interval) -> tuple[float, float, float]:
    return interval.value, *interval.reach


def _covers(point: EpsilonPoint) -> tuple[float, float, float] | None:
    return None if point.coverage is None else _drawn(point.coverage)


def _over(
    name: str,
    points: Sequence[EpsilonPoint],
    of: Callable[[EpsilonPoint], tuple[float, float, float] | None],
) -> Line | None:
    known = [(point.epsilon, found) for point in points if (found := of(point)) is not None]
    if not known:
        return None
    x, values = [one for one, _ in known], [found for _, found in known]
    return _line(name, x, values)


def _against(name: str, points: Sequence[EpsilonPoint]) -> Line | None:
    """Accuracy by ask rate; of several epsilons that ask as often the smallest."""
    by_rate: dict[float, tuple[float, float, float]] = {}
    for point in points:
        if point.accuracy is not None:
            by_rate.setdefault(point.ask_rate.value, _drawn(point.accuracy))
    if not by_rate:
        return None
    x = sorted(by_rate)
    return _line(name, x, [by_rate[one] for one in x])


def _line(name: str, x: Sequence[float], values: Sequence[tuple[float, float, float]]) -> Line:
    """Return a curve through values with the ends of their intervals."""
    return Line(
        name,
        x,
        [value[0] for value in values],
        [value[1] for value in values],
        [value[2] for value in values],
    )


def _panel(title: str, x: str, y: str, lines: Sequence[Line | None]) -> Panel | None:
    held = [line for line in lines if line is not None]
    return Panel(title, x, y, held, x_range=(0, 1)) if held else None


def _bars(results: Sequence[tuple[Result, Measure]]) -> list[Bars]:
    """Return a series for each method, a category for each robot."""
    series: dict[str, list[tuple[str, Measure]]] = {}
    for one, measure in results:
        if measure.interval is not None:
            series.setdefault(one.group.method_name, []).append((one.name, measure))
    marks = []
    for method, some in series.items():
        told = [(name, of.interval) for name, of in some if of.interval is not None]
        marks.append(
            Bars(
                method,
                [name for name, _ in told],
                [of.value for _, of in told],
                [of.reach[0] for _, of in told],
                [of.reach[1] for _, of in told],
                [of.n for _, of in told],
            )
        )
    return marks


def _histogram(values: Sequence[float], edges: Sequence[float], q_hat: float) -> list[Bars]:
    """Counts in bins, those up to the threshold and those above it each in its own series."""
    digits = 2 if edges[-1] - edges[0] > 0.3 else 3
    bins = len(edges) - 1
    names = [f"{edge:.{digits}f}" for edge in edges[:-1]]
    if len(set(names)) < bins:
        names = [repr(edge) for edge in edges[:-1]]
    width = (edges[-1] - edges[0]) / bins
    marks = []
    for title, below in ((KEPT, True), (ABOVE, False)):
        counts = [0] * bins
        for value in values:
            if (value <= q_hat) == below:
                counts[min(int((value - edges[0]) / width), bins - 1) if width else 0] += 1
        marks.append(Bars(title, names, counts, n=sum(counts)))
    return marks


_MAKERS: Final = (
    icr_figure,
    ssc_figure,
    nonconformity_figure,
    sizes_figure,
    coverage_figure,
    epsilon_figure,
)
