"""Tables of results, written as CSV, LaTeX and JSON, and shown in a terminal.

A cell is a text, a number, an `Interval`, or None for a missing value. The terminal and LaTeX show
``0.53 [0.48, 0.58]``; CSV and JSON have full precision, with low, high and n. In a narrow terminal texts
fold, and columns that do not fit move into further blocks below.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.table import Table as RichTable
from rich.text import Text

from logs.codebook import guard_cell
from simulator.output_files import rows_as_csv
from simulator.stats import Interval, half_up

if TYPE_CHECKING:
    import pandas as pd


Cell: TypeAlias = str | int | float | Interval | None


class AtMost(float):
    """A number that is shown as ``<0.0002``: an upper bound, such as the least p-value of drawn samples."""


_LATEX: Final = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "–": "--",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    }
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, and how its numbers are shown.

    Attributes:
        digits: decimals, in LaTeX and in the terminal.
        times: factor of numbers shown there: 100 for per cent.
        never_zero: whether positive numbers that would round to 0 are shown as ``<0.01``, such as p-values.
        scale_by: name of a column; drawn intervals have one scale per value of it. Default: one scale.
    """

    name: str
    digits: int = 2
    times: float = 1
    never_zero: bool = False
    scale_by: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under columns.

    Attributes:
        columns: headings, or `Column`s to choose the format.
        rows: each with one cell per column.
        name: suffix of its file names, after the section's name; default: its number.
    """

    columns: Sequence[Column | str]
    rows: Sequence[Sequence[Cell]]
    title: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        heads = tuple(Column(column) if isinstance(column, str) else column for column in self.columns)
        names = [head.name for head in heads]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"a table needs columns with different names, not {names}")
        object.__setattr__(self, "columns", heads)
        object.__setattr__(self, "rows", tuple(_row(row, names, at) for at, row in enumerate(self.rows)))

    @classmethod
    def of_frame(
        cls, frame: pd.DataFrame, columns: Iterable[Column | str] = (), title: str = "", name: str = ""
    ) -> Table:
        """Return a frame as a table, with None for NaN.

        `columns`: the columns to include; default: all.
        """
        heads = [Column(head) if isinstance(head, str) else head for head in columns or map(str, frame)]
        values = frame[[head.name for head in heads]]
        rows = [list(map(_as_cell, row)) for row in values.itertuples(index=False, name=None)]
        return cls(heads, rows, title, name)

    @property
    def heads(self) -> tuple[Column, ...]:
        """The columns, all as `Column`."""
        return tuple(column for column in self.columns if isinstance(column, Column))

    def to_csv(self) -> str:
        """Return CSV with all digits, guarded against formulas; intervals are followed by low, high and n."""
        spread = [self._has_intervals(place) for place in range(len(self.heads))]
        ends = ("", "_low", "_high", "_n")
        heads = zip(self.heads, spread, strict=True)
        lines = [[f"{head.name}{end}" for head, wide in heads for end in (ends if wide else ends[:1])]]
        for row in self.rows:
            cells = zip(row, spread, strict=True)
            lines.append([value for cell, wide in cells for value in _spread(cell, 4 if wide else 1)])
        return rows_as_csv(lines)

    def to_latex(self, *, siunitx: bool = False) -> str:
        r"""Return a ``tabular`` for booktabs: texts left-aligned, numbers right-aligned, ``--`` for None.

        `siunitx`: align numbers at their decimal points; other cells in these columns are put in braces.
        """
        texts = [self._has_texts(place) for place in range(len(self.heads))]
        sides = "".join("l" if text else "S[table-format=3.3]" if siunitx else "r" for text in texts)
        heads = [escape_latex(head.name) for head in self.heads]
        lines = [rf"\begin{{tabular}}{{{sides}}}", r"\toprule"]
        lines += [_latex_row(map(_braced, heads) if siunitx else heads), r"\midrule"]
        for row in self.rows:
            cells = []
            for cell, head, text in zip(row, self.heads, texts, strict=True):
                latex = "--" if cell is None else escape_latex(cell_text(cell, head))
                number = isinstance(cell, int | float) and not latex.startswith("\\")  # "<" is a command
                cells.append(latex if text or number or not siunitx else _braced(latex))
            lines.append(_latex_row(cells))
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])

    def plain(self) -> dict[str, Any]:
        """Return name, title, column names and rows as plain values; rows and intervals are objects."""
        names = [head.name for head in self.heads]
        rows = [dict(zip(names, map(_as_plain, row), strict=True)) for row in self.rows]
        named = {"name": self.name} if self.name else {}
        return {**named, "title": self.title, "columns": names, "rows": rows}

    def to_text(self) -> UncutTable:
        """Return the table for `rich`: values bold, intervals dim, numbers never truncated."""
        columns = [
            TextColumn(Text(head.name), [_as_rich(row[at], head) for row in self.rows], self._has_texts(at))
            for at, head in enumerate(self.heads)
        ]
        return UncutTable(self.title, columns)

    def _has_intervals(self, place: int) -> bool:
        return any(isinstance(row[place], Interval) for row in self.rows)

    def _has_texts(self, place: int) -> bool:
        return any(isinstance(row[place], str) for row in self.rows)


def cell_text(cell: Cell, column: Column) -> str:
    """Return a cell as displayed: ``0.53 [0.48, 0.58]``, ``0.53``, ``12``; empty for None."""
    if cell is None:
        return ""
    if isinstance(cell, Interval):
        return cell.bracketed(lambda number: _format_fixed(number, column))
    return cell if isinstance(cell, str) else _format_fixed(cell, column)


def escape_latex(text: str) -> str:
    """Return a text with LaTeX's special characters escaped."""
    return text.translate(_LATEX)


def _latex_row(cells: Iterable[str]) -> str:
    row = " & ".join(cells) + r" \\"
    # LaTeX would read a leading bracket as an option of the preceding row end or rule.
    return "{}" + row if row.startswith("[") else row


def _braced(latex: str) -> str:
    return f"{{{latex}}}"


def _format_fixed(number: float, column: Column) -> str:
    if isinstance(number, int) and column.times == 1:
        return str(number)
    text = half_up(number * column.times, column.digits)
    if column.never_zero and number > 0 == float(text):
        return f"<{10**-column.digits:.{column.digits}f}"
    return f"<{text}" if isinstance(number, AtMost) else text


def _as_cell(value: Any) -> Cell:
    """Return a frame's value as a cell: numpy numbers as Python's own, None for NaN."""
    if isinstance(value, np.generic):
        value = value.item()
    missing = isinstance(value, float) and math.isnan(value)
    return None if missing else value


def _row(row: Sequence[Cell], names: Sequence[str], at: int) -> tuple[Cell, ...]:
    if len(row) != len(names):
        raise ValueError(f"row {at} of the table has {len(row)} cells for {len(names)} columns")
    for cell, name in zip(row, names, strict=True):
        numbers = cell[:3] if isinstance(cell, Interval) else () if isinstance(cell, str) else (cell,)
        if any(number is not None and not math.isfinite(number) for number in numbers):
            raise ValueError(f"row {at}, {name!r}: {cell!r} is not finite; give None for a missing value")
    return tuple(row)


def _spread(cell: Cell, width: int) -> list[Any]:
    # Leading blanks only align texts for display.
    text = guard_cell(cell.strip()) if isinstance(cell, str) else cell
    values = list(cell) if isinstance(cell, Interval) else [text]
    return [*values, *[None] * (width - len(values))]


def _as_plain(cell: Cell) -> Any:
    if isinstance(cell, Interval):
        return cell._asdict()
    return cell.strip() if isinstance(cell, str) else cell


def _as_rich(cell: Cell, column: Column) -> Text:
    if not isinstance(cell, Interval):
        return Text(cell_text(cell, column))
    value, _, interval = cell_text(cell, column).partition(" ")
    return Text.assemble((value, "bold"), " ", (interval, "dim"))


# ---- in a terminal

_GAP: Final = 2
"""Blanks between columns."""
_LEAST: Final = 8
"""Minimum width of a column of texts, unless all of them are shorter."""
_NAMES: Final = 20
"""Maximum width of a column of row names in a table of several blocks."""


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A formatted column.

    Attributes:
        folds: whether it has texts, which may be folded; numbers are neither folded nor truncated.
    """

    head: Text
    cells: Sequence[Text]
    folds: bool

    @property
    def width(self) -> int:
        """Width of the longest cell or of the head, in terminal cells."""
        return max(cell_len(cell.plain) for cell in (self.head, *self.cells))

    def least(self, *, whole_words: bool) -> int:
        """Return the minimum width; words longer than the width of row names (`_NAMES`) are always folded."""
        if not self.folds:
            return self.width
        words = (cell_len(word) for text in self.cells for word in text.plain.split())
        longest = min(_NAMES, max(words, default=0)) if whole_words else 0
        return min(self.width, max(_LEAST, cell_len(self.head.plain), longest))


@dataclass(frozen=True, slots=True)
class UncutTable:
    """A table for `rich`: one block, or several that each begin with the row names.

    Attributes:
        title: above the first block; may be empty.
        columns: the leading text columns are the row names; if all have texts, only the first one is.
    """

    title: str
    columns: Sequence[TextColumn]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RichTable | str]:
        """Yield the blocks from top to bottom."""
        for number, columns in enumerate(self._blocks(options.max_width)):
            if number:
                yield ""
            yield self._make_table(columns, "" if number else self.title, options.max_width)

    def _blocks(self, width: int) -> Iterator[Sequence[TextColumn]]:
        """Yield the columns of each block, as many as fit."""
        least = self._least_width(width)
        if _needed_width(map(least, self.columns)) <= width:
            yield self.columns
            return
        names, rest = self._part_columns()
        name_widths = [max(least(name), min(name.width, _NAMES)) for name in names]
        block: list[TextColumn] = []
        for column in rest:
            if block and _needed_width([*name_widths, *map(least, block), least(column)]) > width:
                yield [*names, *block]
                block = []
            block.append(column)
        yield [*names, *block]

    def _part_columns(self) -> tuple[Sequence[TextColumn], Sequence[TextColumn]]:
        """Return the columns of row names, and the other columns."""
        first = max(1, next((at for at, column in enumerate(self.columns) if not column.folds), 1))
        return self.columns[:first], self.columns[first:]

    def _least_width(self, width: int) -> Callable[[TextColumn], int]:
        """Return a function to the minimum width of a column: whole words if they fit."""
        names, rest = ([column.least(whole_words=True) for column in part] for part in self._part_columns())
        roomy = _needed_width([*names, *([max(rest)] if rest else [])]) <= width
        return lambda column: column.least(whole_words=roomy)

    def _make_table(self, columns: Sequence[TextColumn], title: str, width: int) -> RichTable:
        table = RichTable(
            title=Text(title, "dim") if title else None, title_justify="left", box=None, pad_edge=False
        )
        for column, column_width in zip(columns, self._widths(columns, width), strict=True):
            if column.folds:
                table.add_column(column.head, justify="left", overflow="fold", width=column_width)
            else:
                table.add_column(column.head, justify="right", no_wrap=True, width=column_width)
        for row in zip(*(column.cells for column in columns), strict=True):
            table.add_row(*row)
        return table

    def _widths(self, columns: Sequence[TextColumn], width: int) -> Sequence[int]:
        """Return the widths of the columns: the widest texts fold first; numbers never do."""
        least = self._least_width(width)
        for level in range(max(column.width for column in columns), 0, -1):
            widths = [max(least(column), min(column.width, level)) for column in columns]
            if _needed_width(widths) <= width:
                return widths
        return list(map(least, columns))


def _needed_width(widths: Iterable[int]) -> int:
    widths = list(widths)
    return sum(widths) + _GAP * (len(widths) - 1)
