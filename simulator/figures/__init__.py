"""Figures: described as plain values, drawn as Vega-Lite charts on pages and in print.

::

    panel = Panel("", "example", "accuracy", [Line("people", x, y, low, high), Level(0.5, "chance")])
    figure = Figure("by-example", "Accuracy by example", [panel])
    save(figure, "by-example.svg")      # or .png, .html, .csv, .json
    to_vega_lite(figure)                # for a page that has vega-embed
"""

from simulator.figures.files import save
from simulator.figures.spec import Bars, Figure, Level, Line, Mark, Panel, Stacked
from simulator.figures.tables import Cell, Column, Table
from simulator.figures.vega import to_vega_lite
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
    "to_vega_lite",
]
