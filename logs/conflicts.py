"""Why a row was refused: it is there already, it contradicts another, or it points to nothing."""

from __future__ import annotations

import json
import sqlite3
from typing import NamedTuple

from logs.codec import Values, select
from logs.errors import LogConflict, LogError, NotInLog
from logs.rows import Item, Turn
from logs.schema import Table


class Written(NamedTuple):
    """The fate of a row.

    Attributes:
        duplicate: True if the very same row was in the log already.
    """

    duplicate: bool


# Not part of what a row says: a retry takes another time.
_INCIDENTAL = frozenset({"created_at", "seconds"})


def explain(
    connection: sqlite3.Connection, table: Table, values: Values, error: sqlite3.Error
) -> Written | LogError:
    """Return what to tell whoever put a row that SQLite refused with `error`."""
    for identity in table.identity:
        there = _find(connection, table, identity, values)
        if there is not None:
            return _compare(table, identity, there, values)
    return _missing_reference(connection, table, values) or LogError(
        f"the log refuses {_name(table, values)}: {error}"
    )


def _value(table: Table, values: Values, column: str) -> object:
    return values[table.names.index(column)]


def _find(
    connection: sqlite3.Connection, table: Table, identity: tuple[str, ...], values: Values
) -> Values | None:
    """Return the newest row with the same identity."""
    key = [_value(table, values, column) for column in identity]
    if None in key:
        return None
    where = " AND ".join(f"{column} = ?" for column in identity)
    stored: Values | None = connection.execute(
        f"SELECT {select(table.row)} FROM {table.name} WHERE {where} ORDER BY seq DESC LIMIT 1",
        key,
    ).fetchone()
    return stored


def _compare(table: Table, identity: tuple[str, ...], there: Values, values: Values) -> Written | LogConflict:
    if table.row is Item or (table.row is Turn and "key" in identity):
        return Written(duplicate=True)
    differing = [
        column.name
        for column, old, new in zip(table.columns, there, values, strict=False)
        if column.name not in _INCIDENTAL
        and old != new
        and not (column.kind == "json" and json.loads(old) == json.loads(new))
    ]
    if not differing:
        return Written(duplicate=True)
    return LogConflict(
        f"{_name(table, values)} is in the log already with another {', '.join(differing)}; "
        "nothing was written. Read the log again and go on from what it holds."
    )


def _missing_reference(connection: sqlite3.Connection, table: Table, values: Values) -> LogError | None:
    for column in table.columns:
        value = _value(table, values, column.name)
        if not column.references or value is None:
            continue
        target, key = column.references.split(".")
        if connection.execute(f"SELECT 1 FROM {target} WHERE {key} = ?", [value]).fetchone() is None:
            return NotInLog(
                f"{_name(table, values)} names {column.name} {value!r}, which is not in the log; "
                "write that first",
                str(value),
            )
    return _wrong_place(connection, values) if table.row is Turn else None


def _wrong_place(connection: sqlite3.Connection, values: Values) -> LogConflict | None:
    """Return why a turn of a known episode, with a number and a key of its own, was refused."""
    episode, number = values[0], values[1]
    (due,) = connection.execute(
        "SELECT coalesce(max(number) + 1, 0) FROM turns WHERE episode_id = ?", [episode]
    ).fetchone()
    if number != due:
        return LogConflict(f"turn {number} of {episode!r} cannot be written: turn {due} is due")
    ended = connection.execute("SELECT status FROM endings WHERE episode_id = ?", [episode]).fetchone()
    if ended:
        return LogConflict(f"turn {number} of {episode!r} cannot be written: the episode is {ended[0]}")
    return None


def _name(table: Table, values: Values) -> str:
    """Return a row by its kind and its identity, for messages."""
    identity = table.identity[-1] if table.row is Turn else table.identity[0] if table.identity else ()
    described = ", ".join(f"{column} {_value(table, values, column)!r}" for column in identity)
    return f"the {table.row.__name__} row ({described})" if described else f"the {table.row.__name__} row"
