"""Layout of figures: the grid of panels, the order of names, breaks of texts."""

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
_STEPS: Final = (1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000)
# A Chinese character with the punctuation that follows, or a word with the spaces that follow.
_PIECES: Final = re.compile(r"[\u3400-\u9fff][\u3000-\u303f\uff00-\uffef]*|[^\s\u3400-\u9fff]+\s*")


class Entry(NamedTuple):
    """A name in the legend; `kind` is the type of its first mark: Line, Bars, Stacked or Level."""

    name: str
    kind: type[Mark]
    stroke: Stroke


def column_count(figure: Figure, most: int = 4) -> int:
    """Return the number of columns: 1 for horizontal bars, else as set or at most `most`."""
    return 1 if has_horizontal_bars(figure) else _columns(figure, most)


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
    """Return the panel's range of values, or the least one that includes all of them if it sets none."""
    values = panel.y_range or [y for mark in panel.marks for y in extent(mark)]
    low, high = min(values), max(values)
    return low, high if high > low else low + 1


def x_ticks(panel: Panel) -> Sequence[float] | None:
    """Return the x ticks of lines: the panel's, or the first and round numbers; None: Vega chooses."""
    values = [x for mark in panel.marks if isinstance(mark, Line) for x in mark.x] + [*(panel.x_range or ())]
    if panel.x_ticks is not None or not all(isinstance(x, int) for x in values):
        return panel.x_ticks
    first, last = int(min(values)), int(max(values))
    step = next((step for step in _STEPS if (last - first) / step <= 5), None)
    if step is None:
        return None
    return (first, *range(math.ceil((first + 0.6 * step) / step) * step, last + 1, step))


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
