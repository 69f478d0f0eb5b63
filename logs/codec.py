"""Rows to SQL values and back."""

from __future__ import annotations

import json
import math
import operator
import sqlite3
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar, cast

import orjson

from logs.errors import LogError
from logs.rows import ModelCall, Row
from logs.schema import BY_NAME, TABLES, Table

Values = tuple[Any, ...]
R = TypeVar("R", bound=Row)

_PLAIN: Final = frozenset({str, int, bool, type(None)})
_slowly: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def dump_json(value: Any) -> str:
    """Return a JSON value as compact text.

    orjson is some ten times as fast, and is asked where it writes what the standard library would: of numbers
    that are none it says nothing, and it takes objects that are no JSON.

    Raises:
        TypeError: if something in it is not JSON.
        ValueError: if a number is not finite.
    """
    if _is_common(value):
        try:
            return orjson.dumps(value).decode()
        except TypeError:
            pass  # half a surrogate pair, or an integer beyond 64 bits
    return _slowly(value)


def _is_common(value: Any) -> bool:
    """Return True for plain JSON whose numbers both encoders write in the same way, without an exponent."""
    kind = type(value)
    if kind is dict:
        for key in value:
            if type(key) is not str:
                return False
        value = value.values()
    elif kind is not list and kind is not tuple:
        return kind in _PLAIN or (kind is float and _is_common((value,)))
    # Every row passes through it: a call for each value, or `all` of a generator, takes half as long again.
    for each in value:
        kind = type(each)
        if kind is float:
            if not (each == 0.0 or 1e-4 <= abs(each) < 1e16):
                return False
        elif kind not in _PLAIN and not _is_common(each):
            return False
    return True


def stored_columns(table: Table) -> tuple[str, ...]:
    """Return the columns a row is stored in: its own, and ``request_key`` of a model call."""
    return (*table.names, "request_key") if table.row is ModelCall else table.names


class _Plan(NamedTuple):
    """The plan by which a row is taken apart: its values; where JSON, big integers and real numbers are."""

    take: Callable[[Any], Values]
    json: tuple[int, ...]
    big: tuple[int, ...]
    real: tuple[int, ...]
    boolean: tuple[int, ...]


def _plan(table: Table) -> _Plan:
    kinds = [column.kind for column in table.columns]

    def places(kind: str) -> tuple[int, ...]:
        return tuple(place for place, other in enumerate(kinds) if other == kind)

    take = operator.attrgetter(*table.names)
    return _Plan(take, places("json"), places("big integer"), places("real"), places("boolean"))


_PLANS = {row: _plan(table) for row, table in TABLES.items()}


def encode(row: Row) -> Values:
    """Return the values to store, in the order of `stored_columns`. The row's dicts are copied by this.

    Raises:
        LogError: the row holds something that is not JSON, or a number that is not finite.
    """
    kind = type(row)
    plan = _PLANS[kind]
    values = list(plan.take(row))
    for place in plan.json:
        value = values[place]
        values[place] = "{}" if value == {} else _encode_json(row, place, value)
    for place in plan.real:
        value = values[place]
        if value is not None and not math.isfinite(value):
            raise LogError(f"{_field(row, place)} is {value}: write None where there is no number")
    for place in plan.big:
        values[place] = str(values[place])
    if kind is ModelCall:
        key = cast(ModelCall, row).request.get("key")
        values.append(key if key is None else str(key))
    return tuple(values)


def _field(row: Row, place: int) -> str:
    return f"{type(row).__name__}.{TABLES[type(row)].names[place]}"


def _encode_json(row: Row, place: int, value: Any) -> str:
    try:
        return dump_json(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise LogError(
            f"{_field(row, place)} is not JSON: {error}. Use dict, list, str, bool, None and finite numbers."
        ) from error


def mend_text(values: Values) -> Values:
    """Return values with U+FFFD for each half of a surrogate pair, which UTF-8 cannot hold.

    Browsers and models can cut an emoji in two; a turn must not be lost over that.
    """
    return tuple(_mend(value) if isinstance(value, str) else value for value in values)


def _mend(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def decode(row: type[R], record: sqlite3.Row | Values) -> R:
    """Return a row from its values, in the order of its table's columns."""
    return row(**plain(TABLES[row], record))


def plain(table: Table, record: sqlite3.Row | Values) -> dict[str, Any]:
    """Return a row's values by column, JSON read, in the order of its table's columns."""
    values = list(record[: len(table.columns)])
    plan = _PLANS[table.row]
    for place in plan.json:
        text = values[place]
        values[place] = {} if text == "{}" else json.loads(text)
    for place in plan.big:
        values[place] = int(values[place])
    for place in plan.boolean:
        values[place] = bool(values[place])
    return dict(zip(table.names, values, strict=True))


def select(row: type[Any], alias: str = "") -> str:
    """Return the column list that `decode` expects, for a SELECT through a connection of `logs.connect`."""
    prefix = f"{alias}." if alias else ""
    columns = {name: prefix + name for name in TABLES[row].names}
    if row is ModelCall:
        columns["request"] = f"whole_request({prefix}id, {prefix}request, {prefix}request_key)"
    return ", ".join(columns.values())


def table_of(row: Row) -> Table:
    """Return the table of a row.

    Raises:
        LogError: it is no row.
    """
    table = TABLES.get(type(row))
    if table is None:
        raise LogError(f"{type(row).__name__} is not a row of the log; rows are {', '.join(BY_NAME)}")
    return table
