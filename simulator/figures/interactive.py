"""Figures for plotly.js, as plain dicts to send to a page as JSON; plotly itself is not imported."""

from __future__ import annotations

from html import escape
from typing import Any, Final

from simulator.figures.geometry import (
    LABEL,
    SIDE_LABEL,
    Boxes,
    Entry,
    all_equal,
    boxes,
    categories,
    grid,
    has_horizontal_bars,
    last_in_column,
    legend,
    panel_height,
    whiskers,
    wrap,
    x_ticks,
    x_window,
    y_range,
    y_ticks,
    y_window,
)
from simulator.figures.look import DARK, LIGHT, Look, text_on
from simulator.figures.spec import Bars, Figure, Level, Line, Panel, Stacked
from simulator.stats import half_up

Plotly = dict[str, Any]

FONT: Final = (
    'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", Arial, "PingFang SC", '
    '"Hiragino Sans GB", "Microsoft YaHei", "Noto Sans CJK SC", "Source Han Sans SC", sans-serif'
)
DASHES: Final = {"solid": "solid", "dashed": "dash", "dotted": "dot"}
PANEL_HEIGHT: Final = {1: 340, 2: 280, 3: 230, 4: 190}
"""Number of columns -> height of a row of panels, in CSS pixels."""
_HEAD, _BARE_HEAD, _FOOT, _GAP = 32, 10, 90, 62
_ALPHA: Final = "2e"
_LINE: Final = 17
"""Height of a line of text, in CSS pixels."""


def to_plotly(figure: Figure, dark: bool = False) -> Plotly:
    """Return a figure as ``{"data": …, "layout": …}`` of plain JSON values.

    Name, title and caption are in ``layout.meta``, for the page to set in its own type. Clicking a name in
    the legend hides it in all panels.
    """
    look = DARK if dark else LIGHT
    rows, columns = grid(figure)
    horizontal = has_horizontal_bars(figure)
    head = _HEAD if figure.panels[0].title else _BARE_HEAD
    height = head + rows * _row_height(figure) + (rows - 1) * _GAP + _FOOT
    entries = {entry.name: entry for entry in legend(figure)}
    data: list[Plotly] = []
    layout: Plotly = {
        "meta": {"name": figure.name, "title": figure.title, "caption": figure.caption},
        "height": height,
        "margin": {"l": 12, "r": 12, "t": head, "b": 12},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "color": look.muted, "size": 13 if columns < 4 else 12},
        "hovermode": "closest" if any(categories(panel) for panel in figure.panels) else "x unified",
        "hoverlabel": {
            "bgcolor": look.ground,
            "bordercolor": look.axis,
            "font": {"family": FONT, "color": look.ink, "size": 13},
            "namelength": -1,
        },
        "barmode": "overlay",
        "showlegend": len(entries) > 1,
        "legend": {
            "orientation": "h",
            "x": 0,
            "xanchor": "left",
            "yref": "container",
            "y": 0,
            "yanchor": "bottom",
            "font": {"color": look.ink},
            "traceorder": "normal",
        },
        "annotations": [],
        "shapes": [],
    }
    for number, panel in enumerate(figure.panels):
        traces = _traces(panel, number, entries, look, bare=len(figure.panels) > 4)
        data += map(_swap_axes, traces) if horizontal else traces
        _axes(layout, figure, number, look)
    _legend_once(data, list(entries))
    return {"data": data, "layout": layout}


def _row_height(figure: Figure) -> float:
    if has_horizontal_bars(figure):
        return _LINE * max(map(panel_height, figure.panels))
    return PANEL_HEIGHT[min(grid(figure)[1], 4)]


def _swap_axes(trace: Plotly) -> Plotly:
    """Return the trace of a bar or level with x and y swapped."""
    renamed = {"x": "y", "y": "x", "error_y": "error_x"}
    swapped = {renamed.get(key, key): value for key, value in trace.items()}
    return swapped | ({"orientation": "h"} if trace["type"] == "bar" else {})


def _traces(panel: Panel, number: int, entries: dict[str, Entry], look: Look, bare: bool) -> list[Plotly]:
    bars = {box.mark.name: box for box in boxes(panel)}
    bands: list[Plotly] = []
    values: list[Plotly] = []
    for mark in panel.marks:
        entry = entries[mark.name]
        colour = look.colour(entry.stroke.colour)
        if isinstance(mark, Line):
            if mark.low is not None and mark.high is not None:
                bands.append(_band(mark, colour))
            values.append(
                _line(mark, entry, colour, look) | ({"mode": "lines"} if bare and len(mark.x) > 1 else {})
            )
        elif isinstance(mark, Level):
            values.append(_level(mark, panel, colour))
        else:
            values.append(_bar(mark, bars[mark.name], entry, colour, look))
    tail = _tail(number)
    return [trace | {"xaxis": f"x{tail}", "yaxis": f"y{tail}"} for trace in (*bands, *values)]


def _band(mark: Line, colour: str) -> Plotly:
    low, high = list(mark.low or ()), list(mark.high or ())
    return {
        "type": "scatter",
        "mode": "lines",
        "name": _text(mark.name),
        "legendgroup": mark.name,
        "x": [*mark.x, *reversed(mark.x)],
        "y": [*high, *reversed(low)],
        "fill": "toself",
        "fillcolor": colour + _ALPHA,
        "line": {"width": 0, "color": colour},
        "hoverinfo": "skip",
        "hoveron": "points",
        "showlegend": False,
        "meta": "interval",
    }


def _line(mark: Line, entry: Entry, colour: str, look: Look) -> Plotly:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": _text(mark.name),
        "legendgroup": mark.name,
        "x": list(mark.x),
        "y": list(mark.y),
        "line": {"color": colour, "width": 2.2, "dash": DASHES[entry.stroke.dash]},
        "marker": {
            "color": colour,
            "symbol": entry.stroke.marker,
            "size": 6,
            "line": {"color": look.ground, "width": 0.8},
        },
        "customdata": _hover_lines(mark),
        "hovertemplate": "%{customdata}<extra>%{fullData.name}</extra>",
        "showlegend": False,
    }


def _bar(mark: Bars | Stacked, box: Boxes, entry: Entry, colour: str, look: Look) -> Plotly:
    stacked = isinstance(mark, Stacked)
    trace: Plotly = {
        "type": "bar",
        "name": _text(mark.name),
        "legendgroup": mark.name,
        "x": list(box.x),
        "y": list(mark.y),
        "base": list(box.bottom),
        "width": box.width * (1 if stacked else 0.92),
        "marker": {
            "color": colour,
            "line": {"color": look.ground, "width": 1 if stacked else 0},
            "pattern": {"shape": "/" if entry.stroke.hatched else "", "size": 6, "solidity": 0.3},
        },
        "customdata": _hover_lines(mark),
        "hovertext": [_text(category) for category in mark.categories],
        "hovertemplate": "%{hovertext}: %{customdata}<extra>%{fullData.name}</extra>",
        "showlegend": False,
    }
    if stacked:
        trace["text"] = [half_up(share) if share >= 0.08 else "" for share in mark.y]
        trace |= {"textposition": "inside", "insidetextanchor": "middle", "textangle": 0}
        trace["insidetextfont"] = {"color": text_on(colour)}
    elif isinstance(mark, Bars) and (reach := whiskers(mark)):
        trace["error_y"] = {
            "type": "data",
            "symmetric": False,
            "arrayminus": list(reach[0]),
            "array": list(reach[1]),
            "color": look.ink,
            "thickness": 1.3,
            "width": 0,
        }
    return trace


def _level(mark: Level, panel: Panel, colour: str) -> Plotly:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": _text(mark.name),
        "legendgroup": mark.name,
        "x": list(x_window(panel)),
        "y": [mark.y, mark.y],
        "line": {"color": colour, "width": 1.5, "dash": "dot"},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _hover_lines(mark: Line | Bars | Stacked) -> list[str]:
    """Return the hover text of each value, with its interval and n."""
    counts = mark.n if isinstance(mark.n, tuple) else (mark.n,) * len(mark.y)
    lows, highs = getattr(mark, "low", None), getattr(mark, "high", None)
    lines = []
    for place, (y, n) in enumerate(zip(mark.y, counts, strict=True)):
        interval = ""
        if lows is not None and highs is not None:
            interval = f" [{half_up(lows[place], 3)}, {half_up(highs[place], 3)}]"
        lines.append(half_up(y, 3) + interval + ("" if n is None else f" n={n}"))
    return lines


def _axes(layout: Plotly, figure: Figure, number: int, look: Look) -> None:
    """Add a panel's axes, title and labels to the layout."""
    panel = figure.panels[number]
    rows, columns = grid(figure)
    row, column = divmod(number, columns)
    horizontal, tail = has_horizontal_bars(figure), _tail(number)
    shared_y = all_equal([(panel.y_label, y_range(panel)) for panel in figure.panels])
    gap_x = (0.035 if shared_y else 0.09) if columns > 1 else 0
    wide = (1 - gap_x * (columns - 1)) / columns
    gap_y = _GAP / (rows * _row_height(figure) + (rows - 1) * _GAP)
    high = (1 - gap_y * (rows - 1)) / rows
    left, top = column * (wide + gap_x), 1 - row * (high + gap_y)
    below = [panel.y_label if horizontal else panel.x_label for panel in figure.panels]
    label_below = last_in_column(figure, number, columns) or not all_equal(below)
    named = categories(panel)
    ticks = tuple(range(len(named))) if named else x_ticks(panel)
    width = SIDE_LABEL if horizontal else LABEL
    places = {
        **_axis(look),
        "range": list(x_window(panel))[:: -1 if horizontal else 1],
        "showgrid": False,
        "title": _label(panel.x_label if horizontal or label_below else "", look),
        **({} if ticks is None else {"tickvals": list(ticks)}),
        **(
            {"ticktext": ["<br>".join(map(_text, wrap(name, width))) for name in named], "ticks": ""}
            if named
            else {"tickangle": 0}
        ),
    }
    labelled = column == 0 or not shared_y
    y_tick = y_ticks(panel)
    values = {
        **_axis(look),
        "range": list(y_window(panel)),
        "title": _label(panel.y_label if (label_below if horizontal else labelled) else "", look),
        "showticklabels": labelled,
        "ticks": "outside" if labelled else "",
        "tickangle": 0,
        "zeroline": bool(named) and y_window(panel)[0] < 0,
        **(
            {}
            if y_tick is None
            else {"tickvals": list(y_tick)[:: 2 if horizontal else 1], "tickformat": ".2f"}
        ),
    }
    across, upright = (values, places) if horizontal else (places, values)
    layout[f"xaxis{tail}"] = {**across, "domain": [left, left + wide], "anchor": f"y{tail}"}
    layout[f"yaxis{tail}"] = {**upright, "domain": [max(top - high, 0), top], "anchor": f"x{tail}"}
    if panel.title:
        layout["annotations"].append(
            {
                "text": f"<b>{_text(panel.title)}</b>",
                "x": left,
                "xanchor": "left",
                "y": top,
                "yanchor": "bottom",
                "yshift": 4,
                "xref": "paper",
                "yref": "paper",
                "showarrow": False,
                "font": {"color": look.ink, "size": 14 if columns < 4 else 13},
            }
        )


def _label(text: str, look: Look) -> Plotly:
    return {"text": _text(text), "standoff": 8, "font": {"color": look.muted, "size": 13}}


def _axis(look: Look) -> Plotly:
    return {
        "gridcolor": look.line,
        "linecolor": look.axis,
        "tickcolor": look.axis,
        "zeroline": False,
        "zerolinecolor": look.axis,
        "zerolinewidth": 1,
        "automargin": True,
        "fixedrange": True,
        "ticks": "outside",
        "ticklen": 4,
        "showline": True,
    }


def _legend_once(data: list[Plotly], order: list[str]) -> None:
    """Show the first trace of each name, bands excepted, in the legend, in the order of the names."""
    ranks = {name: rank for rank, name in enumerate(order, 1000)}
    for trace in data:
        if trace.get("meta") != "interval" and trace["legendgroup"] in ranks:
            trace |= {"showlegend": True, "legendrank": ranks.pop(trace["legendgroup"])}


def _tail(number: int) -> str:
    return "" if number == 0 else str(number + 1)


def _text(text: str) -> str:
    """Return a text with tags and entities escaped, which Plotly would interpret."""
    return escape(text, quote=False)
