"""What every graph does with a reply: it becomes a turn for the log and an update of the state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from time import monotonic
from typing import Any, Final, TypeVar, cast

from logs.rows import Turn
from simulator.seats import Reply

ValuesT = TypeVar("ValuesT", bound=Mapping[str, Any])
ASIDE: Final = "study"
"""In the payload of a turn that answers what a study asks beside the task: at which node of its way."""
_UNMARKED: Final = frozenset({"consent", "ready", "comment"})
"""Kinds of such turns in logs from before they were marked."""
_MARKED_SINCE: Final = "2026-11-24"


def make_turn(
    episode_id: str,
    number: int,
    seat: str,
    reply: Reply,
    *,
    text: str,
    payload: Mapping[str, Any],
    since: float,
) -> Turn:
    """Return a reply as a turn of the log; its trace, if it has one, becomes part of the payload.

    Args:
        episode_id: the episode.
        number: of the turn.
        seat: who moved.
        reply: what came from there; an empty one for words that nobody was asked for (a greeting).
        text: what counts as said.
        payload: what the benchmark logs with it.
        since: when the seat became due (seconds, monotonic). It took the time from then on, unless it has
            measured that itself.
    """
    seconds = monotonic() - since if reply.seconds is None else reply.seconds
    trace = {"trace": dict(reply.trace)} if reply.trace else {}
    return Turn(
        episode_id=episode_id,
        number=number,
        seat=seat,
        text=text,
        payload={**payload, **trace},
        key=reply.key,
        seconds=round(seconds, 4),
    )


def is_aside(turn: Turn) -> bool:
    """Return True if a turn answers what a study asks beside the task, and is no move of the benchmark's."""
    old = turn.created_at < _MARKED_SINCE and turn.payload.get("kind") in _UNMARKED
    return ASIDE in turn.payload or old


def task_turns(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    """Return the turns of an episode's task, numbered from 0; what a study asked beside it is left out."""
    task = (turn for turn in turns if not is_aside(turn))
    return tuple(turn if turn.number == n else replace(turn, number=n) for n, turn in enumerate(task))


def due_since(turns: Sequence[Turn]) -> float:
    """Return when whoever is due became so (seconds, monotonic), of an episode rebuilt from its `turns`.

    A person takes their time between two calls of the program; it runs from the turn before.
    """
    if not turns:
        return monotonic()
    age = (datetime.now(UTC) - datetime.fromisoformat(turns[-1].created_at)).total_seconds()
    return monotonic() - max(age, 0.0)


def state_after(state: ValuesT, update: Mapping[str, Any]) -> ValuesT:
    """Return the state that LangGraph makes of `state` and `update`, for a node that says where it goes on.

    Lists are appended, as the states' reducers do; everything else is replaced.
    """
    changed = {key: state[key] + value if isinstance(value, list) else value for key, value in update.items()}
    return cast(ValuesT, {**state, **changed})
