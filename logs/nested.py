"""Episodes with all that belongs to them, one object each."""

from __future__ import annotations

import sqlite3
from typing import Any

from logs.codec import plain, select
from logs.rows import Ending, Event, Identity, Item, Judgment, ModelCall, Participant, Row, Score, Turn
from logs.schema import TABLES

Nested = dict[str, Any]


def nest_episode(connection: sqlite3.Connection, episode: Nested, identities: bool) -> tuple[Nested, int]:
    """Return an episode as one object, and how many rows are in it.

    `identities`: whether a participant's outside identities go in.
    """
    of_episode = "episode_id = ?"
    id = episode["id"]
    (item,) = _read(connection, Item, "hash = ?", episode["item_hash"])
    people = _read(connection, Participant, "id = ?", episode["participant_id"])
    for person in people if identities else ():
        person["identities"] = _read(connection, Identity, "participant_id = ?", person["id"])
    endings = _read(connection, Ending, of_episode, id)
    turns = _without_episode_ids(_read(connection, Turn, of_episode, id))
    calls = _without_episode_ids(_read(connection, ModelCall, of_episode, id))
    rest = {
        "judgments": _without_episode_ids(_read(connection, Judgment, of_episode, id)),
        "scores": _without_episode_ids(_read(connection, Score, of_episode, id)),
        "events": _without_episode_ids(_read(connection, Event, of_episode, id)),
    }
    rows = 1 + len(endings) + len(turns) + len(calls) + sum(map(len, rest.values()))
    made: dict[Any, list[Nested]] = {turn["number"]: [] for turn in turns}
    outside: list[Nested] = []
    for turn in turns:
        turn["model_calls"] = made[turn["number"]]
    for call in calls:
        made.get(call["turn_number"], outside).append(call)
    whole = episode | {
        "item": item,
        "participant": people[0] if people else None,
        "ending": _without_episode_ids(endings)[0] if endings else None,
        "turns": turns,
        "model_calls": outside,
        **rest,
    }
    return whole, rows


def _read(connection: sqlite3.Connection, row: type[Row], where: str, value: Any) -> list[Nested]:
    table = TABLES[row]
    order = "number" if row is Turn else "seq"
    query = f"SELECT {select(row)} FROM {table.name} WHERE {where} ORDER BY {order}"
    return [plain(table, record) for record in connection.execute(query, [value])]


def _without_episode_ids(rows: list[Nested]) -> list[Nested]:
    """Return rows without the episode's id: they lie within it."""
    return [{key: value for key, value in row.items() if key != "episode_id"} for row in rows]
