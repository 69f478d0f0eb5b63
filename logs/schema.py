"""The tables of the log as the code sees them, and their documentation.

Tables and columns follow the dataclasses of `logs.rows`; what a column means is taken from their
docstrings. The SQL itself stands in `logs.migrations` (a released migration never changes, the
dataclasses may); a test holds the two together. ``askback log schema > logs/schema.md`` writes the page anew.
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

# What a column means wherever the row's own docstring does not say otherwise.
_COMMON = {
    "created_at": "when the row was made.",
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
    """One column.

    Attributes:
        kind: what it holds; a ``big integer`` is stored as decimal text, ``json`` as text.
        meaning: for a person to read.
        unit: empty if it has none.
        values: the values allowed, empty if any.
        references: ``table.column`` it points to, empty if none.
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
    """One table.

    Attributes:
        row: the dataclass of its rows.
        columns: in the order of the dataclass's fields.
        identity: what makes two rows the same row, tried in this order; each a tuple of columns.
        meaning: first paragraph of the dataclass's docstring.
    """

    name: str
    row: type[Row]
    columns: tuple[Column, ...]
    identity: tuple[tuple[str, ...], ...]
    meaning: str

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(column.name for column in self.columns)


# In the order in which rows of one group are inserted: what is referred to comes first.
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
    """Return kind, whether it may be missing, and the values allowed, of one field."""
    options = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    nullable = type(None) in options
    (base,) = [option for option in options if option is not type(None)]
    if typing.get_origin(base) is Literal:
        return "text", nullable, typing.get_args(base)
    if typing.get_origin(base) is dict:
        return "json", nullable, ()
    # Seeds may have 64 bits without sign, or more: SQLite's integers cannot hold them.
    kinds: dict[type, Kind] = {str: "text", bool: "boolean", int: "integer", float: "real"}
    return ("big integer" if name == "seed" else kinds[base]), nullable, ()


def _documentation(row: type[Row]) -> tuple[str, dict[str, str]]:
    """Return first paragraph of a row's docstring, and what it says of each attribute."""
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
"""Every table by its row, referred-to tables first."""

BY_NAME: dict[str, Table] = {table.name: table for table in TABLES.values()}
"""Every table by its name."""


_HEAD = f"""# The log

One SQLite file (schema {SCHEMA_VERSION}), to be read with any SQLite tool while Askback runs. This page is
generated from the code: `askback log schema > logs/schema.md` writes it anew.

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
