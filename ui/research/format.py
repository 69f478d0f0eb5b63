"""Formatting of numbers, estimates, tables and plots for the researchers' pages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from simulator.figures import Bars, Column, Figure, Line, Mark, Panel, Stacked, Table
from simulator.figures import Cell as Value
from simulator.figures.files import svg_data
from simulator.figures.tables import cell_text
from simulator.reporting import Drawing, Section
from simulator.stats import Interval, half_up
from ui.i18n import Strings

MINUS: Final = "\N{MINUS SIGN}"
_MOST_BARS: Final = 40


def number(value: float, digits: int = 2) -> str:
    """Format a number with a true minus sign and without negative zero."""
    return half_up(value, digits).replace("-", MINUS)


def count(value: int) -> str:
    """Format an integer with narrow spaces between the thousands."""
    return f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def dollars(value: float) -> str:
    """Format US dollars with two decimals, or four below a dollar."""
    return f"${value:.2f}" if value >= 1 or value == 0 else f"${value:.4f}"


def score(value: float) -> str:
    """Format a score for lists."""
    return cell_text(int(value) if value == int(value) else value, Column("")).replace("-", MINUS)


def as_json(value: object) -> str:
    """Return a value as indented JSON."""
    return json.dumps(value, ensure_ascii=False, indent=1)


class Scale(NamedTuple):
    """The common range of the bars in one column."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """Return the position of `value`, in percent of the width."""
        width = self.high - self.low
        share = (value - self.low) / width if width else 0.5
        return round(100 * min(1.0, max(0.0, share)), 2)


class Cell(NamedTuple):
    """An estimate and its interval, as text and as a bar in percent of the scale; `zero` if it is on it."""

    value: str
    interval: str
    low: float
    high: float
    at: float
    zero: float | None


def scale(intervals: Sequence[Interval]) -> Scale:
    """Return a scale that covers all `intervals`."""
    low, high = min(each.reach[0] for each in intervals), max(each.reach[1] for each in intervals)
    margin = (high - low) * 0.08 or 0.5
    return Scale(low - margin, high + margin)


def cell(interval: Interval, on: Scale, digits: int) -> Cell:
    """Return the table cell of an interval."""
    low, high = map(on.place, interval.reach)
    words = number(interval.value, digits), interval.in_brackets(lambda end: number(end, digits))
    return Cell(*words, low, high, on.place(interval.value), on.place(0.0) if on.low < 0 < on.high else None)


def estimate(interval: Interval, column: Column) -> Cell:
    """Return the cell of an estimate with a scale of its own."""
    return cell(interval.times(column.times), _scale(column, [interval]), column.digits)


def cells(table: Table) -> list[list[Cell | str]]:
    """Return the rows of a table as estimates and texts; the bars of a column share a scale (`Column`)."""
    names, columns = [head.name for head in table.heads], []
    for at, head in enumerate(table.heads):
        groups = [row[names.index(head.scale_by)] if head.scale_by else "" for row in table.rows]
        column = list(zip(groups, (row[at] for row in table.rows), strict=True))
        scales = {
            group: _scale(head, [value for each, value in column if each == group]) for group in {*groups}
        }
        columns.append([_cell(value, head, scales[group]) for group, value in column])
    return [list(row) for row in zip(*columns, strict=True)]


def numbers(table: Table) -> list[bool]:
    """Return for each column of a table whether it contains plain numbers only, to be aligned right."""
    places = range(len(table.heads))
    return [not any(isinstance(row[at], str | Interval) for row in table.rows) for at in places]


def _cell(value: Value, column: Column, on: Scale) -> Cell | str:
    if isinstance(value, Interval):
        return cell(value.times(column.times), on, column.digits)
    return value if isinstance(value, str) else cell_text(value, column).replace("-", MINUS) or "–"


def _scale(column: Column, values: Iterable[Value]) -> Scale:
    intervals = [value.times(column.times) for value in values if isinstance(value, Interval)]
    ends = [end for interval in intervals for end in interval.reach]
    if not ends or (min(ends) >= 0 and max(ends) <= column.times):
        return Scale(0.0, column.times)
    if min(ends) < 0:  # a difference: zero is in the middle
        reach = 1.1 * max(map(abs, ends))
        return Scale(-reach, reach)
    return scale(intervals)


def nonempty_sections(sections: Iterable[Section]) -> list[Section]:
    """Return the sections that have content, without their empty tables."""
    cache = (replace(each, tables=[table for table in each.tables if table.rows]) for each in sections)
    return [
        each for each in cache if each.tables or plots(each) or pictures(each) or each.text or each.remarks
    ]


def plots(section: Section) -> list[Figure]:
    """Return the plots of a section without single bars, which add nothing to their table."""
    figures = (figure for figure in section.figures if isinstance(figure, Figure))
    return [figure for figure in figures if list(map(_bars, _marks(figure))) != [1]]


def _marks(figure: Figure) -> list[Mark]:
    return [mark for panel in figure.panels for mark in panel.marks]


def pictures(section: Section) -> list[tuple[Drawing, str]]:
    """Return the drawings of a section that are not plots, each with the address of its image."""
    drawn = (figure for figure in section.figures if not isinstance(figure, Figure))
    return [(drawing, svg_data(drawing.svg().encode())) for drawing in drawn]


def translate_figure(t: Strings, figure: Figure) -> Figure:
    """Return a figure with its texts in the language of the page."""
    panels = [
        replace(
            panel,
            title=t.phrase(panel.title),
            x_label=t.phrase(panel.x_label),
            y_label=t.phrase(panel.y_label),
            marks=[_translate_mark(t, mark) for mark in panel.marks],
        )
        for panel in figure.panels
    ]
    return replace(figure, title=t.phrase(figure.title), caption=t.phrase(figure.caption), panels=panels)


def is_wide(figure: Figure) -> bool:
    """Return True if a figure needs the full width of a page."""
    return (figure.columns or len(figure.panels)) > 1 or max(
        map(_bars_side_by_side, figure.panels)
    ) > _MOST_BARS


def _translate_mark(t: Strings, mark: Mark) -> Mark:
    named = replace(mark, name=t.phrase(mark.name))
    if isinstance(named, Bars | Stacked):
        return replace(named, categories=[t.phrase(category) for category in named.categories])
    return named


def _bars_side_by_side(panel: Panel) -> int:
    stacked = max((len(mark.categories) for mark in panel.marks if isinstance(mark, Stacked)), default=0)
    lines = 24 if any(isinstance(mark, Line) for mark in panel.marks) else 0
    return max(sum(map(_bars, panel.marks)), 2 * stacked, lines)


def _bars(mark: Mark) -> int:
    return len(mark.categories) if isinstance(mark, Bars) else 0
