"""CPU per turn of runs, logging included, and the wall time of many dialogues with slow models.

Run as a script: ``make bench``. A turn is one move of one seat. CPU is the whole process's, the log's
writer included. Other programs on the machine add to it, up to half as much again: a run is therefore
played in parts, and the figure is that of the part that was disturbed least; the mean stands beside it.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypedDict

from casts import CASTS, Cast
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command
from rows import Row, best, main

from logs import LogReader, LogWriter
from simulator.clarq.machine import MACHINE
from simulator.runner.batch import run_batch
from simulator.runner.build import Plan, build_plan
from simulator.runner.executors import Workers
from simulator.seats import Seat
from trees.sources import load_builtin

SIZES = ((200, 20), (20, 100))  # dialogues x turns
PARTS = 10
LIMITS = {"scripts": 0.3, "models": 0.5}  # ms of CPU per turn
STEPS = 100
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
        machine=MACHINE,
        items=tasks,
        seats=seats,
        config={},
        seed=1,
        repeats=repeats,
        options=options,
        name="bench",
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
                benchmark=MACHINE.name, factory=cast, path=path, workers=workers, concurrency=concurrency
            )
            cpu, wall = time.process_time(), time.perf_counter()
            await run_batch(
                plan, log, reader, concurrency=concurrency, executor=shared if workers > 1 else None
            )
            return time.process_time() - cpu, time.perf_counter() - wall


def least_step() -> float:
    """Return milliseconds of CPU of one step of LangGraph's, of a node that does nothing."""

    class Nothing(TypedDict):
        number: int

    async def node(state: Nothing) -> Command[str]:
        number = state["number"] + 1
        return Command(update={"number": number}, goto="b" if number % 2 else "a" if number < STEPS else END)

    graph = StateGraph(Nothing)
    for name in ("a", "b"):
        graph.add_node(name, node, destinations=("a", "b", END))
    graph.add_edge(START, "a")
    machine = graph.compile()
    config: Any = {"recursion_limit": 2 * STEPS}

    async def walk() -> None:
        await machine.ainvoke({"number": 0}, config)

    return best(lambda: asyncio.run(walk()), 10) / STEPS * 1e3


def cpu_per_turn(name: str, step: float) -> Iterator[Row]:
    """Yield CPU per turn of a cast, in dialogues of either size."""
    play(Cast(name), 8, 20)  # warm: imports, templates, statements
    parts: list[list[Measured]] = [[] for _ in SIZES]
    for _ in range(PARTS):  # sizes in turn, so that a disturbance meets both
        for (dialogues, turns), measured in zip(SIZES, parts, strict=True):
            measured.append(play(Cast(name), dialogues // PARTS, turns))
    for (dialogues, turns), measured in zip(SIZES, parts, strict=True):
        whole = sum(part.cpu for part in measured) / sum(part.turns for part in measured) * 1e3
        yield Row(
            work=f"ClarQ-LLM: a turn, log included; {name}, {dialogues} x {turns} turns",
            ours=min(part.cpu / part.turns * 1e3 for part in measured),
            unit="ms",
            peer="an empty step of LangGraph",
            theirs=step,
            goal=LIMITS.get(name),
            remark=f"CPU; mean {whole:.2f}",
        )


def wall_time(workers: int) -> Row:
    """Return how long many dialogues with a slow model take in so many processes."""
    run = min(
        (
            play(Cast("models", LATENCY), AT_ONCE, LENGTH, concurrency=AT_ONCE, workers=workers)
            for _ in range(2)
        ),
        key=lambda run: run.playing,
    )
    processes = "a process" if workers == 1 else f"{workers} processes"
    return Row(
        work=f"ClarQ-LLM: {AT_ONCE} x {LENGTH} turns at once, {LATENCY * 1e3:.0f} ms a call, {processes}",
        ours=run.playing,
        unit="s",
        peer="one dialogue alone",
        # The calls of one dialogue wait for each other, those of different dialogues do not.
        theirs=run.calls * LATENCY,
        goal=WALL_LIMIT if workers > 1 else None,
        goal_of="ratio",
        remark=f"wall; {run.wall:.2f} with the start of processes",
    )


def rows() -> Iterator[Row]:
    """Yield CPU per turn of every cast, and wall times."""
    step = least_step()
    for name in CASTS:
        yield from cpu_per_turn(name, step)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for workers in sorted({1, 2, min(cores, 8)}):
        yield wall_time(workers)


if __name__ == "__main__":
    main(rows)
