"""CPU per turn of runs, logging included, and the wall time of many dialogues with slow models.

Run as a script: ``make bench``. A turn is one move of one seat. CPU is the whole process's, the log's
writer included. Other programs on the machine add to it, up to half as much again: a run is therefore
played in parts, and beside the whole run's figure stands that of the part that was disturbed least.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import fmean

from casts import CASTS, Cast
from rich.console import Console
from rich.table import Table

from logs import LogReader, LogWriter
from simulator.clarq.room import ROOM
from simulator.runner.batch import run_batch
from simulator.runner.build import Plan, build_plan
from simulator.runner.executors import Workers
from simulator.seats import Seat
from trees.sources import load_builtin

SIZES = ((200, 20), (20, 100))  # dialogues x turns
PARTS = 10
LIMIT = 1.0  # ms of CPU per turn
LATENCY = 0.05  # seconds per model answer
AT_ONCE, LENGTH = SIZES[0]  # dialogues, turns
WALL_LIMIT = 1.3  # times the wall time of one dialogue alone


@dataclass(frozen=True)
class Measured:
    """A run.

    Attributes:
        cpu: seconds of CPU, of this process.
        wall: seconds from the command to the end.
        playing: seconds from the first turn to the end.
        turns: of all dialogues.
        calls: of models, per dialogue.
        stored: bytes of model requests per turn in the log.
    """

    cpu: float
    wall: float
    playing: float
    turns: int
    calls: float
    stored: float


def _plan(seats: dict[str, Seat], dialogues: int, turns: int) -> Plan:
    repeats = next(repeats for repeats in range(1, dialogues + 1) if dialogues // repeats <= 62)
    tasks = load_builtin("en")[: dialogues // repeats]
    # Of `turns` turns the seeker makes every other; the greeting comes on top.
    options = {"turn_limit": turns // 2}
    return build_plan(
        room=ROOM, items=tasks, seats=seats, config={}, seed=1, repeats=repeats, options=options, name="bench"
    )


def play(cast: Cast, dialogues: int, turns: int, *, concurrency: int = 8, workers: int = 1) -> Measured:
    """Play `dialogues` dialogues of `turns` turns."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.sqlite"
        cpu, wall = asyncio.run(_play(cast, dialogues, turns, path, concurrency, workers))
        with LogReader(path) as reader, reader.connection() as connection:
            (first, count) = connection.execute("SELECT min(created_at), count(*) FROM turns").fetchone()
            (last,) = connection.execute("SELECT max(created_at) FROM endings").fetchone()
            (calls, stored) = connection.execute(
                "SELECT count(*), total(length(request)) FROM model_calls"
            ).fetchone()
    assert count == dialogues * (turns + 1), f"{count} turns"
    playing = (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds()
    return Measured(cpu, wall, playing, count, calls / dialogues, stored / count)


async def _play(
    cast: Cast, dialogues: int, turns: int, path: Path, concurrency: int, workers: int
) -> tuple[float, float]:
    async with LogWriter(path, durable=False) as log, cast(log, concurrency) as seats:
        with LogReader(path) as reader:
            plan = _plan(seats, dialogues, turns)
            shared = Workers(
                benchmark=ROOM.name, factory=cast, path=path, workers=workers, concurrency=concurrency
            )
            cpu, wall = time.process_time(), time.perf_counter()
            await run_batch(
                plan, log, reader, concurrency=concurrency, executor=shared if workers > 1 else None
            )
            return time.process_time() - cpu, time.perf_counter() - wall


def cpu_per_turn(console: Console) -> bool:
    """Print CPU per turn of every cast; whether the limit is kept."""
    table = Table(
        "cast", "dialogues x turns", "CPU ms per turn", "least", "against 20 turns", "request bytes per turn"
    )
    kept = True
    for name in CASTS:
        play(Cast(name), 8, 20)  # warm: imports, templates, statements
        parts: list[list[Measured]] = [[] for _ in SIZES]
        for _ in range(PARTS):  # sizes in turn, so that a disturbance meets both
            for (dialogues, turns), measured in zip(SIZES, parts, strict=True):
                measured.append(play(Cast(name), dialogues // PARTS, turns))
        least = [min(part.cpu / part.turns * 1e3 for part in measured) for measured in parts]
        kept = kept and max(least) <= LIMIT
        for (dialogues, turns), measured, ms in zip(SIZES, parts, least, strict=True):
            whole = sum(part.cpu for part in measured) / sum(part.turns for part in measured) * 1e3
            stored = fmean(part.stored for part in measured)
            ratio = f"{ms / least[0]:.2f}"
            size = f"{dialogues} x {turns}"
            table.add_row(name, size, f"{whole:.3f}", f"{ms:.3f}", ratio, f"{stored:.0f}")
    console.print(table)
    return kept


def wall_time(console: Console, most: int) -> bool:
    """Print how long many dialogues with a slow model take, in one process and more; whether it is enough."""
    cast = Cast("models", LATENCY)
    table = Table("processes", "from first turn to end", "times the ideal", "with the start of processes")
    ideal = 0.0
    best = float("inf")
    for workers in sorted({1, 2, most}):
        run = play(cast, AT_ONCE, LENGTH, concurrency=AT_ONCE, workers=workers)
        # The calls of one dialogue wait for each other, those of different dialogues do not.
        ideal = run.calls * LATENCY
        best = min(best, run.playing / ideal)
        table.add_row(str(workers), f"{run.playing:.2f} s", f"{run.playing / ideal:.2f}", f"{run.wall:.2f} s")
    console.print(table)
    console.print(
        f"{AT_ONCE} dialogues of {LENGTH} turns at once, {LATENCY * 1e3:.0f} ms per model answer; "
        f"ideal, one dialogue alone: {ideal:.2f} s"
    )
    return best <= WALL_LIMIT


def main() -> None:
    """Print the tables."""
    console = Console()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    console.print(f"{cores} processors{load}, Python {sys.version.split()[0]}")
    kept = cpu_per_turn(console)
    console.print(f"at most {LIMIT:g} ms of CPU per turn: {'yes' if kept else 'NO'}")
    enough = wall_time(console, min(cores, 8))
    console.print(f"within {WALL_LIMIT:g} times the ideal wall time: {'yes' if enough else 'NO'}")


if __name__ == "__main__":
    main()
