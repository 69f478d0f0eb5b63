"""Figures for print, drawn with matplotlib without a display; equal values give equal bytes.

matplotlib takes most of a second to import, so this module is only imported when a file is written.
"""

from __future__ import annotations

import io
import math
import threading
from collections.abc import Sequence
from typing import Any, Final, Literal

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Drawing
from matplotlib.font_manager import fontManager
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.legend import Legend
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FormatStrFormatter, MaxNLocator

from simulator.figures.geometry import (
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
    text_width,
    whiskers,
    wrap,
    x_ticks,
    x_window,
    y_range,
    y_ticks,
    y_window,
)
from simulator.figures.look import LIGHT, text_on
from simulator.figures.spec import Bars, Figure, Level, Line, Stacked
from simulator.stats import half_up

DPI: Final = 300
INCH: Final = 2.54
DASHES: Final[dict[str, Any]] = {"solid": "-", "dashed": (0, (4, 1.6)), "dotted": (0, (1, 1.4))}
MARKERS: Final = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "triangle-up": "^",
    "triangle-down": "v",
    "cross": "P",
    "x": "X",
    "star": "*",
}
# Liberation Sans has Arial's widths: an SVG laid out with one reads the same with the other.
_LATIN: Final = ("Arial", "Liberation Sans", "DejaVu Sans")
_CJK: Final = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans SC",
    "Source Han Sans SC",
    "PingFang SC",
    "Hiragino Sans GB",
    "Microsoft YaHei",
    "WenQuanYi Micro Hei",
)
_TALLEST: Final = {1: 7.4, 2: 5.4}
"""Number of rows -> maximum height of a row of panels, in centimetres."""
_SHAPE: Final = {1: 0.5, 2: 0.66, 3: 0.74}
"""Number of columns -> ratio of a panel's height to its width."""
_LINE: Final = 0.3
"""Height of a line of text, in centimetres."""
_NARROWEST: Final = 2.6
"""Minimum width of a panel, in centimetres, if the figure does not set its columns."""
_AIR: Final = 0.05
"""Space around title and legend, in inches."""
_SLANTED: Final = 20
"""Letters per line of a slanted label."""
_LETTER: Final = 0.5
"""Mean width of a letter, in font sizes."""
# matplotlib's settings are global to the process.
_LOCK: Final = threading.Lock()


def render(figure: Figure, format: Literal["png", "svg", "pdf"], width: float) -> bytes:
    """Return a figure as the bytes of a file: PNG at 300 dpi, SVG and PDF with text as text.

    `width`: in centimetres.
    """
    caption = "Subject" if format == "pdf" else "Description"
    facts = {"Title": figure.title, caption: figure.caption}
    date = "CreationDate" if format == "pdf" else "Date"
    extra = {"Software": "Askback"} if format == "png" else {"Creator": "Askback", date: None}
    out = io.BytesIO()
    with _LOCK, matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_settings(figure.name, width))
        drawing = draw(figure, width)
        metadata = {key: value for key, value in facts.items() if value} | extra
        drawing.savefig(out, format=format, dpi=DPI, metadata=metadata)
    return out.getvalue()


def draw(figure: Figure, width: float) -> Drawing:
    """Return the drawing; call it under the settings of `render`."""
    rows, columns = grid(figure, most=max(int(width / _NARROWEST), 1))
    each = width / columns
    row = min(max(each * _SHAPE.get(columns, 0.84), 2.9), _TALLEST.get(rows, 4.4))
    if has_horizontal_bars(figure):
        row = 1 + _LINE * max(map(panel_height, figure.panels))
    drawing = Drawing(figsize=(width / INCH, rows * row / INCH))
    FigureCanvasAgg(drawing)
    entries = legend(figure)
    axes = drawing.subplots(rows, columns, squeeze=False)
    labels = [0.0] * rows
    for number, place in enumerate(axes.flat):
        if number < len(figure.panels):
            _panel(place, figure, number, columns, {entry.name: entry for entry in entries}, each)
            labels[number // columns] = max(labels[number // columns], _text_height(place, drawing.dpi))
        else:
            place.set_visible(False)
    _head(drawing, figure, entries, rows * row / INCH + sum(labels))
    return drawing


def _head(drawing: Drawing, figure: Figure, entries: Sequence[Entry], high: float) -> None:
    """Add title and legend above the panels (`high` inches in total), and enlarge the drawing for them."""
    size = float(matplotlib.rcParams["figure.titlesize"])
    wide = drawing.get_figwidth()
    lines = wrap(figure.title, _letters(wide * INCH, size * 1.1))
    title = drawing.text(0.006, 1, "\n".join(lines), size=size, weight="bold", color=LIGHT.ink, va="top")
    names = _legend(drawing, entries) if len(entries) > 1 else None
    top = _AIR + title.get_window_extent().height / drawing.dpi + _AIR
    head = top + _AIR + (names.get_window_extent().height / drawing.dpi if names else 0)
    total = high + head
    drawing.set_size_inches(wide, total)
    title.set_y(1 - _AIR / total)
    if names:
        names.set_bbox_to_anchor((0, 1 - top / total))
    drawing.set_layout_engine(ConstrainedLayoutEngine(w_pad=0.03, h_pad=0.03, rect=(0, 0, 1, high / total)))


def _text_height(axes: Axes, dpi: float) -> float:
    """Return the height of a panel's title and tick labels beyond their first lines, in inches."""
    line = float(matplotlib.rcParams["xtick.labelsize"]) / 72
    heights = [label.get_window_extent().height / dpi for label in axes.get_xticklabels()]
    title = axes.get_title("left").count("\n") * 1.3 * line
    return max(max(heights) - 1.3 * line, 0) + title


def _panel(
    axes: Axes, figure: Figure, number: int, columns: int, entries: dict[str, Entry], width: float
) -> None:
    panel = figure.panels[number]
    box_by_name, horizontal = {box.mark.name: box for box in boxes(panel)}, has_horizontal_bars(figure)
    order = list(entries)
    for mark in panel.marks:
        stroke = entries[mark.name].stroke
        colour = LIGHT.colour(stroke.colour)
        if isinstance(mark, Level):
            across = axes.axvline if horizontal else axes.axhline
            across(mark.y, color=colour, linestyle=DASHES["dotted"], linewidth=1, zorder=2.4)
        elif isinstance(mark, Line):
            _line(axes, mark, entries[mark.name], order.index(mark.name), width)
        else:
            room = None if horizontal else width / len(categories(panel))
            _bars(axes, mark, box_by_name[mark.name], entries[mark.name], room)
    _axes(axes, figure, number, columns, width)


def _line(axes: Axes, mark: Line, entry: Entry, place: int, width: float) -> None:
    colour = LIGHT.colour(entry.stroke.colour)
    if mark.low is not None and mark.high is not None:
        axes.fill_between(mark.x, mark.low, mark.high, color=colour, alpha=0.16, linewidth=0, zorder=2)
    # Curves with many points have markers at some of them only, each curve at different ones.
    step = max(round(len(mark.x) / width), 1)
    axes.plot(
        mark.x,
        mark.y,
        color=colour,
        linestyle=DASHES[entry.stroke.dash],
        marker=MARKERS[entry.stroke.marker],
        markersize=_marker_size(entry),
        markevery=(place % step, step) if step < len(mark.x) else None,
        zorder=3,
    )


def _bars(axes: Axes, mark: Bars | Stacked, box: Boxes, entry: Entry, width: float | None) -> None:
    """Draw bars `width` centimetres apart, or horizontal bars if that is None."""
    colour = LIGHT.colour(entry.stroke.colour)
    (axes.barh if width is None else axes.bar)(
        box.x,
        mark.y,
        box.width * (1 if isinstance(mark, Stacked) else 0.92),
        box.bottom,
        color=colour,
        edgecolor=LIGHT.ground,
        linewidth=0.35 if isinstance(mark, Stacked) else 0,
        hatch="////" if entry.stroke.hatched else None,
        zorder=2,
    )
    if isinstance(mark, Bars):
        if reach := whiskers(mark):
            for colour, thick in ((LIGHT.ground, 1.5), (LIGHT.ink, 0.8)):
                style: Any = {"fmt": "none", "ecolor": colour, "elinewidth": thick, "zorder": 3}
                if width is None:
                    axes.errorbar(mark.y, box.x, xerr=reach, **style)
                else:
                    axes.errorbar(box.x, mark.y, reach, **style)
        return
    if width is not None and width * box.width < 0.6:
        return
    for x, bottom, share in zip(box.x, box.bottom, mark.y, strict=True):
        if share >= 0.1:
            middle = bottom + share / 2
            at, up = (middle, x) if width is None else (x, middle)
            axes.text(at, up, half_up(share), ha="center", va="center", color=text_on(colour), zorder=4)


def _axes(axes: Axes, figure: Figure, number: int, columns: int, width: float) -> None:
    panel, horizontal = figure.panels[number], has_horizontal_bars(figure)
    first = number % columns == 0
    shared_y = all_equal([(panel.y_label, y_range(panel)) for panel in figure.panels])
    values = axes.xaxis if horizontal else axes.yaxis
    axes.set_xlim(*(y_window if horizontal else x_window)(panel))
    axes.set_ylim(*(x_window(panel)[::-1] if horizontal else y_window(panel)))
    axes.set_axisbelow(True)
    values.grid(True)
    if panel.title:
        size = float(matplotlib.rcParams["axes.titlesize"])
        letters = _letters(width - (1.2 if columns == 1 else 0.35), size * 1.1)
        axes.set_title("\n".join(wrap(panel.title, letters)), loc="left")
    below = [panel.y_label if horizontal else panel.x_label for panel in figure.panels]
    if last_in_column(figure, number, columns) or not all_equal(below):
        axes.set_xlabel(below[number])
    if first or not shared_y:
        axes.set_ylabel(panel.x_label if horizontal else panel.y_label)
    if (ticks := y_ticks(panel)) is not None:
        values.set_major_locator(FixedLocator(ticks))
        values.set_major_formatter(FormatStrFormatter("%.2f"))
    else:
        values.set_major_locator(MaxNLocator(5))
    axes.tick_params(left=first or not shared_y, labelleft=first or not shared_y)
    if categories(panel) and y_window(panel)[0] < 0:
        (axes.axvline if horizontal else axes.axhline)(0, color=LIGHT.axis, linewidth=0.6, zorder=2.5)
    if horizontal:
        names = ["\n".join(wrap(name, SIDE_LABEL)) for name in categories(panel)]
        axes.set_yticks(range(len(names)), names)
        axes.tick_params(axis="y", length=0)
    elif named := categories(panel):
        _categories(axes, named, width)
    elif (chosen := x_ticks(panel)) is not None:
        axes.xaxis.set_major_locator(FixedLocator(chosen))
        axes.xaxis.set_major_formatter("{x:g}")
    else:
        axes.xaxis.set_major_locator(MaxNLocator(5))


def _categories(axes: Axes, named: Sequence[str], width: float) -> None:
    """Write categories below the bars, on one line or several, slanted if a word is too long."""
    size = float(matplotlib.rcParams["xtick.labelsize"])
    letters = _letters((width - 1) / len(named), size)
    wrapped = [wrap(name, letters) for name in named]
    fits = all(text_width(line) <= letters for lines in wrapped for line in lines)
    if not fits:
        wrapped = [wrap(name, _SLANTED) for name in named]
    texts = ["\n".join(lines) for lines in wrapped]
    axes.set_xticks(range(len(named)), texts)
    axes.tick_params(axis="x", length=0)
    if not fits:
        for label in axes.get_xticklabels():
            label.set(rotation=35, ha="right", rotation_mode="anchor")


def _legend(drawing: Drawing, entries: Sequence[Entry]) -> Legend:
    """Return the legend of all panels, in as few rows as fit, filled evenly, row by row."""
    handles = [_handle(entry) for entry in entries]
    count = len(entries)
    for rows in range(1, count + 1):
        columns = math.ceil(count / rows)
        order = [place for column in range(columns) for place in range(column, count, columns)]
        names = drawing.legend(
            [handles[place] for place in order],
            [entries[place].name for place in order],
            loc="upper left",
            ncols=columns,
            handler_map={tuple: HandlerTuple(ndivide=1, pad=0)},
        )
        names.set_in_layout(False)
        if columns == 1 or names.get_window_extent().width <= 0.985 * drawing.bbox.width:
            break
        names.remove()
    return names


def _handle(entry: Entry) -> Any:
    colour = LIGHT.colour(entry.stroke.colour)
    if entry.kind in (Bars, Stacked):
        hatch = "////" if entry.stroke.hatched else None
        return Patch(facecolor=colour, edgecolor=LIGHT.ground, linewidth=0, hatch=hatch)
    if entry.kind is Level:
        return Line2D([], [], color=colour, linestyle=DASHES["dotted"], linewidth=1)
    marker = MARKERS[entry.stroke.marker]
    dash, size = DASHES[entry.stroke.dash], _marker_size(entry)
    line = Line2D([], [], color=colour, linestyle=dash, marker=marker, markersize=size)
    return (Patch(facecolor=colour, alpha=0.16, linewidth=0), line) if entry.band else line


def _marker_size(entry: Entry) -> float:
    """Return the size of a marker, scaled so that all shapes look equally large."""
    scale = {"diamond": 0.88, "star": 1.7, "cross": 1.2, "x": 1.2}.get(entry.stroke.marker, 1)
    return scale * float(matplotlib.rcParams["lines.markersize"])


def _letters(width: float, size: float) -> int:
    """Return about how many letters of a size (points) fit into a width (centimetres)."""
    return max(int(width / (size / 72 * INCH * _LETTER)), 1)


def _fonts() -> list[str]:
    """Return an installed Latin font, and an installed Chinese one if there is any."""
    installed = {font.name for font in fontManager.ttflist}
    latin = next(name for name in _LATIN if name in installed)
    return list(dict.fromkeys([latin, *[name for name in _CJK if name in installed][:1], "sans-serif"]))


def _settings(name: str, width: float) -> Any:
    small = 7.0 if width > 12 else 6.5
    return {
        "svg.fonttype": "none",
        "svg.hashsalt": name,
        "text.parse_math": False,
        "axes.formatter.use_mathtext": False,
        "axes.unicode_minus": True,
        "font.family": _fonts(),
        "font.sans-serif": ["DejaVu Sans"],
        "font.size": small,
        "figure.titlesize": small + 2,
        "figure.facecolor": LIGHT.ground,
        "axes.titlesize": small + 0.5,
        "axes.titleweight": "bold",
        "axes.titlecolor": LIGHT.ink,
        "axes.titlepad": 4,
        "axes.labelsize": small + 0.5,
        "axes.labelcolor": LIGHT.muted,
        "axes.labelpad": 3,
        "axes.edgecolor": LIGHT.axis,
        "axes.linewidth": 0.6,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "grid.color": LIGHT.line,
        "grid.linewidth": 0.6,
        "xtick.color": LIGHT.axis,
        "ytick.color": LIGHT.axis,
        "xtick.labelcolor": LIGHT.muted,
        "ytick.labelcolor": LIGHT.muted,
        "xtick.labelsize": small,
        "ytick.labelsize": small,
        "xtick.major.size": 2.5,
        "ytick.major.size": 2.5,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "lines.linewidth": 1.3,
        "lines.markersize": 3.6,
        "lines.markeredgewidth": 0.5,
        "lines.markeredgecolor": LIGHT.ground,
        "hatch.color": LIGHT.ground,
        "hatch.linewidth": 0.6,
        "legend.frameon": False,
        "legend.fontsize": small + 0.5,
        "legend.labelcolor": LIGHT.ink,
        "legend.handlelength": 1.9,
        "legend.handletextpad": 0.5,
        "legend.columnspacing": 1.4,
        "legend.borderaxespad": 0.3,
        "legend.borderpad": 0.1,
    }
