"""Results of log readers other than rows, and parts of their queries."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from logs.rows import Episode, Turn

State = Literal["completed", "truncated", "aborted", "failed", "running"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of a run, by the latest attempt of each episode.

    Attributes:
        planned: number of episodes the run will have; None if its configuration does not say.
        erased: episodes of people who have withdrawn, which the other counts exclude.
        replaced: aborted episodes of a study, whose places other people take.
    """

    planned: int | None = None
    running: int = 0
    completed: int = 0
    truncated: int = 0
    aborted: int = 0
    failed: int = 0
    erased: int = 0
    replaced: int = 0

    @property
    def done(self) -> int:
        """Return the number of episodes that will not be played again."""
        return self.completed + self.truncated + self.aborted - self.replaced


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """The usage of one model in one run. Tokens, cost and seconds exclude cached answers.

    Attributes:
        cost: US dollars, for the calls with a known price.
        unpriced: number of sent calls without a known price.
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


def missing_message(kind: str, key: str, there: list[str], path: Path) -> str:
    """Return a message about a name that is not in the log, with similar names of `there` (newest first)."""
    starting = [name for name in there if key and name.startswith(key)]
    near = list(dict.fromkeys(starting[:5] + difflib.get_close_matches(key, there, n=5)))[:5]
    if near:
        hint = f"Did you mean {', '.join(near)}?"
    elif there:
        hint = f"The newest are {', '.join(there[:5])}."
    else:
        hint = f"The log has no {kind} at all."
    return f"there is no {kind} {key!r} in the log {path}. {hint}"


OF_RUN: Final = "episode_id IN (SELECT id FROM episodes WHERE run_id = ?)"
"""Condition that a row belongs to an episode of the run."""
IN_STATE: Final = "coalesce((SELECT n.status FROM endings n WHERE n.episode_id = e.id), 'running') = ?"
"""Condition that the episode ``e`` is in a `State`."""


def where_clause(conditions: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """Return a WHERE clause of the conditions whose value is not None, and the values."""
    used = {condition: value for condition, value in conditions.items() if value is not None}
    return (f"WHERE {' AND '.join(used)}" if used else ""), list(used.values())
