"""An episode out of the log, as it stood after each turn, for people who look on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from logs.rows import Turn
from simulator.handmethat import graph
from simulator.handmethat.playing import Options, Play
from simulator.handmethat.room import Posed
from simulator.handmethat.score import options_of
from simulator.handmethat.show import robot_view
from simulator.handmethat.views import Mode, RobotView
from simulator.seats import PersonSeat

_NOBODY: Final = PersonSeat("")


def watch(posed: Posed, turns: Sequence[Turn], step: int, *, mode: Mode | None = None) -> RobotView:
    """Return what there was to see after the first turns of an episode.

    Args:
        posed: what was played.
        turns: all turns of the episode, in order; at least the instruction.
        step: the turn after which to look, from 0 (the instruction).
        mode: ``full`` to see all of the house; None for what the robot saw.

    Raises:
        InputError: if the first turn does not say how the episode was played.
    """
    options = options_of(turns)
    options = options.model_copy(update={"mode": mode or options.mode})
    return _view(posed, options, turns[0].episode_id, turns[: step + 1])


def before(posed: Posed) -> RobotView:
    """Return the whole household as the robot finds it."""
    return _view(posed, Options(mode="full"), "", ())


def _view(posed: Posed, options: Options, episode_id: str, turns: Sequence[Turn]) -> RobotView:
    table = graph.Table(
        episode_id=episode_id,
        play=Play(posed.task, posed.language, options),
        robot=_NOBODY,
        human=_NOBODY,
        record=_record,
    )
    return robot_view(table, graph.rebuild(turns))


def details(turn: Turn) -> Mapping[str, object]:
    """What the log says of a turn beside its words: what it cost, why it failed, what its seat noted."""
    shown = ("error", "reason", "cost", "reward", "over", "heard", "question", "reveals", "trace")
    return {name: turn.payload[name] for name in shown if turn.payload.get(name) not in (None, "", [], {})}


async def _record(turn: Turn) -> None:
    raise RuntimeError("nobody plays here")
