"""One episode with live objects: play it on from the log, end it, score it.

This is the boundary at which a bad episode becomes data (see `simulator.errors`).
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from logs import LogError
from logs.relay import RowSink
from logs.rows import Ending, Event, Score, Turn
from logs.writer import Posted
from simulator.catalog import traced
from simulator.errors import SeatError
from simulator.models import Malformed, ModelError, Refused, ServerDown
from simulator.runner.machines import ActiveEpisode, AnyMachine


class Recorder:
    """Puts turns into the log: waiting for each to be on disk (people), or for all at the end (batch).

    Attributes:
        turns: that were recorded.
    """

    def __init__(self, log: RowSink, *, durable: bool) -> None:
        self._log = log
        self._durable = durable
        self._posted = Posted()
        self.turns: list[Turn] = []

    async def __call__(self, turn: Turn) -> None:
        """Record `turn`.

        Raises:
            LogError: if the log refuses it (durable), or at `settle` (batch).
        """
        if self._durable:
            await self._log.write(turn)
        else:
            self._log.post(turn, self._posted)
        self.turns.append(turn)

    async def settle(self) -> None:
        """Wait until everything recorded is on disk.

        Raises:
            LogError: the first one that a turn met with.
        """
        await self._log.aflush()
        self._posted.check()


@dataclass(frozen=True, slots=True)
class Outcome:
    """The state of an episode after `execute`.

    Attributes:
        ending: how it ended; None if a person is due.
        scores: of an ended episode; empty if it was aborted or failed.
    """

    state: Any
    ending: Ending | None
    scores: tuple[Score, ...] = ()


async def execute(
    machine: AnyMachine, live: ActiveEpisode, log: RowSink, recorder: Recorder, turns: Sequence[Turn] = ()
) -> Outcome:
    """Play `live` on from `turns` until it ends or a person is due; write the ending and the scores.

    `recorder`: what `live` records with.

    A seat that breaks the rules or refuses aborts the episode; a model that fails makes it ``failed``, to be
    run again. Whatever happened before stays in the log.

    Raises:
        LogError: if the log cannot be written; nothing can be promised then.
        ServerDown: if a model's server was given up; the episode has no ending and is played on another time.
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
        # To ask again would not help: the seat that is to move has failed, not the way to its model.
        seat = machine.due(live, machine.rebuild([*turns, *recorder.turns])) or "infrastructure"
        ending = _ending(live, "aborted", seat, f"{type(error).__name__}: {error}")
    except ModelError as error:
        cause = "parser" if isinstance(error, Malformed) else "infrastructure"
        ending = _ending(live, "failed", cause, f"{type(error).__name__}: {error}")
    except LogError:
        raise
    except Exception as error:  # a fault in one seat's code must not take a run of thousands down
        ending = _ending(live, "failed", "infrastructure", traced(error))
        log.post(traceback_event(live))
    await recorder.settle()
    if ending is None:
        return Outcome(state, None)
    ending, scores = await finish(machine, live, log, ending, [*turns, *recorder.turns])
    return Outcome(state, ending, scores)


async def finish(
    machine: AnyMachine, live: ActiveEpisode, log: RowSink, ending: Ending, turns: Sequence[Turn]
) -> tuple[Ending, tuple[Score, ...]]:
    """Score `turns` if they were played to an end; write scores and ending, ``failed`` if scoring fails.

    Raises:
        LogError: if the log cannot be written.
    """
    scores: tuple[Score, ...] = ()
    if ending.status in ("completed", "truncated"):
        try:
            scores = machine.score(live.item, turns, (), live.episode.options)
        except Exception as error:
            ending = _ending(live, "failed", "scorer", traced(error))
            log.post(traceback_event(live))
    for score in scores:
        log.post(score)
    await log.write(ending)
    return ending, scores


def _ending(live: ActiveEpisode, status: Any, cause: str, message: str) -> Ending:
    return Ending(episode_id=live.episode.id, status=status, cause=cause, message=message)


def traceback_event(live: ActiveEpisode) -> Event:
    """Return the exception being handled, for whoever has to mend it."""
    return Event(
        kind="exception",
        run_id=live.episode.run_id,
        episode_id=live.episode.id,
        details={"traceback": traceback.format_exc()},
    )
