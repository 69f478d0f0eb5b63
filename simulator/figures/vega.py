"""Figures as Vega-Lite charts, plain dicts that pages and files share."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from simulator.figures.geometry import (
    LABEL,
    SIDE_LABEL,
    categories,
    column_count,
    has_horizontal_bars,
    legend,
    panel_height,
    text_width,
    wrap,
    x_ticks,
    y_range,
)
from simulator.figures.look import BOX, DASHES, FONT, LIGHT, MARKERS, RULE, Look, print_font, text_on
from simulator.figures.spec import Bars, Figure, Level, Line, Mark, Panel, Stacked, points
from simulator.stats import half_up

Spec = dict[str, Any]

SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v5.json"
"""The version that Gradio draws."""
# All sizes are in CSS pixels.
_HEIGHT: Final = {1: 330, 2: 270, 3: 220, 4: 185}
"""Number of columns -> maximum height of a row of panels."""
_SHAPE: Final = 0.7
"""Maximum ratio of a panel's height to its width in print."""
_NARROWEST, _LEAST = 137, 100
"""Minimum width of a panel: with labels in print if the figure does not set its columns, and of any panel."""
_PAGE: Final = 900
"""Assumed width of a page's chart."""
_LETTER, _LINE, _SIZE = 7.0, 17, 13
"""Mean width of a letter, height of a line of text, size of letters."""
_AXIS, _SPACING, _MARGIN = 28, 14, 20
"""Width of the title and ticks of an axis, between panels, right of the last panel."""
_FAINT: Final = 0.18
"""Opacity of bands, and of bars in a second round of colours, which have an edge."""
_MARKED: Final = 50
"""Least distance between a curve's markers."""
_TIP: Final = {name: {"field": "tip", "type": "nominal"} for name in ("tooltip", "description")}
_KNOWN: Final = [{"filter": "isValid(datum.low)"}]


def to_vega_lite(figure: Figure, look: Look = LIGHT, width: float | None = None) -> Spec:
    """Return a figure as a Vega-Lite chart, for a page or for print.

    A page's chart is as wide as its element, shows values on hover, and hides what is clicked in its legend;
    the page sets title and caption in its own type. A chart for print has its title and about `width` pixels.
    """
    columns = column_count(figure, most=4 if width is None else max(int(width / _NARROWEST), 1))
    labels = _labels_width(figure, columns)
    panel_width = None if width is None else max((width - labels) / columns, _LEAST)
    numbers = range(len(figure.panels))
    chart = {
        "$schema": SCHEMA,
        "description": figure.title,
        "padding": 4,
        "concat": [_panel(figure, number, columns, look, panel_width) for number in numbers],
        "resolve": {"scale": {"xOffset": "independent", "yOffset": "independent"}},
        "columns": columns,
        "spacing": {"row": 24, "column": _SPACING},
    }
    size = 12 if columns > 3 else _SIZE
    if width is not None:
        texts = json.dumps(figure.plain(), ensure_ascii=False)
        font = print_font(chinese=text_width(texts) > len(texts))
        title = _title(figure.title, look, 17, width)
        return chart | {"background": look.ground, "title": title, "config": _config(look, font, size)}
    # Vega-Lite fits only single charts to their element, so the width of panels is replaced in Vega.
    fitted = f"max({_LEAST}, (containerSize()[0] - {labels}) / {columns})"
    resized = {"events": "window:resize", "update": fitted}
    patch = {
        "op": "add" if columns == 1 else "replace",
        "path": "/signals/0",
        "value": {"name": _width_name(columns), "init": fitted, "on": [resized]},
    }
    options = {"renderer": "svg", "actions": False, "patch": [patch]}
    page = {"background": None, "config": _config(look, FONT, size), "usermeta": {"embedOptions": options}}
    return chart | page


def _panel(figure: Figure, number: int, columns: int, look: Look, width: float | None) -> Spec:
    panel, horizontal = figure.panels[number], has_horizontal_bars(figure)
    place, value = ("y", "x") if horizontal else ("x", "y")
    entries = legend(figure)
    colours = [look.colour(entry.stroke.colour) for entry in entries]
    scale = {"domain": [entry.name for entry in entries], "range": colours}
    colour: Spec = {"field": "series", "type": "nominal", "scale": scale}
    if len(entries) == 1:
        colour["legend"] = None
    assumed = width or _PAGE / columns
    if categories(panel):
        rows, layers = _bars(figure, panel, look)
        main = layers[0]
    else:
        rows, layers = _lines(figure, panel, look, assumed)
        *_, main, dots = layers
        # On pages, an edge that is not seen makes points easier to hit; in print, only markers are drawn.
        if width is None:
            dots["mark"] |= {"stroke": "transparent", "strokeWidth": 14, "clip": True}
        else:
            dots["transform"] = [{"filter": "datum.marked"}]
    # The first panel has the legend of all.
    if number == 0 and len(entries) > 1:
        main["encoding"]["color"] = colour | {"legend": _legend(figure, look, columns, width is None)}
        if width is None:
            point = {"type": "point", "fields": ["series"], "toggle": "true", "clear": False}
            main["params"] = [{"name": "hidden", "select": point, "bind": "legend"}]
    if levels := [mark for mark in panel.marks if isinstance(mark, Level)]:
        rule = {"type": "rule", "strokeDash": DASHES["dotted"], "strokeWidth": 1.6}
        data = {"values": [{"series": level.name, "y": level.y} for level in levels]}
        layers.append({"data": data, "mark": rule, "encoding": {place: None}})
    if width is None and len(entries) > 1:
        shown = {"filter": {"not": {"param": "hidden", "empty": False}}}
        layers = [layer | {"transform": [*layer.get("transform", ()), shown]} for layer in layers]
    height = _HEIGHT[min(columns, 4)]
    if horizontal:
        height = round(_LINE * panel_height(panel))
    elif width is not None:
        height = min(height, round(_SHAPE * width))
    places, values = _axes(figure, number, columns)
    return {
        **({"title": _title(panel.title, look, _SIZE, assumed)} if panel.title else {}),
        "width": _LEAST if width is None else width,
        "height": height,
        "data": {"values": rows},
        "encoding": {place: places, value: values, "color": colour},
        "layer": layers,
    }


# ---- marks: the rows of a panel's data, and layers


def _lines(figure: Figure, panel: Panel, look: Look, width: float) -> tuple[list[Spec], list[Spec]]:
    """Return bands, then lines, then points."""
    strokes = {entry.name: entry.stroke for entry in legend(figure)}
    order = list(strokes)
    lines = [mark for mark in panel.marks if isinstance(mark, Line)]
    rows: list[Spec] = []
    for mark in lines:
        # Curves with many points have markers at some of them only, each curve at different ones.
        step = max(round(len(mark.x) / (width / _MARKED)), 1)
        marked = range(order.index(mark.name) % step, len(mark.x), step)
        rows += (row | {"marked": int(number in marked)} for number, row in enumerate(_rows(mark)))
    dashes = _choose({name: DASHES[stroke.dash] for name, stroke in strokes.items()}, "datum.series")
    markers = _choose({name: MARKERS[stroke.marker] for name, stroke in strokes.items()}, "datum.series")
    point = {"type": "point", "filled": True, "size": 60, "stroke": look.ground, "strokeWidth": 0.8}
    encoding = {"shape": markers, "opacity": _expression("datum.marked"), **_TIP}
    layers = [
        {"mark": {"type": "line", "strokeWidth": 2.2, "aria": False}, "encoding": {"strokeDash": dashes}},
        {"mark": point, "encoding": encoding},
    ]
    if any(mark.low for mark in lines):
        band = {"type": "area", "fillOpacity": _FAINT, "aria": False}
        ends = {"y": {"field": "low"}, "y2": {"field": "high"}}
        layers.insert(0, {"transform": _KNOWN, "mark": band, "encoding": ends})
    return rows, layers


def _bars(figure: Figure, panel: Panel, look: Look) -> tuple[list[Spec], list[Spec]]:
    """Return bars, then whiskers, shares and a line at zero."""
    horizontal = has_horizontal_bars(figure)
    place, value = ("y", "x") if horizontal else ("x", "y")
    strokes = {entry.name: entry.stroke for entry in legend(figure)}
    marks = [mark for mark in panel.marks if isinstance(mark, Bars | Stacked)]
    tops: defaultdict[str, float] = defaultdict(float)
    rows: list[Spec] = []
    for mark in marks:
        stroke = strokes[mark.name]
        colour = look.colour(stroke.colour)
        stacked = isinstance(mark, Stacked)
        filling = {
            "fill": _FAINT if stroke.hatched else 1,
            "edge": colour if stroke.hatched else look.ground,
            "thick": int(stacked or stroke.hatched),
        }
        for row in _rows(mark):
            rows.append({"start": tops[row["category"]], **row, **filling})
            if stacked:
                share, start = row["y"], tops[row["category"]]
                tops[row["category"]] = start + share
                rows[-1] |= {"y": start + share, "middle": start + share / 2, "ink": text_on(colour)}
                rows[-1]["share"] = half_up(share) if share >= 0.08 else ""
    names = [mark.name for mark in marks if isinstance(mark, Bars)]
    scale = {"domain": names, "paddingInner": 0.08}
    offset = {f"{place}Offset": {"field": "series", "type": "nominal", "scale": scale}} if names[1:] else {}
    bar = {"type": "bar", "orient": "horizontal" if horizontal else "vertical"}
    style = {
        "fillOpacity": _expression("datum.fill"),
        "stroke": _expression("datum.edge"),
        "strokeWidth": _expression("datum.thick"),
    }
    layers: list[Spec] = [
        {"mark": bar, "encoding": {**offset, f"{value}2": {"field": "start"}, **style, **_TIP}}
    ]
    if any(mark.low for mark in marks if isinstance(mark, Bars)):
        ends = {value: {"field": "low"}, f"{value}2": {"field": "high"}, **offset}
        for colour, thick in ((look.ground, 3), (look.ink, 1.4)):
            rule = {"type": "rule", "strokeWidth": thick, "aria": False}
            encoding = {**ends, "color": {"value": colour}}
            layers.append({"transform": _KNOWN, "mark": rule, "encoding": encoding})
    if tops:
        text = {value: {"field": "middle"}, "text": {"field": "share"}, "color": _expression("datum.ink")}
        layers.append({"mark": {"type": "text", "aria": False}, "encoding": text})
    if y_range(panel)[0] < 0:
        zero = {place: None, value: {"datum": 0}, "color": {"value": look.axis}}
        layers.append({"mark": {"type": "rule", "aria": False}, "encoding": zero})
    return rows, layers


def _rows(mark: Mark) -> Iterator[Spec]:
    """Yield the points of a mark, each with a line of text: its name, place, value, interval and n."""
    for point in points(mark):
        place = point["category"] if "category" in point else f"{point['x']:.10g}"
        tip = f"{mark.name} · {place}: {half_up(point['y'], 3)}"
        if "low" in point:
            tip += f" [{half_up(point['low'], 3)}, {half_up(point['high'], 3)}]"
        yield {"series": mark.name, "tip": f"{tip} n={point['n']}" if "n" in point else tip, **point}


# ---- axes and legend


def _axes(figure: Figure, number: int, columns: int) -> tuple[Spec, Spec]:
    """Return a panel's axis of places (categories, or x of lines), and that of values."""
    panel, horizontal = figure.panels[number], has_horizontal_bars(figure)
    below = [panel.y_label if horizontal else panel.x_label for panel in figure.panels]
    label_below = number + columns >= len(figure.panels) or len({*below}) > 1
    labelled = number % columns == 0 or not _share_values(figure)
    low, high = y_range(panel)
    # Bars have room above them only; an automatic range is extended to round numbers.
    padding = {} if categories(panel) else {"padding": 6}
    top = high + 0.03 * (high - low) * bool(categories(panel) and panel.y_range)
    axis: Spec = {"labels": labelled, "ticks": labelled, "tickCount": 5, "format": "~r"}
    if panel.y_range == (0, 1):
        # Chance is often one half.
        axis |= {"values": [0, 0.5, 1] if horizontal else [0, 0.25, 0.5, 0.75, 1], "format": ".2f"}
    values = {
        "field": "y",
        "type": "quantitative",
        "title": (panel.y_label if (label_below if horizontal else labelled) else "") or None,
        "scale": {"domain": (low, top), "nice": panel.y_range is None, **padding},
        "axis": axis,
    }
    places: Spec = {"title": (panel.x_label if horizontal or label_below else "") or None}
    if not categories(panel):
        axis = {"grid": False, "tickCount": 5, "format": "~r"}
        if ticks := x_ticks(panel):
            axis["values"] = ticks
        scale: Spec = {"nice": False, "zero": False, **padding}
        if panel.x_range:
            scale["domain"] = panel.x_range
        return places | {"field": "x", "type": "quantitative", "scale": scale, "axis": axis}, values
    lines = {name: wrap(name, SIDE_LABEL if horizontal else LABEL) for name in categories(panel)}
    axis = {"ticks": False, "labelPadding": 6, "labelOverlap": False}
    # Vega takes texts such as "toString" for functions of the language: each begins with a sign.
    marked = {f"={name}": "=" + "\n".join(part) for name, part in lines.items()}
    axis["labelExpr"] = f"split(slice({json.dumps(marked)}['=' + datum.value], 1), '\\n')"
    if not horizontal:
        # Names that do not fit side by side are slanted.
        longest = max(text_width(line) for part in lines.values() for line in part)
        fits = f"{_width_name(columns)} >= {_LETTER * len(lines) * (longest + 1)}"
        axis["labelAngle"] = {"expr": f"{fits} ? 0 : -35"}
        axis["labelAlign"] = {"expr": f"{fits} ? 'center' : 'right'"}
    gap = 0.18 if sum(isinstance(mark, Bars) for mark in panel.marks) > 1 else 0.38
    scale = {"domain": list(lines), "paddingInner": gap, "paddingOuter": gap / 2}
    return places | {"field": "category", "type": "nominal", "scale": scale, "axis": axis}, values


def _legend(figure: Figure, look: Look, columns: int, clickable: bool) -> Spec:
    """Return the legend of all panels, in as few rows as fit, filled evenly."""
    symbols: defaultdict[str, Spec] = defaultdict(dict)
    widths = []
    for name, kind, stroke in legend(figure):
        marker = "" if kind is Level else MARKERS[stroke.marker]
        symbols["shape"][name] = BOX if kind in (Bars, Stacked) else RULE + marker
        symbols["strokeDash"][name] = DASHES["solid" if kind is Bars else stroke.dash]
        symbols["fill"][name] = symbols["stroke"][name] = look.colour(stroke.colour)
        symbols["fillOpacity"][name] = _FAINT if stroke.hatched and kind is Bars else 1
        widths.append(_LETTER * text_width(name) + 50)
    encoding = {key: _choose(by_name, "datum.value") for key, by_name in symbols.items()}
    # Vega-Lite would make all names pale but those that are clicked.
    pale = "indexof(hidden.series || [], datum.value) < 0 ? 1 : 0.35"
    opacity = {"opacity": _expression(pale)} if clickable else {}
    fitting = "1"
    for rows in range(len(widths), 0, -1):
        wide = -(-len(widths) // rows)
        needed = sum(max(widths[column::wide]) for column in range(wide))
        fitting = f"{columns} * {_width_name(columns)} >= {needed} ? {wide} : ({fitting})"
    return {
        "title": None,
        "orient": "top",
        "columns": {"expr": fitting},
        "symbolSize": 60,
        "offset": 8,
        "symbolOffset": 8,
        "labelOffset": 14,
        "encoding": {"symbols": encoding | opacity, "labels": opacity},
    }


def _choose(by_name: Mapping[str, Any], name: str) -> Spec:
    """Return an encoding with the value of a name, which is an expression."""
    return _expression(f"{json.dumps(by_name)}[{name}]")


def _expression(text: str) -> Spec:
    return {"value": {"expr": text}}


# ---- sizes and type


def _width_name(columns: int) -> str:
    """Return the name of the signal with the width of a panel, as Vega-Lite calls it."""
    return "width" if columns == 1 else "childWidth"


def _share_values(figure: Figure) -> bool:
    return len({(panel.y_label, y_range(panel)) for panel in figure.panels}) == 1


def _labels_width(figure: Figure, columns: int) -> float:
    """Return the width of all that is beside panels: labels of vertical axes, and gaps."""
    gaps = _SPACING * (columns - 1) + _MARGIN
    if has_horizontal_bars(figure):
        names = {name for panel in figure.panels for name in categories(panel)}
        longest = max(text_width(line) for name in names for line in wrap(name, SIDE_LABEL))
        return gaps + _AXIS + _LETTER * longest
    longest = max(len(f"{end:.0f}") for panel in figure.panels for end in y_range(panel))
    return gaps + (_AXIS + _LETTER * max(longest + 1, 4)) * (1 if _share_values(figure) else columns)


def _title(text: str, look: Look, size: int, width: float) -> Spec:
    lines = wrap(text, int(width / (0.58 * size)))
    style = {"color": look.ink, "fontSize": size, "fontWeight": 600}
    return {"text": lines, "anchor": "start", "frame": "group", "offset": 8, **style}


def _config(look: Look, font: str, size: int) -> Spec:
    label = {"fill": look.muted, "fontSize": size}
    return {
        "font": font,
        "style": {"guide-label": label, "guide-title": label | {"fontWeight": "normal"}},
        "axis": {"gridColor": look.line, "domainColor": look.axis, "tickColor": look.axis, "labelLimit": 0},
        "legend": {"labelColor": look.ink, "labelLimit": 0, "columnPadding": 16},
        "text": {"fontSize": size - 1},
        "view": {"stroke": None},
    }
