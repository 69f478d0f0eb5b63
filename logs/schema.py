"""The tables of the log as the code sees them, and their documentation.

Tables and columns follow the dataclasses of `logs.rows`, and the meaning of a column comes from their
docstrings. The SQL is in `logs.migrations` (a released migration never changes, the dataclasses may); a test
checks that both agree. ``askback log schema > logs/schema.md`` regenerates the page.
"""

from __future__ import annotations

import inspect
import re
import sqlite3
import types
import typing
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal

from logs import rows
from logs.migrations import SCHEMA_VERSION, apply_migrations
from logs.rows import Row

Kind = Literal["text", "integer", "big integer", "real", "boolean", "json"]

# Default meanings of columns, for rows whose docstrings do not describe them.
_COMMON = {
    "created_at": "when the row was created.",
    "run_id": "the run it belongs to.",
    "episode_id": "the episode it belongs to.",
    "item_hash": "the item.",
    "participant_id": "the person it belongs to, by pseudonym.",
}
_UNITS = {
    "created_at": "UTC, ISO 8601, milliseconds",
    "seconds": "seconds",
    "cost": "US dollars",
    "input_tokens": "tokens",
    "output_tokens": "tokens",
}
_REFERENCES = {
    "run_id": "runs.id",
    "episode_id": "episodes.id",
    "item_hash": "items.hash",
    "participant_id": "participants.id",
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        kind: type of its values; a ``big integer`` is stored as decimal text, ``json`` as text.
        unit: unit of its values; empty if they have none.
        values: the allowed values; empty if all are.
        references: ``table.column`` that it refers to; empty if none.
    """

    name: str
    kind: Kind
    nullable: bool
    meaning: str
    unit: str = ""
    values: tuple[str, ...] = ()
    references: str = ""


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        row: the dataclass of its rows.
        columns: its columns, in the order of the dataclass's fields.
        identity: tuples of columns, any of which identifies a row; tried in this order.
        meaning: first paragraph of the dataclass's docstring.
    """

    name: str
    row: type[Row]
    columns: tuple[Column, ...]
    identity: tuple[tuple[str, ...], ...]
    meaning: str

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the columns' names."""
        return tuple(column.name for column in self.columns)


# In the order in which rows of a group are inserted: referred-to tables first.
_IDENTITY: dict[type[Row], tuple[str, tuple[tuple[str, ...], ...]]] = {
    rows.Run: ("runs", (("id",),)),
    rows.Item: ("items", (("hash",),)),
    rows.Participant: ("participants", (("id",),)),
    rows.Identity: ("identities", (("participant_id", "kind", "value"),)),
    rows.Episode: ("episodes", (("id",), ("run_id", "item_hash", "language", "repeat", "attempt"))),
    rows.Turn: ("turns", (("episode_id", "key"), ("episode_id", "number"))),
    rows.ModelCall: ("model_calls", (("id",),)),
    rows.Ending: ("endings", (("episode_id",),)),
    rows.Judgment: ("judgments", (("id",), ("annotator", "key"))),
    rows.Score: ("scores", (("episode_id", "metric", "version"),)),
    rows.Assignment: ("assignments", (("id",),)),
    rows.Event: ("events", ()),
}


def _kind(name: str, hint: Any) -> tuple[Kind, bool, tuple[str, ...]]:
    """Return a field's kind, whether it may be missing, and its allowed values."""
    options = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    nullable = type(None) in options
    (base,) = [option for option in options if option is not type(None)]
    if typing.get_origin(base) is Literal:
        return "text", nullable, typing.get_args(base)
    if typing.get_origin(base) is dict:
        return "json", nullable, ()
    # Seeds can be unsigned 64-bit numbers or larger, which SQLite's integers cannot store.
    kinds: dict[type, Kind] = {str: "text", bool: "boolean", int: "integer", float: "real"}
    return ("big integer" if name == "seed" else kinds[base]), nullable, ()


def _documentation(row: type[Row]) -> tuple[str, dict[str, str]]:
    """Return the first paragraph of a row's docstring, and its text for each attribute."""
    text = inspect.cleandoc(row.__doc__ or "")
    head, _, attributes = text.partition("\nAttributes:\n")
    entries = re.findall(r"^    (\w+): (.*(?:\n        .*)*)", attributes, flags=re.MULTILINE)
    meaning = " ".join(head.split("\n\n")[0].split())
    return meaning, {name: " ".join(text.split()) for name, text in entries}


def _table(row: type[Row]) -> Table:
    name, identity = _IDENTITY[row]
    meaning, texts = _documentation(row)
    hints = typing.get_type_hints(row)
    columns = []
    for field in fields(row):
        kind, nullable, values = _kind(field.name, hints[field.name])
        columns.append(
            Column(
                name=field.name,
                kind=kind,
                nullable=nullable,
                meaning=texts.get(field.name) or _COMMON[field.name],
                unit=_UNITS.get(field.name, ""),
                values=values,
                references=_REFERENCES.get(field.name, ""),
            )
        )
    return Table(name, row, tuple(columns), identity, meaning)


TABLES: dict[type[Any], Table] = {row: _table(row) for row in _IDENTITY}
"""Every table by its row type, referred-to tables first."""

BY_NAME: dict[str, Table] = {table.name: table for table in TABLES.values()}
"""Every table by its name."""


_HEAD = f"""# The log

The log is one SQLite file (schema {SCHEMA_VERSION}), which any SQLite tool can read while Askback runs. This
page is generated from the code: `askback log schema > logs/schema.md`.

- **Append-only.** The file rejects UPDATE, DELETE and INSERT OR REPLACE on every table. Changes (of an
  assignment's state, a score) are appended, and the latest row is the current one. The only exception is
  `askback log erase`, which replaces a person's texts with `[erased]` and leaves a receipt.
- **Complete.** The turns of an episode are numbered 0, 1, 2, … without gaps, none follows its ending, and an
  episode ends once.
- **Written once.** A row already in the log is not written again; one that contradicts it is rejected.
- Every table also has a column `seq`: the order in which its rows were written.
- JSON is stored as text, compact and unescaped: `json_extract(config, '$.planned')` works. Times are UTC.
- Seeds are stored as decimal text, since SQLite's integers end at 63 bits.
- Text that is not valid Unicode (half of a surrogate pair) is stored as U+FFFD.
"""

VIEWS = {
    "latest_attempts": "Episodes, with only the latest attempt of each run, item, language and repeat.",
    "latest_endings": "Endings of the latest attempts; `running` for those that have not ended.",
    "latest_scores": "The latest score of each episode and metric, whatever its version.",
    "latest_assignments": "The current state of each assignment.",
    "run_progress": "The number of latest attempts of each run in each status.",
    "model_usage": "Usage of each model in each run; tokens, cost and seconds exclude cached answers, and "
    "`unpriced` counts the calls without a known price.",
}

_REQUEST_KEY = Column(
    "request_key", "text", True, "``key`` of the request, copied to a separate column for replay."
)


def render() -> str:
    """Return the documentation of the log as Markdown."""
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
        lines += ["", f"Identified by: {keys}."]
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
