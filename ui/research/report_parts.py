"""A report (`simulator.reporting`) as pages show it: tables with intervals as bars, figures, remarks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from simulator.figures import Bars, Column, Table
from simulator.figures import Cell as Value
from simulator.figures import Figure as Drawn
from simulator.figures.files import svg_data
from simulator.figures.tables import shown
from simulator.reporting import Report, Section
from simulator.stats import Interval
from ui.i18n import Strings
from ui.research.figures import Figure, plot
from ui.research.format import Cell, Scale, cell, scale

MINUS: Final = "\N{MINUS SIGN}"


@dataclass(frozen=True, slots=True)
class TablePart:
    """A table.

    Attributes:
        heads: of its columns.
        numbers: by column: whether it holds plain numbers, which stand to the right.
        rows: cells: estimates, or texts.
    """

    title: str
    heads: tuple[str, ...]
    numbers: tuple[bool, ...]
    rows: tuple[tuple[Cell | str, ...], ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing that is no plot, as the address of an image."""

    title: str
    caption: str
    address: str


@dataclass(frozen=True, slots=True)
class Part:
    """A section of a report."""

    name: str
    title: str
    tables: tuple[TablePart, ...] = ()
    plots: tuple[Figure, ...] = ()
    pictures: tuple[Picture, ...] = ()
    text: str = ""
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportParts:
    """A report.

    Attributes:
        report: what it was made of.
        parts: its sections that hold something.
        nothing: why there is none; None if there is one.
    """

    report: Report
    parts: tuple[Part, ...] = ()
    nothing: Exception | None = None


def report_parts(t: Strings, report: Report) -> ReportParts:
    """Return the sections of a report that hold something."""
    parts = [_part(t, section) for section in report.sections]
    return ReportParts(
        report,
        tuple(
            part for part in parts if part.tables or part.plots or part.pictures or part.text or part.remarks
        ),
    )


def table_part(table: Table) -> TablePart:
    """Return a table; the bars of a column share a scale."""
    columns = [tuple(row[at] for row in table.rows) for at in range(len(table.heads))]
    scales = [_scale(head, column) for head, column in zip(table.heads, columns, strict=True)]
    return TablePart(
        table.title,
        tuple(head.name for head in table.heads),
        tuple(not any(isinstance(value, str | Interval) for value in column) for column in columns),
        tuple(tuple(map(_cell, row, table.heads, scales)) for row in table.rows),
    )


def estimate(interval: Interval, column: Column) -> Cell:
    """Return an estimate that stands for itself."""
    return cell(interval.times(column.times), _scale(column, [interval]), column.digits)


def _part(t: Strings, section: Section) -> Part:
    return Part(
        section.name,
        section.title,
        tuple(table_part(table) for table in section.tables if table.rows),
        tuple(
            plot(t, figure) for figure in section.figures if isinstance(figure, Drawn) and _compares(figure)
        ),
        tuple(_pictures(section)),
        section.text,
        tuple(section.remarks),
    )


def _compares(figure: Drawn) -> bool:
    """Return True unless a figure is a single bar, which tells nothing that its table does not."""
    marks = [mark for panel in figure.panels for mark in panel.marks]
    return not (len(marks) == 1 and isinstance(marks[0], Bars) and len(marks[0].categories) == 1)


def _pictures(section: Section) -> Iterator[Picture]:
    for figure in section.figures:
        if not isinstance(figure, Drawn):
            yield Picture(figure.title, figure.caption, svg_data(figure.svg().encode()))


def _cell(value: Value, column: Column, on: Scale) -> Cell | str:
    if isinstance(value, Interval):
        return cell(value.times(column.times), on, column.digits)
    return value if isinstance(value, str) else shown(value, column).replace("-", MINUS) or "–"


def _scale(column: Column, values: Sequence[Value]) -> Scale:
    intervals = [value.times(column.times) for value in values if isinstance(value, Interval)]
    ends = [end for interval in intervals for end in interval.reach]
    if not ends or (min(ends) >= 0 and max(ends) <= column.times):
        return scale((), fixed=(0.0, column.times))
    if min(ends) < 0:  # a difference: zero stands in the middle
        reach = 1.1 * max(map(abs, ends))
        return scale((), fixed=(-reach, reach))
    return scale(intervals)
