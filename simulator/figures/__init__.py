"""Figures: described as plain values, drawn by plotly for pages and by matplotlib for print.

::

    panel = Panel("", "example", "accuracy", [Line("people", x, y, low, high), Level(0.5, "chance")])
    figure = Figure("by-example", "Accuracy by example", [panel])
    save(figure, "by-example.svg")      # or .png, .html, .csv, .json
    to_plotly(figure, dark=True)        # for a page that has plotly.js
"""

from simulator.figures.files import save
from simulator.figures.interactive import to_plotly
from simulator.figures.spec import Bars, Figure, Level, Line, Mark, Panel, Stacked
from simulator.figures.tables import Cell, Column, Table
from simulator.figures.venn import Venn

__all__ = [
    "Bars",
    "Cell",
    "Column",
    "Figure",
    "Level",
    "Line",
    "Mark",
    "Panel",
    "Stacked",
    "Table",
    "Venn",
    "save",
    "to_plotly",
]
