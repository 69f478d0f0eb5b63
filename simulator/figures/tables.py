"""Tables of results: one description, written as CSV, LaTeX and JSON, and shown in the terminal.

A cell is a text, a number, an `Interval`, or None for what is not known. The terminal and LaTeX show
``0.53 [0.48, 0.58]``; CSV and JSON keep every digit, low, high and n.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from rich.text import Text

from simulator.figures.uncut import TextColumn, UncutTable
from simulator.stats import Interval

Cell: TypeAlias = str | int | float | Interval | None

_LATEX: Final = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    }
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        name: its heading.
        digits: after the point, in LaTeX and in the terminal.
        times: what numbers are multiplied with there: 100 for per cent.
    """

    name: str
    digits: int = 2
    times: float = 1


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under columns.

    Attributes:
        columns: headings, or `Column` where the digits matter.
        rows: as many cells each as there are columns.
        title: what the table tells.
    """

    columns: Sequence[Column | str]
    rows: Sequence[Sequence[Cell]]
    title: str = ""

    def __post_init__(self) -> None:
        heads = tuple(Column(one) if isinstance(one, str) else one for one in self.columns)
        names = [one.name for one in heads]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"a table needs columns with different names, not {names}")
        object.__setattr__(self, "columns", heads)
        object.__setattr__(self, "rows", tuple(_row(row, names, at) for at, row in enumerate(self.rows)))

    @property
    def heads(self) -> tuple[Column, ...]:
        """The columns, headings alone made into `Column`."""
        return tuple(one for one in self.columns if isinstance(one, Column))

    def to_csv(self) -> str:
        """CSV with all digits; a column with intervals is followed by its low, high and n."""
        spread = [self._has_intervals(place) for place in range(len(self.heads))]
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        ends = ("", "_low", "_high", "_n")
        heads = zip(self.heads, spread, strict=True)
        writer.writerow(f"{one.name}{end}" for one, wide in heads for end in (ends if wide else ends[:1]))
        for row in self.rows:
            cells = zip(row, spread, strict=True)
            writer.writerow(value for cell, wide in cells for value in _spread(cell, 4 if wide else 1))
        return out.getvalue()

    def to_latex(self) -> str:
        r"""A ``tabular`` for booktabs; texts to the left, numbers to the right, ``--`` for None."""
        sides = "".join("l" if self._has_texts(place) else "r" for place in range(len(self.heads)))
        lines = [rf"\begin{{tabular}}{{{sides}}}", r"\toprule", _latex_row([one.name for one in self.heads])]
        lines.append(r"\midrule")
        for row in self.rows:
            told = zip(row, self.heads, strict=True)
            lines.append(_latex_row(["--" if cell is None else shown(cell, head) for cell, head in told]))
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])

    def to_json(self) -> str:
        """JSON: the title, and per row an object from column names to cells; intervals are objects."""
        names = [one.name for one in self.heads]
        rows = [dict(zip(names, map(_plain, row), strict=True)) for row in self.rows]
        plain = {"title": self.title, "columns": names, "rows": rows}
        return json.dumps(plain, ensure_ascii=False, allow_nan=False, indent=1) + "\n"

    def to_text(self) -> UncutTable:
        """The table as `rich` prints it in a terminal; values bold, intervals dim, and no number cut."""
        columns = [
            TextColumn(Text(head.name), [_rich(row[at], head) for row in self.rows], self._has_texts(at))
            for at, head in enumerate(self.heads)
        ]
        return UncutTable(self.title, columns)

    def _has_intervals(self, place: int) -> bool:
        return any(isinstance(row[place], Interval) for row in self.rows)

    def _has_texts(self, place: int) -> bool:
        return any(isinstance(row[place], str) for row in self.rows)


def shown(cell: Cell, column: Column) -> str:
    """A cell as people read it: ``0.53 [0.48, 0.58]``, ``0.53``, ``12``; nothing for None."""
    if cell is None:
        return ""
    if isinstance(cell, Interval):
        value, low, high = (_fixed(number, column) for number in cell[:3])
        return f"{value} [{low}, {high}]"
    return cell if isinstance(cell, str) else _fixed(cell, column)


def escape_latex(text: str) -> str:
    """A text that LaTeX sets as it is, whatever signs are in it."""
    return text.translate(_LATEX)


def _fixed(number: float, column: Column) -> str:
    if isinstance(number, int) and column.times == 1:
        return str(number)
    told = f"{number * column.times:.{column.digits}f}"
    return told.removeprefix("-") if float(told) == 0 else told


def _row(row: Sequence[Cell], names: Sequence[str], at: int) -> tuple[Cell, ...]:
    if len(row) != len(names):
        raise ValueError(f"row {at} of the table has {len(row)} cells for {len(names)} columns")
    for cell, name in zip(row, names, strict=True):
        numbers = cell[:3] if isinstance(cell, Interval) else () if isinstance(cell, str) else (cell,)
        if any(number is not None and not math.isfinite(number) for number in numbers):
            raise ValueError(f"row {at}, {name!r}: {cell!r} is not finite; give None for what is not known")
    return tuple(row)


def _spread(cell: Cell, width: int) -> list[Any]:
    values = list(cell) if isinstance(cell, Interval) else [cell]
    return [*values, *[None] * (width - len(values))]


def _latex_row(cells: Sequence[str]) -> str:
    row = " & ".join(escape_latex(cell) for cell in cells) + r" \\"
    # A row's end and a rule take an option in brackets; a cell must not become one.
    return "{}" + row if row.startswith("[") else row


def _plain(cell: Cell) -> Any:
    return cell._asdict() if isinstance(cell, Interval) else cell


def _rich(cell: Cell, column: Column) -> Text:
    if not isinstance(cell, Interval):
        return Text(shown(cell, column))
    value, _, interval = shown(cell, column).partition(" ")
    return Text.assemble((value, "bold"), " ", (interval, "dim"))
