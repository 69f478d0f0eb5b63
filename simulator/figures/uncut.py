"""Tables in a terminal, however narrow it is: names fold, and columns that do not fit go below."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.table import Table
from rich.text import Text

_GAP: Final = 2
"""Between columns."""
_LEAST: Final = 8
"""A column of texts has no less, unless none of them is as long."""
_NAMES: Final = 20
"""What a column of names may take where a table is told in several blocks."""


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column as it is shown.

    Attributes:
        folds: it holds texts that may be folded; a number never is, and is never cut.
    """

    head: Text
    cells: Sequence[Text]
    folds: bool

    @property
    def width(self) -> int:
        """Signs of the longest cell, or of the head."""
        return max(cell_len(cell.plain) for cell in (self.head, *self.cells))

    def least(self, *, whole_words: bool) -> int:
        """Return what it cannot do without; a word longer than a name may be is folded in any case."""
        if not self.folds:
            return self.width
        words = (cell_len(word) for text in self.cells for word in text.plain.split())
        longest = min(_NAMES, max(words, default=0)) if whole_words else 0
        return min(self.width, max(_LEAST, cell_len(self.head.plain), longest))


@dataclass(frozen=True, slots=True)
class UncutTable:
    """A table as `rich` prints it: in one block, or in several that each begin with the names.

    Attributes:
        title: above the first block; empty for none.
        columns: those of texts at the left are the names of the rows; the first alone, if all are of texts.
    """

    title: str
    columns: Sequence[TextColumn]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table | str]:
        """Yield the blocks, one below the other."""
        for number, columns in enumerate(self._blocks(options.max_width)):
            if number:
                yield ""
            yield self._make_table(columns, "" if number else self.title, options.max_width)

    def _blocks(self, width: int) -> Iterator[Sequence[TextColumn]]:
        """Yield the columns, as many at a time as there is room for."""
        least = self._least_width(width)
        if _needed_width(map(least, self.columns)) <= width:
            yield self.columns
            return
        names, rest = self._part_columns()
        of_names = [max(least(name), min(name.width, _NAMES)) for name in names]
        block: list[TextColumn] = []
        for column in rest:
            if block and _needed_width([*of_names, *map(least, block), least(column)]) > width:
                yield [*names, *block]
                block = []
            block.append(column)
        yield [*names, *block]

    def _part_columns(self) -> tuple[Sequence[TextColumn], Sequence[TextColumn]]:
        """Return the names of the rows, and the other columns."""
        first = next((at for at, column in enumerate(self.columns) if not column.folds), 1)
        return self.columns[:first], self.columns[first:]

    def _least_width(self, width: int) -> Callable[[TextColumn], int]:
        """Return what columns need: whole words, unless not even one column has room beside them then."""
        names, rest = ([column.least(whole_words=True) for column in part] for part in self._part_columns())
        roomy = _needed_width([*names, *([max(rest)] if rest else [])]) <= width
        return lambda column: column.least(whole_words=roomy)

    def _make_table(self, columns: Sequence[TextColumn], title: str, width: int) -> Table:
        made = Table(
            title=Text(title, "dim") if title else None, title_justify="left", box=None, pad_edge=False
        )
        for column, wide in zip(columns, self._widths(columns, width), strict=True):
            if column.folds:
                made.add_column(column.head, justify="left", overflow="fold", width=wide)
            else:
                made.add_column(column.head, justify="right", no_wrap=True, width=wide)
        for row in zip(*(column.cells for column in columns), strict=True):
            made.add_row(*row)
        return made

    def _widths(self, columns: Sequence[TextColumn], width: int) -> Sequence[int]:
        """Return how wide columns are: the widest texts fold first, as far as they can, numbers never."""
        least = self._least_width(width)
        for level in range(max(column.width for column in columns), 0, -1):
            widths = [max(least(column), min(column.width, level)) for column in columns]
            if _needed_width(widths) <= width:
                return widths
        return list(map(least, columns))


def _needed_width(widths: Iterable[int]) -> int:
    every = list(widths)
    return sum(every) + _GAP * (len(every) - 1)
