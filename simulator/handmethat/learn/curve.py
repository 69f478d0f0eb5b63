"""Learning curves: a CSV and a plot beside each checkpoint."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from statistics import fmean


def write_curve(checkpoint: Path, columns: Mapping[str, Sequence[float]]) -> None:
    """``<checkpoint>.csv`` with a row per update or episode, and ``<checkpoint>.html`` with a plot of means.

    Raises:
        OSError: if they cannot be written.
    """
    with checkpoint.with_name(checkpoint.name + ".csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["number", *columns])
        for number, row in enumerate(zip_longest(*columns.values(), fillvalue=""), start=1):
            table.writerow([number, *row])
    _plot(checkpoint.with_name(checkpoint.name + ".html"), checkpoint.name, columns)


def moving_means(values: Sequence[float], window: int) -> list[float]:
    """The mean of each value and the `window` - 1 before it."""
    return [fmean(values[max(0, i + 1 - window) : i + 1]) for i in range(len(values))]


def _plot(path: Path, title: str, columns: Mapping[str, Sequence[float]]) -> None:
    # plotly takes half a second to import; nothing but a finished training needs it.
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    figure = make_subplots(rows=len(columns), cols=1, subplot_titles=tuple(columns))
    for row, (name, values) in enumerate(columns.items(), start=1):
        window = max(1, len(values) // 50)
        numbers = list(range(1, len(values) + 1))
        figure.add_trace(go.Scatter(x=numbers, y=moving_means(values, window), name=name), row=row, col=1)
    figure.update_layout(title=title, template="simple_white", showlegend=False)
    figure.write_html(path, include_plotlyjs=True)
