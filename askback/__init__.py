"""Askback's Python API: play a benchmark, read the log as pandas frames, use a player of your own.

::

    import askback

    run = askback.run("clarq", seeker="offline/seeker", provider="offline/experts", limit=20)
    log = askback.load_log()
    log.frame(run)                           # a row per episode: seats, ending, every metric
    log.turns(run)                           # a row per turn
    askback.run("clarq", seeker=MyAgent())   # anything with reply(view) can sit in a seat
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from logs import LogError, LogReader, NotALog, NotInLog, default_path
from logs.rows import Episode
from simulator.benchmark import Benchmark
from simulator.catalog import names as benchmarks
from simulator.catalog import register
from simulator.errors import AskbackError, InputError
from simulator.seats import AgentSeat, Reply, Seat, View

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "AskbackError",
    "Benchmark",
    "InputError",
    "Log",
    "LogError",
    "NotALog",
    "NotInLog",
    "Reply",
    "Seat",
    "View",
    "benchmarks",
    "load_log",
    "register",
    "run",
]


class Log:
    """A log opened for reading: its episodes, turns, judgments and model calls as pandas frames.

    Methods that take names of runs raise `NotInLog` for an unknown one; without names, they read all runs.
    """

    def __init__(self, path: Path, *, with_excluded: bool = False) -> None:
        self.path = path
        self._reader = LogReader(path, with_excluded=with_excluded)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Log({str(self.path)!r}, {len(self.runs())} runs)"

    def close(self) -> None:
        """Close the file."""
        self._reader.close()

    def runs(self) -> list[str]:
        """Return the names of all runs, oldest first."""
        return [row.id for row in self._reader.runs()]

    def frame(self, *runs: str, exclude_aborted: bool = False) -> pd.DataFrame:
        """Return one row per episode that counts: seats, ending and every metric.

        Args:
            *runs: names of runs.
            exclude_aborted: leave out episodes that a failing seat aborted; they count as unsuccessful.
        """
        from simulator import frames

        return frames.episodes(self._reader, runs or self.runs(), exclude_aborted=exclude_aborted)

    def turns(self, *runs: str) -> pd.DataFrame:
        """Return one row per turn: episode, seat, text, seconds and its logged payload."""
        return self._rows("turns", runs)

    def judgments(self, *runs: str) -> pd.DataFrame:
        """Return one row per judgment of annotators, reviewers and judges."""
        return self._rows("judgments", runs)

    def calls(self, *runs: str) -> pd.DataFrame:
        """Return one row per model call: model, purpose, tokens, cost, seconds and error."""
        return self._rows("calls", runs)

    def _rows(self, table: Literal["turns", "judgments", "calls"], runs: Sequence[str]) -> pd.DataFrame:
        from simulator import frames

        read: Callable[[LogReader, Iterable[str]], pd.DataFrame] = getattr(frames, table)
        return read(self._reader, runs or self.runs())

    def episodes(self, run: str) -> list[Episode]:
        """Return the latest attempt at every episode of a run, as rows of the log.

        Raises:
            NotInLog: if there is no such run.
        """
        self._reader.run(run)
        return list(self._reader.episodes(run, latest=True))


def load_log(path: str | Path | None = None, *, with_excluded: bool = False) -> Log:
    """Open a log for reading.

    Args:
        path: the log file; default: ``$ASKBACK_LOG``, or the log in your Askback folder.
        with_excluded: include people who were excluded from their study, marked in the column ``excluded``;
            by default they are left out.

    Raises:
        LogError: if there is no log at `path`, or the file is not a log.
    """
    return Log(Path(path) if path is not None else default_path(), with_excluded=with_excluded)


def run(
    benchmark: str | Benchmark[Any, Any],
    *,
    items: Iterable[Any] | None = None,
    data: str = "builtin",
    limit: int | None = None,
    repeat: int = 1,
    seed: int = 0,
    name: str | None = None,
    log: str | Path | None = None,
    concurrency: int = 8,
    rules: Mapping[str, Any] | None = None,
    base_url: str | Sequence[str] | None = None,
    budget: float | None = None,
    **seats: str | Any,
) -> str:
    """Play episodes of a benchmark and score them. Repeating the call continues an interrupted run.

    Args:
        benchmark: name of a benchmark, or a `Benchmark`.
        items: items to play; default: `limit` items of `data`, drawn by `seed`.
        data: ``builtin``, the name of registered data, or a path.
        limit: number of items; default: all.
        repeat: episodes per item.
        seed: seed of all random choices of the run.
        name: name of the run; default: derived from its configuration, in which objects count by their class.
        log: the log file; default: as for `load_log`.
        concurrency: number of concurrent episodes.
        rules: options of the episodes, by name; default: the benchmark's defaults.
        base_url: an OpenAI-compatible server for models named ``openai/…``; several, or a YAML file of them,
            form a fleet.
        budget: spending limit for models in US dollars.
        **seats: seat -> a name (``offline/seeker``, ``openai/gpt-4o``, ``python:module:Agent``), a `Seat`,
            or any object with ``reply(view)``; default: the seat's first built-in player.

    Returns:
        The name of the run.

    Raises:
        InputError: if a name, rule or seat is invalid, or the log has a different run of that name.
        ModelError: if a model cannot be reached.
    """
    from simulator.runner.command import play_run

    return play_run(
        benchmark,
        items=None if items is None else tuple(items),
        data=data,
        limit=limit,
        repeat=repeat,
        seed=seed,
        name=name,
        log=Path(log) if log is not None else default_path(),
        concurrency=concurrency,
        rules=rules,
        base_url=base_url,
        budget=budget,
        seats={seat: who if isinstance(who, str) else _seat(who) for seat, who in seats.items()},
    )


def _seat(agent: Any) -> Seat:
    if hasattr(agent, "kind") and hasattr(agent, "name"):
        seat: Seat = agent
        return seat
    # Classes and functions have their own name; other objects go by the name of their class.
    kind = agent if hasattr(agent, "__qualname__") else type(agent)
    return AgentSeat(
        f"python:{kind.__module__}:{kind.__qualname__}", agent() if isinstance(agent, type) else agent
    )
