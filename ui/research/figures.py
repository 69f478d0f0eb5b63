"""Plots as the browser draws them: Plotly's plain values, in the language of the page."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from simulator import figures
from simulator.figures import Bars, Line, Stacked, to_plotly
from ui.i18n import Strings

Plotly = dict[str, Any]
_LEAST: Final = {1: 320, 2: 620, 3: 780}
_BAR: Final = 15


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot.

    Attributes:
        title: what it shows.
        note: how to read it.
        plotly: the figure as Plotly takes it.
        width: the least that it can be read at, in CSS pixels; on narrower screens it is scrolled.
    """

    title: str
    note: str
    plotly: Plotly
    width: int = 0


def plot(t: Strings, figure: figures.Figure) -> Figure:
    """Return a figure in the language of the page."""
    if t.phrases:
        figure = _translated(t, figure)
    return Figure(figure.title, figure.caption, to_plotly(figure), _width(figure))


def _translated(t: Strings, figure: figures.Figure) -> figures.Figure:
    panels = [
        replace(
            panel,
            title=t.phrase(panel.title),
            x_label=t.phrase(panel.x_label),
            y_label=t.phrase(panel.y_label),
            marks=[_named(t, mark) for mark in panel.marks],
        )
        for panel in figure.panels
    ]
    return replace(figure, title=t.phrase(figure.title), caption=t.phrase(figure.caption), panels=panels)


def _named(t: Strings, mark: figures.Mark) -> figures.Mark:
    named = replace(mark, name=t.phrase(mark.name))
    if isinstance(named, Bars | Stacked):
        return replace(named, categories=[t.phrase(category) for category in named.categories])
    return named


def _width(figure: figures.Figure) -> int:
    columns = min(figure.columns or len(figure.panels), 3)
    most = max(map(_bars, figure.panels))
    return max(_LEAST[columns], most * _BAR * columns)


def _bars(panel: figures.Panel) -> int:
    """Return how many bars stand side by side."""
    beside = sum(len(mark.categories) for mark in panel.marks if isinstance(mark, Bars))
    stacked = max((len(mark.categories) for mark in panel.marks if isinstance(mark, Stacked)), default=0)
    lines = 24 if any(isinstance(mark, Line) for mark in panel.marks) else 0
    return max(beside, 2 * stacked, lines)
