"""Figures of the simulator (`simulator.figures`) on the researchers' pages, for light and for dark ground."""

from __future__ import annotations

from typing import Final

from simulator import figures
from simulator.figures import Bars, Line, Stacked, to_plotly
from ui.i18n import Strings
from ui.research.figures import Figure

NAME: Final = "research.ambibench.plot"
_LEAST: Final = {1: 320, 2: 620, 3: 780}
_BAR: Final = 15


def plot(figure: figures.Figure, title: str, note: str = "") -> Figure:
    """Return a figure with title and note in the language of the page; what is in the plot stays as it is."""
    light = to_plotly(figure)
    both = {"light": light, "dark": to_plotly(figure, dark=True)}
    return Figure(figure.name, title, note, both, light["layout"]["height"], _width(figure))


def titled(t: Strings, figure: figures.Figure, name: str) -> Figure:
    """Return `plot` with title and note called ``{name}`` and ``{name}_note``."""
    return plot(figure, t(f"{NAME}.{name}"), t(f"{NAME}.{name}_note"))


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
