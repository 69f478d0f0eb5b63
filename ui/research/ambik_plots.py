"""Plots of AmbiK's pages: nonconformity with the threshold, sizes of sets, what other targets would do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from textwrap import wrap
from typing import Any

from simulator.ambik.conformal import Histogram
from simulator.ambik.sets.coverage import EpsilonPoint
from simulator.commands.asking_measures import Row
from simulator.stats import Interval
from ui.i18n import Strings
from ui.research.asking_words import robot_name
from ui.research.figures import Figure
from ui.research.format import number

Plotly = dict[str, Any]
SAID = "research.ambik.plot"
_NEAR_END = 0.85
_LABEL_WIDTH = 40  # characters; so many fit a phone
_LABEL_LINE, _SHARES = 18, 36  # px: a line of a name, and what the two shares below it take
_MINT, _CLAY, _GOLD = "--ab-accent", "--ab-clay", "--ab-gold"


def nonconformities(t: Strings, histogram: Histogram, q_hat: float) -> Figure | None:
    """Return how strange the right answers of the calibration items were, and where the threshold lies."""
    if not histogram.counts:
        return None
    width = (histogram.edges[-1] - histogram.edges[0]) / len(histogram.counts) or 0.02
    middles = [low + width / 2 if len(histogram.counts) > 1 else low for low in histogram.edges[:-1]]
    inside = [_MINT if low <= q_hat else "--ab-line-strong" for low in histogram.edges[:-1]]
    data = [
        {
            "type": "bar",
            "x": middles,
            "y": list(histogram.counts),
            "width": [width * 0.94] * len(middles),
            "marker": {"color": inside},
            "hovertemplate": "%{x:.3f}: %{y}<extra></extra>",
        }
    ]
    layout = _layout(t(f"{SAID}.nonconformity_x"), t(f"{SAID}.items"))
    # The scale of scores, so that the same place means the same in every run.
    ends = [histogram.edges[0] - width, histogram.edges[-1] + width, 0.0, 1.0]
    if math.isfinite(q_hat):
        ends.append(q_hat)
        layout["shapes"] = [_level(q_hat)]
        layout["annotations"] = [_label(t(f"{SAID}.q_hat", value=number(q_hat, 3)), q_hat)]
    layout["xaxis"]["range"] = [min(ends) - 0.02, max(ends) + 0.02]
    return _figure(t, "nonconformity", data, layout)


def sizes(t: Strings, counts: Mapping[int, int]) -> Figure | None:
    """Return how many sets have how many actions."""
    if not counts:
        return None
    places = list(range(max(counts) + 1))
    data = [
        {
            "type": "bar",
            "x": places,
            "y": [counts.get(place, 0) for place in places],
            "text": [str(counts.get(place, 0)) for place in places],
            "textposition": "auto",
            "marker": {"color": [_CLAY if place == 0 else _MINT for place in places]},
            "hovertemplate": "%{x}: %{y}<extra></extra>",
        }
    ]
    layout = _layout(t(f"{SAID}.size"), t(f"{SAID}.sets"), bargap=0.35)
    layout["xaxis"] |= {"dtick": 1, "range": [-0.6, max(4, places[-1]) + 0.6]}
    return _figure(t, "sizes", data, layout)


def targets(t: Strings, points: Sequence[EpsilonPoint], now: float) -> Figure | None:
    """Ask rate, right decisions and coverage at every target."""
    if not points:
        return None
    data: list[Plotly] = []
    lines: tuple[tuple[str, str, str], ...] = (
        ("ask_rate", _CLAY, "dash"),
        ("accuracy", _MINT, "solid"),
        ("coverage", _GOLD, "dot"),
    )
    for name, colour, dash in lines:
        known = [
            (1 - point.epsilon, value) for point in points if (value := getattr(point, name)) is not None
        ]
        data += _line(t(f"{SAID}.{name}"), known, colour, dash) if known else []
    layout = _layout(t(f"{SAID}.target"), t(f"{SAID}.share"))
    layout["xaxis"]["range"] = [0, 1]
    layout["yaxis"] |= {"range": [-0.02, 1.02], "tickformat": ".1f"}
    layout["shapes"] = [
        {
            "type": "line",
            "x0": 0,
            "x1": 1,
            "y0": 0,
            "y1": 1,
            "line": {"color": "--ab-line-strong", "width": 1, "dash": "dot"},
        },
        _level(now),
    ]
    layout["showlegend"] = True
    return _figure(t, "targets", data, layout)


def who_asks(t: Strings, benchmark: str, rows: Sequence[Row]) -> Figure | None:
    """Return the figure of who asked where it was needed, and where it was not."""
    known = [row for row in rows if row.when_needed is not None or row.when_not is not None]
    if not known:
        return None
    labels = [_robot(t, row) for row in known]
    lines = [wrap(label, _LABEL_WIDTH) for label in labels]
    row = _SHARES + _LABEL_LINE * max(map(len, lines))
    data: list[Plotly] = []
    for name, colour, symbol in (("when_needed", _MINT, "circle"), ("when_not", _CLAY, "diamond")):
        shares = [(label, getattr(row, name)) for row, label in zip(known, labels, strict=True)]
        there = [(label, share) for label, share in shares if share is not None]
        if there:
            data.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": t(f"research.asking.column.{name}"),
                    "orientation": "h",  # the two stand one below the other
                    "x": [share.value for _, share in there],
                    "y": [label for label, _ in there],
                    "error_x": _whiskers([share for _, share in there], colour),
                    "marker": {"color": colour, "size": 10, "symbol": symbol},
                    "hovertemplate": "%{y}: %{x:.2f}<extra>%{fullData.name}</extra>",
                }
            )
    layout = _layout(t("research.asking.share"), "")
    layout["xaxis"]["range"] = [-0.02, 1.02]
    layout["yaxis"] |= {
        "categoryorder": "array",
        "categoryarray": labels,
        "range": [len(labels) - 0.6, -0.75],
        "ticks": "",
        "showticklabels": False,
    }
    # Above its line, a name leaves the scale its width.
    layout["annotations"] = [_name(label, parts) for label, parts in zip(labels, lines, strict=True)]
    layout |= {"scattermode": "group", "scattergap": 1 - _SHARES / row}
    layout["showlegend"] = True
    title = t(f"research.asking.room.{benchmark}")
    figure = Figure(
        f"asking-{benchmark}",
        title,
        t("research.asking.figure_note"),
        {"data": data, "layout": layout},
        130 + row * len(labels),
    )
    return figure


def _robot(t: Strings, row: Row) -> str:
    robot = robot_name(t, row)
    return f"{robot} / {row.user}" if row.user else robot


def _name(label: str, parts: Sequence[str]) -> Plotly:
    """Return a name at the left end of the scale, above the shares that it is of."""
    return {
        "text": "<br>".join(map(escape, parts)),
        "align": "left",
        "x": 0,
        "xref": "paper",
        "xanchor": "left",
        "y": label,
        "yanchor": "bottom",
        "yshift": _SHARES / 2 - 2,
        "showarrow": False,
    }


def _line(name: str, known: Sequence[tuple[float, Interval]], colour: str, dash: str) -> list[Plotly]:
    ordered = sorted(known)
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "name": name,
            "x": [x for x, _ in ordered],
            "y": [interval.value for _, interval in ordered],
            "customdata": [interval.reach for _, interval in ordered],
            "line": {"color": colour, "width": 2.5, "dash": dash},
            "hovertemplate": "%{x:.2f}: %{y:.2f} [%{customdata[0]:.2f}, %{customdata[1]:.2f}]"
            "<extra>%{fullData.name}</extra>",
        }
    ]


def _level(x: float) -> Plotly:
    return {
        "type": "line",
        "x0": x,
        "x1": x,
        "y0": 0,
        "y1": 1,
        "yref": "paper",
        "line": {"color": _CLAY, "width": 2},
    }


def _label(text: str, x: float) -> Plotly:
    return {
        "text": text,
        "x": x,
        "y": 1,
        # At the scale's end it would be cut off.
        "xanchor": "right" if x > _NEAR_END else "center",
        "yref": "paper",
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"color": _CLAY, "size": 14},
    }


def _whiskers(intervals: Sequence[Interval], colour: str) -> Plotly:
    return {
        "type": "data",
        "symmetric": False,
        "array": [interval.reach[1] - interval.value for interval in intervals],
        "arrayminus": [interval.value - interval.reach[0] for interval in intervals],
        "color": colour,
        "thickness": 1.6,
        "width": 4,
    }


def _axis(title: str) -> Plotly:
    return {
        "title": {"text": title},
        "gridcolor": "--ab-line",
        "linecolor": "--ab-line-strong",
        "zeroline": False,
        "automargin": True,
        "tickangle": 0,
        "fixedrange": True,
        "ticks": "outside",
        "tickcolor": "--ab-line-strong",
    }


def _layout(x: str, y: str, **more: Any) -> Plotly:
    return {
        "xaxis": _axis(x) | {"showgrid": False},
        "yaxis": _axis(y) | {"rangemode": "tozero"},
        "margin": {"l": 12, "r": 12, "t": 28, "b": 12},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": "--ab-muted", "size": 13},
        "showlegend": False,
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 1, "xanchor": "right"},
        "hoverlabel": {
            "bgcolor": "--ab-ink",
            "bordercolor": "--ab-ink",
            "font": {"color": "--ab-ground"},
        },
        **more,
    }


def _figure(t: Strings, name: str, data: Sequence[Plotly], layout: Plotly) -> Figure:
    plotly = {"data": list(data), "layout": layout}
    return Figure(
        f"ambik-{name}",
        t(f"{SAID}.{name}"),
        t(f"{SAID}.{name}_note"),
        plotly,
        290,
    )
