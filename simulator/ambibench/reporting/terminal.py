"""Tables for a terminal of eighty columns, and all of them as one text in other forms."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil
from typing import Final, Literal

from rich.console import Console
from rich.text import Text

from simulator.ambibench.reporting.wording import FEATURE_TITLES
from simulator.figures import Table
from simulator.figures.tables import Cell
from simulator.stats import Interval

Form = Literal["text", "csv", "latex", "json"]
SUFFIXES: Final[Mapping[Form, str]] = {"text": ".txt", "csv": ".csv", "latex": ".tex", "json": ".json"}
# One row per cell, prompt or person: for files.
LONG: Final = ("cells", "prompts", "sessions")
# So many k of a curve fit beside each other in eighty columns.
_ABREAST: Final = 9
_SHORT: Final = {title: name for name, title in FEATURE_TITLES.items()}


def print_tables(console: Console, tables: Mapping[str, Table]) -> None:
    """What fits of each table; those in long form are left out, and intervals where columns are many."""
    for name, table in tables.items():
        if name in LONG:
            continue
        console.print()
        console.print(Text(table.title, "bold"), soft_wrap=True)
        for part in _parts(name, table):
            console.print(part.to_text())


def formatted(tables: Mapping[str, Table], form: Form) -> str:
    """All tables as one text; each under its name."""
    if form == "json":
        plain = {name: json.loads(table.to_json()) for name, table in tables.items()}
        return json.dumps(plain, ensure_ascii=False, indent=1) + "\n"
    if form == "text":
        console = Console(width=200)
        with console.capture() as capture:
            print_tables(console, tables)
        return capture.get()
    sign = {"csv": "#", "latex": "%"}[form]
    return "\n".join(f"{sign} {name}\n{one_table(table, form)}" for name, table in tables.items())


def one_table(table: Table, form: Form) -> str:
    """One table, whole, as a text."""
    if form == "text":
        console = Console(width=400)
        with console.capture() as capture:
            console.print(table.to_text())
        return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"
    writers: dict[str, Callable[[], str]] = {
        "csv": table.to_csv,
        "latex": table.to_latex,
        "json": table.to_json,
    }
    return writers[form]()


def _parts(name: str, table: Table) -> Iterator[Table]:
    heads = [head.name for head in table.heads]
    if name.startswith(("curve", "validity")):
        size = ceil(len(table.rows) / ceil(len(table.rows) / _ABREAST))
        for start in range(0, len(table.rows), size):
            yield _turned(table.rows[start : start + size], "k", heads[1:])
    elif name == "people":
        yield _turned([[f"{row[0]}, {row[1]}", *row[2:]] for row in table.rows], "", heads[2:])
    elif name.startswith(("accuracy", "verbalise")):
        features = [head for head in heads if head in _SHORT]
        told = [head for head in heads if head not in features]
        yield _picked(table, told, keep="all")
        yield _picked(table, ["actor", *features])
    elif name == "aws":
        yield _picked(table, heads)
    else:
        yield Table(table.columns, table.rows)


def _picked(table: Table, wanted: Sequence[str], keep: str = "") -> Table:
    """Some columns, features by their short names; intervals in the column `keep` alone."""
    heads = [head.name for head in table.heads]
    places = [heads.index(name) for name in wanted]
    rows = [[row[at] if heads[at] == keep else _value(row[at]) for at in places] for row in table.rows]
    return Table([_SHORT.get(name, name) for name in wanted], rows)


def _turned(rows: Sequence[Sequence[Cell]], corner: str, names: Sequence[str]) -> Table:
    """Columns as rows; the first cell of each row is the heading of a column."""
    heads = [corner or " ", *(str(row[0]) for row in rows)]
    turned = [[name, *(_value(row[at]) for row in rows)] for at, name in enumerate(names, start=1)]
    return Table(heads, turned)


def _value(cell: Cell) -> Cell:
    return cell.value if isinstance(cell, Interval) else cell
