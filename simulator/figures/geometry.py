"""Layout of figures: the grid of panels, ranges and ticks of axes, the order of names, breaks of texts."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from simulator.figures.look import Stroke, strokes
from simulator.figures.spec import Bars, Figure, Level, Line, Mark, Panel, Range, Stacked, extent

LABEL: Final = 14
"""Letters per line of a category's name below its bars."""
SIDE_LABEL: Final = 32
"""Letters per line of a category's name to the left of its bars."""
_ROOM: Final = (84, 160)
"""Letters of category names that fit under a single panel, and under a row of panels."""
_MARGIN: Final = 0.03
_STEPS: Final = (1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000)
# A Chinese character with the punctuation that follows, or a word with the spaces that follow.
_PIECES: Final = re.compile(r"[\u3400-\u9fff][\u3000-\u303f\uff00-\uffef]*|[^\s\u3400-\u9fff]+\s*")
_QUARTERS: Final = (0, 0.25, 0.5, 0.75, 1)


class Entry(NamedTuple):
    """A name in the legend.

    Attributes:
        kind: type of its first mark: Line, Bars, Stacked or Level.
    """

    name: str
    kind: type[Mark]
    stroke: Stroke


def grid(figure: Figure, most: int = 4) -> tuple[int, int]:
    """Return the numbers of rows and columns: 1 column for horizontal bars, else as set or at most `most`."""
    columns = 1 if has_horizontal_bars(figure) else _columns(figure, most)
    return math.ceil(len(figure.panels) / columns), columns


# Called several times for each panel of a drawing.
@lru_cache(maxsize=64)
def has_horizontal_bars(figure: Figure) -> bool:
    """Return True if bars are horizontal, because the category names of a panel do not fit below its bars."""
    columns = _columns(figure, 4)
    room = _ROOM[0] if columns == 1 else _ROOM[1] // columns
    widths = [
        [max(map(text_width, wrap(name, LABEL))) + 1 for name in categories(panel)] for panel in figure.panels
    ]
    return all(widths) and max(map(sum, widths)) > room


def panel_height(panel: Panel) -> float:
    """Return the height of a panel with horizontal bars, in lines of text."""
    names = categories(panel)
    bars = 0.7 * sum(isinstance(mark, Bars) for mark in panel.marks)
    return len(names) * (0.4 + max(bars, *(len(wrap(name, SIDE_LABEL)) for name in names)))


def _columns(figure: Figure, most: int) -> int:
    count = len(figure.panels)
    return figure.columns or min(2 if count == 4 else min(count, 3 if count <= 9 else 4), most)


def legend(figure: Figure) -> tuple[Entry, ...]:
    """Return the entries of the legend in order of appearance, levels last."""
    marks: dict[str, Mark] = {}
    for mark in (mark for panel in figure.panels for mark in panel.marks):
        marks.setdefault(mark.name, mark)
    series = [mark for mark in marks.values() if not isinstance(mark, Level)]
    levels = [mark for mark in marks.values() if isinstance(mark, Level)]
    by_name = strokes((mark.name, mark.colour, getattr(mark, "style", "solid")) for mark in series)
    for level in levels:
        by_name[level.name] = Stroke(level.colour or "muted", "circle", "dotted", False)
    return tuple(Entry(mark.name, type(mark), by_name[mark.name]) for mark in (*series, *levels))


def categories(panel: Panel) -> tuple[str, ...]:
    """Return the categories of a panel's bars in order of appearance; empty for lines."""
    marks = (mark for mark in panel.marks if isinstance(mark, Bars | Stacked))
    return tuple(dict.fromkeys(category for mark in marks for category in mark.categories))


def y_range(panel: Panel) -> Range:
    """Return the panel's range of values, or one that includes all of them if it sets none."""
    if panel.y_range is not None:
        return panel.y_range
    values = [y for mark in panel.marks for y in extent(mark)]
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or abs(high) or 1
    has_bars = any(isinstance(mark, Bars) for mark in panel.marks)
    return (low if has_bars and low == 0 else low - room), (high if has_bars and high == 0 else high + room)


def y_window(panel: Panel) -> Range:
    """Return the visible part of the value axis: the range with margins, but no margin below bars at 0."""
    low, high = y_range(panel)
    room = _MARGIN * (high - low)
    on_axis = bool(categories(panel)) and low == 0
    return (low if on_axis else low - room), high + room


def x_window(panel: Panel) -> Range:
    """Return the visible part of the x axis of lines."""
    if panel.x_range is not None:
        low, high = panel.x_range
    else:
        values = [x for mark in panel.marks if isinstance(mark, Line) for x in mark.x]
        low, high = min(values), max(values)
    room = _MARGIN * (high - low) or 0.5
    return low - room, high + room


def x_ticks(panel: Panel) -> tuple[float, ...] | None:
    """Return the x ticks of lines: the panel's, or the first and round numbers; None: the library chooses."""
    if panel.x_ticks is not None:
        return tuple(panel.x_ticks)
    values = [x for mark in panel.marks if isinstance(mark, Line) for x in mark.x]
    low, high = panel.x_range or (min(values), max(values))
    if not all(isinstance(x, int) for x in (*values, low, high)):
        return None
    first, last = int(low), int(high)
    step = next((step for step in _STEPS if (last - first) / step <= 5), None)
    if step is None:
        return None
    if step == 1:
        return tuple(range(first, last + 1))
    round_numbers = range(math.ceil((first + 0.6 * step) / step) * step, last + 1, step)
    return (first, *round_numbers)


def y_ticks(panel: Panel) -> tuple[float, ...] | None:
    """Return quarters for a range from 0 to 1, where chance is often one half; None: the library chooses."""
    return _QUARTERS if y_range(panel) == (0, 1) else None


def all_equal(values: Sequence[object]) -> bool:
    """Return True if all values are equal."""
    return all(value == values[0] for value in values)


def last_in_column(figure: Figure, number: int, columns: int) -> bool:
    """Return True if there is no panel below this one."""
    return number + columns >= len(figure.panels)


def text_width(text: str) -> int:
    """Return the width of a text in Latin letters; a Chinese character counts as two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def wrap(text: str, width: int) -> list[str]:
    """Return a text as lines of at most `width` letters, broken at spaces and between Chinese characters."""
    lines = [""]
    for piece in _PIECES.findall(text):
        if lines[-1] and text_width(lines[-1] + piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece.lstrip() if not lines[-1] else piece
    return [line.rstrip() for line in lines]
