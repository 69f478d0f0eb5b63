"""Conversion of rows to SQL values and back."""

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

    orjson is about ten times as fast, and is used where it writes the same as the standard library. By itself
    it would accept numbers and objects that are not JSON.

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
    """Return True for plain JSON whose numbers both encoders write the same way, without an exponent."""
    kind = type(value)
    if kind is dict:
        for key in value:
            if type(key) is not str:
                return False
        value = value.values()
    elif kind is not list and kind is not tuple:
        return kind in _PLAIN or (kind is float and _is_common((value,)))
    # A hot path: a call per value, or `all` of a generator, would take half as long again.
    for each in value:
        kind = type(each)
        if kind is float:
            if not (each == 0.0 or 1e-4 <= abs(each) < 1e16):
                return False
        elif kind not in _PLAIN and not _is_common(each):
            return False
    return True


def stored_columns(table: Table) -> tuple[str, ...]:
    """Return the columns of a stored row: its fields, and ``request_key`` for a model call."""
    return (*table.names, "request_key") if table.row is ModelCall else table.names


class _Plan(NamedTuple):
    """The encoding of a row: a getter of its values, places of JSON, big integers, reals, booleans."""

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
    """Return the values to store, in the order of `stored_columns`; later changes of the row do not matter.

    Raises:
        LogError: if the row contains a value that is not JSON, or a number that is not finite.
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
            raise LogError(f"{_field(row, place)} is {value}: use None for a missing number")
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
    """Return values with U+FFFD for each half of a surrogate pair, which UTF-8 cannot encode.

    Browsers and models can cut an emoji in two, and a turn must not be lost because of that.
    """
    return tuple(_mend(value) if isinstance(value, str) else value for value in values)


def _mend(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def decode(row: type[R], record: sqlite3.Row | Values) -> R:
    """Return a row from its values in the order of its table's columns."""
    return row(**plain_values(TABLES[row], record))


def plain_values(table: Table, record: sqlite3.Row | Values) -> dict[str, Any]:
    """Return a row's values by column, with JSON parsed, in the order of its table's columns."""
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


def column_list(row: type[Any], alias: str = "") -> str:
    """Return the column list that `decode` expects, for a SELECT through a connection of `logs.connect`."""
    prefix = f"{alias}." if alias else ""
    columns = {name: prefix + name for name in TABLES[row].names}
    if row is ModelCall:
        columns["request"] = f"whole_request({prefix}id, {prefix}request, {prefix}request_key)"
    return ", ".join(columns.values())


def table_of(row: Row) -> Table:
    """Return the table of a row.

    Raises:
        LogError: if it is not a row.
    """
    table = TABLES.get(type(row))
    if table is None:
        raise LogError(f"{type(row).__name__} is not a row of the log; rows are {', '.join(BY_NAME)}")
    return table
