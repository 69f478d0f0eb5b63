"""``schema.md``: every table, column and view of the log, from the code."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from logs.migrations import SCHEMA_VERSION, apply_migrations
from logs.schema import TABLES, Column, Table

DOCUMENT = Path(__file__).parent.parent / "schema.md"

_HEAD = f"""# The log

One SQLite file (schema {SCHEMA_VERSION}), to be read with any SQLite tool while Askback runs. This page is
generated from the code: `python -m logs.schema` writes it anew.

- **Append-only.** The file itself refuses UPDATE, DELETE and INSERT OR REPLACE on every table. What
  changes (an assignment's state, a score) is appended, and the newest row holds. The one exception is
  `askback log erase`, which puts `[erased]` in the place of a person's texts and leaves a receipt.
- **Whole.** The turns of an episode are numbered 0, 1, 2, … without a gap, none follows its ending, and
  an episode ends once.
- **Written once.** A row that is in the log already is not written again; one that contradicts it is refused.
- Every table has a column `seq` besides those below: the order in which its rows were written.
- JSON is stored as text, compact and not escaped: `json_extract(config, '$.planned')` works. Times are UTC.
- Seeds are stored as decimal text, since SQLite's integers end at 63 bits.
- Text that is not valid Unicode (half of a surrogate pair) is stored with U+FFFD in its place.
"""

VIEWS = {
    "latest_attempts": "Episodes, of each run, item, language and repeat the latest attempt only.",
    "latest_endings": "How the latest attempts ended; `running` for those that have not.",
    "latest_scores": "Of each episode and metric the newest score, whatever its version.",
    "latest_assignments": "Of each assignment the state that holds now.",
    "run_progress": "How many latest attempts of each run stand how.",
    "model_usage": "What the calls of each run to each model took; tokens, cost and seconds leave cached "
    "answers out, and `unpriced` counts the calls whose price is not known.",
}

_REQUEST_KEY = Column(
    "request_key", "text", True, "``key`` of the request, copied into a column of its own for replay."
)


def render() -> str:
    """Return the whole document."""
    tables = [_describe_table(table) for table in TABLES.values()]
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        apply_migrations(connection)
        views = [_view(connection, name) for name in VIEWS]
    return "\n".join([_HEAD, "## Tables\n", *tables, "## Views\n", *views]).rstrip() + "\n"


def _describe_table(table: Table) -> str:
    extra = (_REQUEST_KEY,) if table.name == "model_calls" else ()
    lines = [
        f"### {table.name}\n",
        f"{table.meaning}\n",
        "| column | type | | meaning |",
        "|---|---|---|---|",
        *(_row(column) for column in (*table.columns, *extra)),
    ]
    if table.identity:
        keys = "; ".join(", ".join(f"`{name}`" for name in identity) for identity in table.identity)
        lines += ["", f"The same row if it has the same: {keys}."]
    return "\n".join(lines) + "\n"


def _row(column: Column) -> str:
    return f"| `{column.name}` | {column.kind} | {' · '.join(_notes(column))} | {_cell(column.meaning)} |"


def _notes(column: Column) -> Iterator[str]:
    if column.nullable:
        yield "may be missing"
    if column.references:
        yield f"→ `{column.references}`"
    if column.unit:
        yield column.unit
    if column.values:
        yield ", ".join(f"`{value}`" for value in column.values)


def _cell(text: str) -> str:
    return text.replace("``", "`").replace("|", "\\|")


def _view(connection: sqlite3.Connection, name: str) -> str:
    columns = [record[1] for record in connection.execute(f"PRAGMA table_info({name})")]
    return f"### {name}\n\n{VIEWS[name]}\n\n{', '.join(f'`{column}`' for column in columns)}\n"
