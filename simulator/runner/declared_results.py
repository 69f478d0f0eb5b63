"""The results of a declaration's functions, checked: what is wrong names the benchmark and the function.

An episode in which one is wrong fails (`simulator.runner.execute`); the run goes on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal

from logs.rows import Score
from simulator.benchmark import Benchmark, Due, Move, State
from simulator.errors import InputError
from simulator.runner.logged import ENDED
from simulator.runner.machines import score_rows
from simulator.seats import Reply

AnyBenchmark = Benchmark[Any, Any]
AnyState = State[Any, Any]


def due_in(benchmark: AnyBenchmark, state: AnyState, seats: Collection[str]) -> Due | None:
    """Return the move that is to come; None at the end.

    Raises:
        InputError: if it is that of a seat that is none of `seats`.
    """
    assert benchmark.next_seat is not None
    due = benchmark.next_seat(state)
    if due is not None and due.seat not in seats:
        raise _wrong(benchmark, "next_seat", f"the seat {due.seat!r}; there are: {', '.join(seats)}")
    return due


def known_in(benchmark: AnyBenchmark, state: AnyState, seat: str) -> dict[str, Any]:
    """Return what a seat knows.

    Raises:
        InputError: if it has no names.
    """
    known = benchmark.knows(state, seat)
    if not isinstance(known, Mapping):
        raise _wrong(benchmark, "knows", f"{known!r}, no values by name")
    return dict(known)


def move_in(benchmark: AnyBenchmark, state: AnyState, due: Due, reply: Reply) -> Move:
    """Return a reply as a move.

    Raises:
        SeatError: if it breaks the rules.
        InputError: if it is made anything but a move of the seat that is due.
    """
    assert benchmark.accept is not None
    move = benchmark.accept(state, due, reply)
    if not isinstance(move, Move) or move.seat != due.seat:
        raise _wrong(benchmark, "accept", f"{move!r}, no Move of the {due.seat}, who is due")
    return move


def outcome_of(benchmark: AnyBenchmark, state: AnyState) -> Literal["completed", "truncated"]:
    """Return how a state at its end ended.

    Raises:
        InputError: if that is neither word.
    """
    outcome = benchmark.outcome(state)
    if outcome not in ENDED:
        raise _wrong(benchmark, "outcome", f"{outcome!r}, neither {' nor '.join(ENDED)}")
    return outcome


def scores_of(benchmark: AnyBenchmark, state: AnyState, episode_id: str) -> tuple[Score, ...]:
    """Return the scores of a state at its end.

    There may be others beside the metrics that are declared; one that is left out is undefined.

    Raises:
        InputError: if one is no number, or a share beyond its bounds, or others stand in the place of those
            that are declared, which a slip of the pen does.
    """
    assert benchmark.score is not None
    values, declared = benchmark.score(state), [metric.name for metric in benchmark.metrics]
    if {*values} - {*declared} and {*declared} - {*values}:
        known = f"{', '.join(values)}; its metrics are {', '.join(declared)}"
        raise _wrong(benchmark, "score", f"{known} (None for one that is undefined)")
    for metric in benchmark.metrics:
        value = values.get(metric.name)
        if metric.is_share and isinstance(value, int | float) and (value < 0 or value > 1):
            raise _wrong(benchmark, "score", f"{metric.name} {value}; a share lies between 0 and 1")
    try:
        return score_rows(episode_id, values, benchmark.scorer_version)
    except InputError as error:
        raise InputError(f"{benchmark.name}: score: {error}") from error


def _wrong(benchmark: AnyBenchmark, function: str, what: str) -> InputError:
    return InputError(f"{benchmark.name}: {function} returned {what}.")
