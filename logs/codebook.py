"""The codebook of an export: every column, its type, meaning, unit and values."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from logs.guard import RULE, guard
from logs.schema import Column, Table

_FIELDS = ("table", "column", "type", "unit", "values", "may be empty", "points to", "meaning")


def codebook_csv(tables: Iterable[Table]) -> str:
    """Return the codebook as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(_FIELDS)
    writer.writerows([guard(cell) for cell in row] for table in tables for row in _rows(table))
    return text.getvalue()


def codebook_markdown(tables: Sequence[Table], *, about: Sequence[str], guarded: bool) -> str:
    """Return the codebook as a page to read.

    Args:
        tables: the tables exported.
        about: what the export holds, a line each.
        guarded: whether cells are guarded against formulas (CSV).
    """
    lines = ["# Codebook", "", *(f"- {line}" for line in about)]
    if guarded:
        lines += [f"- {RULE}", "- An empty cell is a missing value. JSON columns hold JSON as text."]
    for table in tables:
        lines += ["", f"## {table.name}", "", table.meaning, "", *_markdown_table(_rows(table))]
    return "\n".join(lines) + "\n"


def _markdown_table(rows: Iterable[Sequence[str]]) -> list[str]:
    head = [f"| {' | '.join(_FIELDS[1:])} |", "|" + "---|" * (len(_FIELDS) - 1)]
    return head + [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row[1:])} |" for row in rows]


def _rows(table: Table) -> list[tuple[str, ...]]:
    return [_row(table, column) for column in table.columns]


def _row(table: Table, column: Column) -> tuple[str, ...]:
    return (
        table.name,
        column.name,
        "true or false" if column.kind == "boolean" else column.kind,
        column.unit,
        ", ".join(column.values),
        "yes" if column.nullable else "no",
        column.references,
        column.meaning.replace("``", "`"),
    )
