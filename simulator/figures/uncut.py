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
"""A column of texts has no less."""
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
        return max(_LEAST, cell_len(self.head.plain), longest)


@dataclass(frozen=True, slots=True)
class UncutTable:
    """A table as `rich` prints it: in one block, or in several that each begin with the names.

    Attributes:
        title: above the first block; empty for none.
        columns: those of texts at the left are the names of the rows.
    """

    title: str
    columns: Sequence[TextColumn]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table | str]:
        """Yield the blocks, one below the other."""
        for number, columns in enumerate(self._blocks(options.max_width)):
            if number:
                yield ""
            yield self._made(columns, "" if number else self.title, options.max_width)

    def _blocks(self, width: int) -> Iterator[Sequence[TextColumn]]:
        """Yield the columns, as many at a time as there is room for."""
        least = self._least(width)
        if _needed(map(least, self.columns)) <= width:
            yield self.columns
            return
        first = next((at for at, column in enumerate(self.columns) if not column.folds), len(self.columns))
        names = self.columns[:first]
        of_names = [max(least(name), min(name.width, _NAMES)) for name in names]
        block: list[TextColumn] = []
        for column in self.columns[first:]:
            if block and _needed([*of_names, *map(least, block), least(column)]) > width:
                yield [*names, *block]
                block = []
            block.append(column)
        yield [*names, *block]

    def _least(self, width: int) -> Callable[[TextColumn], int]:
        """Return what columns need: whole words, unless not even one number has room beside them then."""
        names = [column.least(whole_words=True) for column in self.columns if column.folds]
        numbers = [column.width for column in self.columns if not column.folds]
        roomy = _needed([*names, *([max(numbers)] if numbers else [])]) <= width
        return lambda column: column.least(whole_words=roomy)

    def _made(self, columns: Sequence[TextColumn], title: str, width: int) -> Table:
        least = self._least(width)
        made = Table(
            title=Text(title, "dim") if title else None, title_justify="left", box=None, pad_edge=False
        )
        for column in columns:
            if column.folds:
                made.add_column(column.head, justify="left", overflow="fold", min_width=least(column))
            else:
                made.add_column(column.head, justify="right", no_wrap=True, min_width=column.width)
        for row in zip(*(column.cells for column in columns), strict=True):
            made.add_row(*row)
        return made


def _needed(widths: Iterable[int]) -> int:
    every = list(widths)
    return sum(every) + _GAP * (len(every) - 1)
