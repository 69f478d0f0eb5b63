"""Execution of one episode: continue it from its logged turns, end it, and score it.

At this boundary a bad episode becomes data (see `simulator.errors`).
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from logs import LogError
from logs.relay import RowSink
from logs.rows import Ending, Event, Score, Turn
from logs.writer import Posted
from simulator.catalog import trace_error
from simulator.errors import SeatError
from simulator.models import Malformed, ModelError, Refused, ServerDown
from simulator.runner.machines import ActiveEpisode, AnyMachine


class Recorder:
    """Writes turns to the log, and waits for each to be on disk (people) or for all at the end (batch)."""

    def __init__(self, log: RowSink, *, durable: bool) -> None:
        self._log = log
        self._durable = durable
        self._posted = Posted()
        self.turns: list[Turn] = []

    async def __call__(self, turn: Turn) -> None:
        """Record `turn`.

        Raises:
            LogError: if the log rejects it (durable); in a batch, `settle` raises that.
        """
        if self._durable:
            await self._log.write(turn)
        else:
            self._log.post(turn, self._posted)
        self.turns.append(turn)

    async def settle(self) -> None:
        """Wait until all recorded turns are on disk.

        Raises:
            LogError: the first error of a turn.
        """
        await self._log.aflush()
        self._posted.check()


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of `execute`.

    Attributes:
        ending: the episode's ending; None if a person is next to move.
        scores: the scores of an ended episode; empty if it was aborted or failed.
    """

    state: Any
    ending: Ending | None
    scores: tuple[Score, ...] = ()


async def execute(
    machine: AnyMachine,
    live: ActiveEpisode,
    log: RowSink,
    recorder: Recorder,
    turns: Sequence[Turn] = (),
    on_played: Callable[[Ending | None], None] = lambda ending: None,
) -> Outcome:
    """Play `live` from `turns` on until it ends or a person is next to move; write ending and scores.

    `recorder`: the recorder of `live`; `on_played`: called when the seats have nothing left to do, before the
    log is awaited.

    A seat that breaks the rules or refuses aborts the episode; a model that fails makes it ``failed``, to be
    run again. Earlier turns stay in the log.

    Raises:
        LogError: if the log cannot be written; the episode's state on disk is then unknown.
        ServerDown: if a model's server was given up; the episode has no ending and can be continued later.
    """
    state = machine.rebuild(turns)
    try:
        state = await machine.advance(live, state)
        ending = machine.ending(live, state)
    except SeatError as error:
        ending = _ending(live, "aborted", error.cause, str(error))
    except ServerDown:
        await recorder.settle()
        raise
    except Refused as error:
        # A retry would not help: the seat that is to move has failed, not the connection to its model.
        seat = machine.due(live, machine.rebuild([*turns, *recorder.turns])) or "infrastructure"
        ending = _ending(live, "aborted", seat, f"{type(error).__name__}: {error}")
    except ModelError as error:
        cause = "parser" if isinstance(error, Malformed) else "infrastructure"
        ending = _ending(live, "failed", cause, f"{type(error).__name__}: {error}")
    except LogError:
        raise
    except Exception as error:  # a bug in one seat's code must not end a run of thousands
        ending = _ending(live, "failed", "infrastructure", trace_error(error))
        log.post(traceback_event(live))
    on_played(ending)
    await recorder.settle()
    if ending is None:
        return Outcome(state, None)
    ending, scores = await finish(machine, live, log, ending, [*turns, *recorder.turns])
    return Outcome(state, ending, scores)


async def finish(
    machine: AnyMachine, live: ActiveEpisode, log: RowSink, ending: Ending, turns: Sequence[Turn]
) -> tuple[Ending, tuple[Score, ...]]:
    """Score `turns` if the episode was played to its end; write scores and ending (``failed`` on errors).

    Raises:
        LogError: if the log cannot be written.
    """
    scores: tuple[Score, ...] = ()
    if ending.status in ("completed", "truncated"):
        try:
            scores = machine.score(live.item, turns, (), live.episode.options)
        except Exception as error:
            ending = _ending(live, "failed", "scorer", trace_error(error))
            log.post(traceback_event(live))
    for score in scores:
        log.post(score)
    await log.write(ending)
    return ending, scores


def _ending(live: ActiveEpisode, status: Any, cause: str, message: str) -> Ending:
    return Ending(episode_id=live.episode.id, status=status, cause=cause, message=message)


def traceback_event(live: ActiveEpisode) -> Event:
    """Return an event with the traceback of the exception being handled."""
    return Event(
        kind="exception",
        run_id=live.episode.run_id,
        episode_id=live.episode.id,
        details={"traceback": traceback.format_exc()},
    )
