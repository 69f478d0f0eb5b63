"""Plots as plain Plotly figures (``{"data": …, "layout": …}``), out of reports and comparisons.

Colours are names of the page's CSS variables (``--ab-accent``); the browser puts the present values in, so
that a figure follows light and dark. Every figure says what it shows in words, for those who do not see it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simulator.clarq.reporting.report import Comparison, Row
from simulator.clarq.score import Scored
from simulator.stats import Interval
from ui.i18n import Strings
from ui.research.format import DIGITS, number

COLOURS = ("--ab-accent", "--ab-clay")
DASHES = ("solid", "dot")
Plotly = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot.

    Attributes:
        id: unique on its page.
        title: what it shows.
        note: how to read it.
        plotly: the figure as Plotly takes it, or ``light`` and ``dark``, one for each ground.
        height: in CSS pixels.
        width: the least that it can be read at, in CSS pixels; on narrower screens it is scrolled.
    """

    id: str
    title: str
    note: str
    plotly: Plotly
    height: int = 300
    width: int = 0


def success_curve(t: Strings, curve: Mapping[str, Sequence[float]]) -> Figure:
    """Return success by number of provider responses, one line per language (paper Fig. 4)."""
    data = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": t(f"research.languages.{language}"),
            "x": list(range(1, len(shares) + 1)),
            "y": list(shares),
            "line": {"color": COLOURS[place % 2], "width": 2.5, "dash": DASHES[place % 2]},
            "marker": {"size": 7},
            "hovertemplate": "%{x}: %{y:.3f}<extra>%{fullData.name}</extra>",
        }
        for place, (language, shares) in enumerate(curve.items())
    ]
    layout = _layout(
        xaxis={
            "title": {"text": t("research.figures.responses")},
            "range": [0.5, len(next(iter(curve.values()))) + 0.5],
        },
        yaxis={"title": {"text": t("research.metric.success")}, "range": [0, 1], "tickformat": ".1f"},
        showlegend=len(data) > 1,
    )
    return _figure("curve", t, {"data": data, "layout": layout})


def success_by_type(t: Strings, tables: Mapping[str, Sequence[Row]]) -> Figure:
    """Return S by task type with Wilson intervals, languages beside each other."""
    labels = list(dict.fromkeys(row.label for rows in tables.values() for row in rows))
    data = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": t(f"research.languages.{language}"),
            "x": [row.success.value for row in rows],
            "y": [row.label for row in rows],
            "error_x": _whiskers([row.success for row in rows], COLOURS[place % 2]),
            "marker": {
                "color": COLOURS[place % 2],
                "size": 9,
                "symbol": ("circle", "diamond")[place % 2],
            },
            "hovertemplate": "%{y}: %{x:.3f}<extra>%{fullData.name}</extra>",
        }
        for place, (language, rows) in enumerate(tables.items())
    ]
    layout = _layout(
        xaxis={"title": {"text": t("research.metric.success")}, "range": [-0.02, 1.02]},
        yaxis={
            "categoryorder": "array",
            "categoryarray": labels,
            "range": [len(labels) - 0.4, -0.6],
            "ticks": "",
        },
        showlegend=len(data) > 1,
    )
    if len(data) > 1:
        layout["scattermode"] = "group"
    return _figure("types", t, {"data": data, "layout": layout}, height=100 + 25 * len(labels))


def extra_replies(t: Strings, scored: Mapping[str, Sequence[Scored]]) -> Figure:
    """Return how D is distributed."""
    data = []
    for place, (language, dialogues) in enumerate(scored.items()):
        counts = Counter(dialogue.scores.aqd for dialogue in dialogues)
        values = range(min(counts), max(counts) + 1)
        data.append(_bars(t, language, place) | {"x": list(values), "y": [counts[value] for value in values]})
    layout = _layout(
        xaxis={"title": {"text": t("research.metric.aqd")}},
        yaxis={"title": {"text": t("research.figures.dialogues")}},
        barmode="group",
        bargap=0.25,
        showlegend=len(data) > 1,
    )
    return _figure("aqd", t, {"data": data, "layout": layout})


def question_length(t: Strings, scored: Mapping[str, Sequence[Scored]]) -> Figure:
    """Return how L is distributed; languages have scales of their own, since their units differ."""
    data = [
        {
            "type": "histogram",
            "name": t(f"research.languages.{language}"),
            "x": [dialogue.scores.aql for dialogue in dialogues],
            "nbinsx": 24,
            "marker": {"color": COLOURS[place % 2]},
            "opacity": 0.85 if place == 0 else 0.7,
            "hovertemplate": "%{x}: %{y}<extra>%{fullData.name}</extra>",
        }
        for place, (language, dialogues) in enumerate(scored.items())
    ]
    layout = _layout(
        xaxis={"title": {"text": t("research.metric.aql")}},
        yaxis={"title": {"text": t("research.figures.dialogues")}},
        barmode="overlay",
        bargap=0.06,
        showlegend=len(data) > 1,
    )
    return _figure("aql", t, {"data": data, "layout": layout})


def differences(t: Strings, comparison: Comparison) -> Figure:
    """Return second minus first in S, D and L, each on an axis of its own, with zero marked."""
    data: list[Plotly] = []
    layout = _layout(showlegend=False, margin={"l": 12, "r": 12, "t": 34, "b": 34})
    layout["annotations"], layout["shapes"] = [], []
    for place, difference in enumerate(comparison.differences):
        tail = "" if place == 0 else str(place + 1)
        interval = difference.difference
        reach = 1.25 * max(*map(abs, interval.reach), 0.02)
        domain = [place / 3 + 0.02, (place + 1) / 3 - 0.02]
        layout[f"xaxis{tail}"] = _axis() | {
            "domain": domain,
            "range": [-reach, reach],
            "anchor": f"y{tail}",
            "nticks": 4,
        }
        layout[f"yaxis{tail}"] = {
            "visible": False,
            "range": [-1, 1],
            "anchor": f"x{tail}",
            "fixedrange": True,
        }
        data.append(
            {
                "type": "scatter",
                "mode": "markers+text",
                "x": [interval.value],
                "y": [0],
                "text": [number(interval.value, DIGITS[difference.metric], signed=True)],
                "textposition": "top center",
                "textfont": {"color": "--ab-ink", "size": 14},
                "error_x": _whiskers([interval], "--ab-accent"),
                "marker": {"color": "--ab-accent", "size": 12},
                "xaxis": f"x{tail}",
                "yaxis": f"y{tail}",
                "hovertemplate": "%{x:.3f}<extra></extra>",
            }
        )
        layout["shapes"].append(
            {
                "type": "line",
                "x0": 0,
                "x1": 0,
                "y0": 0,
                "y1": 1,
                "xref": f"x{tail}",
                "yref": "paper",
                "line": {"color": "--ab-line-strong", "width": 1.5, "dash": "dot"},
            }
        )
        layout["annotations"].append(
            {
                "text": t(f"research.metric.{difference.metric}_short"),
                "x": sum(domain) / 2,
                "y": 1.0,
                "yanchor": "bottom",
                "xref": "paper",
                "yref": "paper",
                "showarrow": False,
                "font": {"color": "--ab-clay", "size": 15},
            }
        )
    return _figure("differences", t, {"data": data, "layout": layout}, height=190)


def _figure(id: str, t: Strings, plotly: Plotly, height: int = 300) -> Figure:
    return Figure(id, t(f"research.figures.{id}"), t(f"research.figures.{id}_note"), plotly, height)


def _bars(t: Strings, language: str, place: int) -> Plotly:
    return {
        "type": "bar",
        "name": t(f"research.languages.{language}"),
        "marker": {"color": COLOURS[place % 2]},
        "hovertemplate": "%{x}: %{y}<extra>%{fullData.name}</extra>",
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


def _axis() -> Plotly:
    return {
        "gridcolor": "--ab-line",
        "linecolor": "--ab-line-strong",
        "zerolinecolor": "--ab-line-strong",
        "zeroline": False,
        "automargin": True,
        "tickangle": 0,
        "fixedrange": True,
        "ticks": "outside",
        "tickcolor": "--ab-line-strong",
    }


def _layout(
    xaxis: Plotly | None = None, yaxis: Plotly | None = None, margin: Plotly | None = None, **more: Any
) -> Plotly:
    return {
        "xaxis": _axis() | {"showgrid": False} | (xaxis or {}),
        "yaxis": _axis() | (yaxis or {}),
        "margin": margin or {"l": 12, "r": 12, "t": 12, "b": 12},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": "--ab-muted", "size": 13},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 1, "xanchor": "right"},
        "hoverlabel": {
            "bgcolor": "--ab-ink",
            "bordercolor": "--ab-ink",
            "font": {"color": "--ab-ground"},
        },
        **more,
    }
