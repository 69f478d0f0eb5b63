"""The codebook of an export (every column's type, unit, values and meaning), and spreadsheet-safe cells."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

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
    """Return the codebook as Markdown.

    `about`: lines that describe the export. `guarded`: whether cells are guarded against formulas (CSV).
    """
    lines = ["# Codebook", "", *(f"- {line}" for line in about)]
    if guarded:
        lines += [f"- {RULE}", "- An empty cell is a missing value. JSON columns contain JSON as text."]
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


# First characters with which Excel, LibreOffice or Google Sheets read a cell as a formula; the wide ones in
# East Asian editions (OWASP, "CSV Injection"). The quote is included so that `unguard` is unambiguous.
_DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "'")

# Characters that programs skip before they look for a formula: control and format characters, spaces, marks,
# and fillers that count as letters.
_UNSEEN = frozenset(("Cc", "Cf", "Zs", "Zl", "Zp", "Mn"))
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0")

RULE = (
    "A text cell that begins with one of = + - @ (or their wide forms), a tab, a line end or ', even after "
    "invisible characters, has a ' put before it, so that no spreadsheet reads it as a formula. A program "
    "that reads the file must remove one ' from every text cell that begins with one (`logs.export.unguard`)."
)


def _is_unseen(letter: str) -> bool:
    return letter in _FILLERS or unicodedata.category(letter) in _UNSEEN


def guard(text: str) -> str:
    """Return `text` as a cell that no spreadsheet reads as a formula."""
    seen = next((place for place, letter in enumerate(text) if not _is_unseen(letter)), len(text))
    return f"'{text}" if text.startswith(_DANGEROUS) or text[seen:].startswith(_DANGEROUS) else text


def guard_cell(value: Any) -> Any:
    """Return `value` with `guard` if it is a text that is not a number."""
    try:
        float(value)
    except ValueError:
        return guard(value)
    except TypeError:  # None
        return value
    return value


def unguard(cell: str) -> str:
    """Return the text of a cell written by `guard`."""
    return cell.removeprefix("'")
