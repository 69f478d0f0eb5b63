"""Insertion of a group of rows into an open transaction, with the reason if a row is rejected.

A row can be a duplicate, contradict another, or have a missing reference.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from logs.codec import Values, column_list, mend_text, stored_columns
from logs.errors import LogConflict, LogError, NotInLog
from logs.rows import Item, ModelCall, Turn
from logs.schema import BY_NAME, TABLES, Table
from logs.shorten import Shortener


class Written(NamedTuple):
    """A row that is in the log.

    Attributes:
        duplicate: True if the same row was in the log already.
    """

    duplicate: bool


Entry = tuple[Table, Values]
Outcome = Written | LogError

# Rows per statement, such that any group takes few statements: each waits several times for Python's lock,
# while other processes wait for the log's. A connection keeps 128 statements prepared, which is enough.
_CHUNKS = tuple(2**power for power in range(8, -1, -1))
_ORDER = {table.name: place for place, table in enumerate(TABLES.values())}
_WRITTEN = Written(duplicate=False)
# Errors of a single row; any other SQLite error concerns the file.
_ROW_ERRORS = (sqlite3.IntegrityError, sqlite3.InterfaceError, sqlite3.ProgrammingError, sqlite3.DataError)


@cache
def _statement(table: str, rows: int) -> str:
    names = stored_columns(BY_NAME[table])
    placeholders = f"({', '.join('?' * len(names))})"
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES {', '.join([placeholders] * rows)}"


def insert_group(
    connection: sqlite3.Connection, entries: Sequence[Entry], shortener: Shortener
) -> list[Outcome]:
    """Insert rows in the open transaction, and return the outcome of each, in order.

    Tables are filled in the order of their references, and rows of a table in the given order. A rejected row
    leaves nothing behind and does not affect the others.

    Raises:
        sqlite3.Error: if the file cannot be written; the caller must roll back and call `shortener.forget`.
    """
    outcomes: list[Outcome] = [_WRITTEN] * len(entries)
    variables = connection.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER)
    places = sorted(range(len(entries)), key=lambda place: _ORDER[entries[place][0].name])
    for table, group in itertools.groupby(places, key=lambda place: entries[place][0]):
        for chunk in _chunks(list(group), most=variables // len(stored_columns(table))):
            values = [entries[place][1] for place in chunk]
            if table.row is ModelCall:
                values = [shortener.shorten(each) for each in values]
            if not _insert(connection, table, values):
                if table.row is ModelCall:
                    shortener.forget()
                for place in chunk:
                    outcomes[place] = _insert_one(connection, table, entries[place][1])
    return outcomes


def _chunks(places: list[int], *, most: int) -> Iterator[list[int]]:
    start = 0
    for size in _CHUNKS:
        while size <= min(most, len(places) - start):
            yield places[start : start + size]
            start += size


def _insert(connection: sqlite3.Connection, table: Table, rows: list[Values]) -> bool:
    """Insert all `rows` or none; return True if they were inserted."""
    try:
        connection.execute(_statement(table.name, len(rows)), _flatten(rows))
    except (*_ROW_ERRORS, OverflowError, UnicodeEncodeError):
        return False
    return True


def _flatten(rows: Iterable[Values]) -> tuple[object, ...]:
    return tuple(itertools.chain.from_iterable(rows))


def _insert_one(connection: sqlite3.Connection, table: Table, values: Values) -> Outcome:
    statement = _statement(table.name, 1)
    try:
        try:
            connection.execute(statement, values)
        except UnicodeEncodeError:
            values = mend_text(values)
            connection.execute(statement, values)
    except sqlite3.IntegrityError as error:
        return explain(connection, table, values, error)
    except (*_ROW_ERRORS, OverflowError) as error:
        return LogError(f"a {table.row.__name__} row cannot be stored: {error}")
    return _WRITTEN


# Columns that may differ in a retry.
_INCIDENTAL = frozenset({"created_at", "seconds"})


def explain(
    connection: sqlite3.Connection, table: Table, values: Values, error: sqlite3.Error
) -> Written | LogError:
    """Return the outcome of a row that SQLite rejected with `error`."""
    for identity in table.identity:
        stored = _find(connection, table, identity, values)
        if stored is not None:
            return _compare(table, identity, stored, values)
    return _missing_reference(connection, table, values) or LogError(
        f"the log rejects {_name(table, values)}: {error}"
    )


def _value(table: Table, values: Values, column: str) -> object:
    return values[table.names.index(column)]


def _find(
    connection: sqlite3.Connection, table: Table, identity: tuple[str, ...], values: Values
) -> Values | None:
    """Return the latest row with the same identity."""
    key = [_value(table, values, column) for column in identity]
    if None in key:
        return None
    where = " AND ".join(f"{column} = ?" for column in identity)
    stored: Values | None = connection.execute(
        f"SELECT {column_list(table.row)} FROM {table.name} WHERE {where} ORDER BY seq DESC LIMIT 1",
        key,
    ).fetchone()
    return stored


def _compare(table: Table, identity: tuple[str, ...], old: Values, values: Values) -> Written | LogConflict:
    if table.row is Item or (table.row is Turn and "key" in identity):
        return Written(duplicate=True)
    differing = [
        column.name
        for column, before, new in zip(table.columns, old, values, strict=False)
        if column.name not in _INCIDENTAL
        and before != new
        and not (column.kind == "json" and json.loads(before) == json.loads(new))
    ]
    if not differing:
        return Written(duplicate=True)
    return LogConflict(
        f"{_name(table, values)} is already in the log with another {', '.join(differing)}; "
        "nothing was written. Read the log again and continue from there."
    )


def _missing_reference(connection: sqlite3.Connection, table: Table, values: Values) -> LogError | None:
    for column in table.columns:
        value = _value(table, values, column.name)
        if not column.references or value is None:
            continue
        target, key = column.references.split(".")
        if connection.execute(f"SELECT 1 FROM {target} WHERE {key} = ?", [value]).fetchone() is None:
            return NotInLog(
                f"{_name(table, values)} refers to {column.name} {value!r}, which is not in the log; "
                "write that first",
                str(value),
            )
    return _wrong_place(connection, values) if table.row is Turn else None


def _wrong_place(connection: sqlite3.Connection, values: Values) -> LogConflict | None:
    """Return why a new turn of an existing episode was rejected: its number, or the episode's ending."""
    episode, number = values[0], values[1]
    (expected,) = connection.execute(
        "SELECT coalesce(max(number) + 1, 0) FROM turns WHERE episode_id = ?", [episode]
    ).fetchone()
    if number != expected:
        return LogConflict(f"turn {number} of {episode!r} cannot be written: the next is turn {expected}")
    ended = connection.execute("SELECT status FROM endings WHERE episode_id = ?", [episode]).fetchone()
    if ended:
        return LogConflict(f"turn {number} of {episode!r} cannot be written: the episode is {ended[0]}")
    return None


def _name(table: Table, values: Values) -> str:
    """Return a row's kind and identity, for messages."""
    identity = table.identity[-1] if table.row is Turn else table.identity[0] if table.identity else ()
    described = ", ".join(f"{column} {_value(table, values, column)!r}" for column in identity)
    return f"the {table.row.__name__} row ({described})" if described else f"the {table.row.__name__} row"
