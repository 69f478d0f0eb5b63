"""What readers of a log return besides rows, and the clauses their queries are made of."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from logs.rows import Episode, Turn

State = Literal["completed", "truncated", "aborted", "failed", "running"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of a run; of an item played several times over failures the latest attempt counts.

    Attributes:
        planned: episodes the run will have, None if its configuration does not say.
        erased: episodes of people who have withdrawn; they are in none of the other counts.
    """

    planned: int | None = None
    running: int = 0
    completed: int = 0
    truncated: int = 0
    aborted: int = 0
    failed: int = 0
    erased: int = 0

    @property
    def done(self) -> int:
        """Episodes that will not be played again."""
        return self.completed + self.truncated + self.aborted


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """The usage of one model by one run. Tokens, cost and seconds leave cached answers out.

    Attributes:
        cached: calls answered from the response cache.
        errors: calls that failed.
        cost: US dollars, of the calls that have a price.
        unpriced: calls sent whose price is not known.
    """

    model: str
    calls: int
    cached: int
    errors: int
    input_tokens: int
    output_tokens: int
    cost: float
    unpriced: int
    seconds: float


class Played(NamedTuple):
    """An episode and its turns, in order."""

    episode: Episode
    turns: list[Turn]


def missing(kind: str, key: str, there: list[str], path: Path) -> str:
    """Return a message on a name that is not in the log, with those of `there` (newest first) near it."""
    starting = [name for name in there if key and name.startswith(key)]
    near = list(dict.fromkeys(starting[:5] + difflib.get_close_matches(key, there, n=5)))[:5]
    if near:
        hint = f"Did you mean {', '.join(near)}?"
    elif there:
        hint = f"The newest there are {', '.join(there[:5])}."
    else:
        hint = "There is none at all."
    return f"there is no {kind} {key!r} in the log {path}. {hint}"


def where_equal(**columns: Any) -> tuple[str, list[Any]]:
    """Return a WHERE clause for the columns whose wanted value is not None, and the values."""
    values = {column: value for column, value in columns.items() if value is not None}
    clause = " AND ".join(f"{column} = ?" for column in values)
    return (f"WHERE {clause}" if clause else ""), list(values.values())


def _add_condition(where: str, condition: str) -> str:
    return f"{where} AND {condition}" if where else f"WHERE {condition}"


def and_run(where: str, values: list[Any], run_id: str | None) -> tuple[str, list[Any]]:
    """Return `where`, and that the row's episode is of this run."""
    if run_id is None:
        return where, values
    return _add_condition(where, "episode_id IN (SELECT id FROM episodes WHERE run_id = ?)"), [
        *values,
        run_id,
    ]


def and_status(where: str, values: list[Any], status: State | None) -> tuple[str, list[Any]]:
    """Return `where`, and that the episode ``e`` has ended so, or has not ended."""
    if status is None:
        return where, values
    if status == "running":
        return _add_condition(where, "NOT EXISTS (SELECT 1 FROM endings n WHERE n.episode_id = e.id)"), values
    ended = "EXISTS (SELECT 1 FROM endings n WHERE n.episode_id = e.id AND n.status = ?)"
    return _add_condition(where, ended), [*values, status]
