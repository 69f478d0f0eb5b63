"""Marks and panels that several figures are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import pandas as pd

from simulator.ambibench.features import Kind, Pair, Setting
from simulator.ambibench.oracle import exact_curve
from simulator.ambibench.reporting.measures import means, split
from simulator.ambibench.reporting.wording import CHANCE, FEATURE_TITLES, ORACLE
from simulator.figures import Bars, Figure, Level, Line, Panel
from simulator.figures.spec import Style
from simulator.stats import Interval

EXAMPLE: Final = "example"
ACCURACY: Final = "accuracy"
HALF: Final = Level(0.5, CHANCE)


class Drawn(NamedTuple):
    """What became of a figure.

    Attributes:
        figure: None if there is nothing that it could show.
        missing: what it lacks, with the command that plays it.
    """

    figure: Figure | None
    missing: tuple[str, ...]


def drawn(
    name: str, title: str, panels: Sequence[Panel], caption: str, missing: Iterable[str], columns: int = 0
) -> Drawn:
    """Return a figure of the panels that there are; its caption says what it lacks."""
    lacks = tuple(dict.fromkeys(missing))
    if not panels:
        return Drawn(None, lacks)
    if lacks:
        caption = (
            f"{caption} Not in it, for lack of data: {'; '.join(lack.partition(':')[0] for lack in lacks)}."
        )
    grid = min(columns, len(panels)) or None
    return Drawn(Figure(name, title, tuple(panels), caption, grid), lacks)


def run_missing(setting: Setting, kind: Kind | None = None, fold: Pair | None = None) -> str:
    """Return what is missing, and the command that plays it."""
    what, options = f"setting {setting}", f"--setting {setting}"
    if kind is not None:
        what, options = f"{what} with {kind} instructions", f"{options} --kind {kind}"
    if fold is not None:
        what, options = f"{what}, held-out pair {fold}", f"{options} --fold {fold}"
    return f"no models in {what}: askback run ambibench {options} --model NAME"


def people_missing(setting: Setting, kind: Kind) -> str:
    """Return the same of people, who take part in the browser."""
    return f"no people in setting {setting} with {kind} instructions: name a run of a study, or --from FILE"


def label_curves(trials: pd.DataFrame, measure: str = "correct") -> list[Line]:
    """Return one line per actor: a measure over k."""
    return [curve(actor, points) for actor, points in split(means(trials, measure, ("actor", "k"))).items()]


def curve(
    name: str, points: Mapping[Any, Interval], *, style: Style = "solid", colour: str | None = None
) -> Line:
    """Return a line through points at k = 1, 2, …."""
    low, high = bounds(points)
    return Line(
        name=name,
        x=[int(k) for k in points],
        y=[point.value for point in points.values()],
        low=low,
        high=high,
        style=style,
        colour=colour,
        n=[point.n for point in points.values()],
    )


def oracle_line(length: int) -> Line:
    """Return the Bayes-optimal learner's exact expectation."""
    return Line(ORACLE, list(range(1, length + 1)), exact_curve(length).bayes, style="dashed", colour="ink")


def bars(name: str, points: Mapping[Any, Interval], titles: Mapping[str, str] | None = None) -> Bars:
    """Return a bar per category that has a value."""
    low, high = bounds(points)
    return Bars(
        name=name,
        categories=[(titles or {}).get(point, point) for point in points],
        y=[point.value for point in points.values()],
        low=low,
        high=high,
        n=[point.n for point in points.values()],
    )


def bounds(points: Mapping[Any, Interval]) -> tuple[list[float], list[float]]:
    """Lower and upper ends for drawing: a whisker reaches its mean also where resampling did not."""
    low = [min(*point.reach, point.value) for point in points.values()]
    return low, [max(*point.reach, point.value) for point in points.values()]


def feature_lines(table: Mapping[Any, Mapping[Any, Interval]]) -> list[Line]:
    """Return one line per salient feature."""
    return [curve(FEATURE_TITLES[feature], points) for feature, points in table.items()]


def k_panel(title: str, marks: Sequence[Line], y_label: str = ACCURACY, *, chance: bool = True) -> Panel:
    """Lines over k, from 0 to 1."""
    last = max(max(line.x) for line in marks)
    ticks = [1, *range(5, int(last) + 1, 5)] if last >= 5 else list(range(1, int(last) + 1))
    return Panel(title, EXAMPLE, y_label, (*marks, *([HALF] if chance else [])), x_ticks=ticks)


def bar_panel(title: str, marks: Sequence[Bars], x_label: str = "salient feature") -> Panel:
    """Grouped bars, from 0 to 1."""
    return Panel(title, x_label, ACCURACY, (*marks, HALF))
