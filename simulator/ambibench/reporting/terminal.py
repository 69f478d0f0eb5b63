"""Tables for a terminal, and all of them as one text in other forms."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final, Literal

from rich.console import Console

from simulator.figures import Table
from simulator.figures.tables import Cell
from simulator.stats import Interval

Form = Literal["text", "csv", "latex", "json"]
SUFFIXES: Final[Mapping[Form, str]] = {"text": ".txt", "csv": ".csv", "latex": ".tex", "json": ".json"}
# One row per cell, prompt or person: for files.
LONG: Final = ("cells", "prompts", "sessions")
# Intervals are shown where they fit; files have them everywhere.
_WIDE: Final = ("accuracy", "curve", "validity", "verbalise")
_KEPT: Final = ("all",)


def print_tables(console: Console, tables: Mapping[str, Table]) -> None:
    """The tables, without those in long form; where columns are many, intervals are left out."""
    for name, table in tables.items():
        if name not in LONG:
            console.print()
            console.print((_plain(table) if name.startswith(_WIDE) else table).to_text())


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
    """One table as a text."""
    if form == "text":
        console = Console(width=250)
        with console.capture() as capture:
            console.print(table.to_text())
        return capture.get()
    writers: dict[str, Callable[[], str]] = {
        "csv": table.to_csv,
        "latex": table.to_latex,
        "json": table.to_json,
    }
    return writers[form]()


def _plain(table: Table) -> Table:
    kept = [head.name in _KEPT for head in table.heads]
    rows = [
        [cell if keep else _value(cell) for cell, keep in zip(row, kept, strict=True)] for row in table.rows
    ]
    return Table(table.columns, rows, table.title)


def _value(cell: Cell) -> Cell:
    return cell.value if isinstance(cell, Interval) else cell
