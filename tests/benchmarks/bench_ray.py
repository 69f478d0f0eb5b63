"""The cost of a turn on a Ray cluster compared with one process. ``make bench``, after installing Ray.

CPU is that of all processes together: players, the head that writes the log, the command, and Ray's own. A
turn's share is the difference between a long and a short run: what both need to start, and what is under way
when they end, cancels out.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from casts import Cast
from rows import Row, main

from logs import LogReader, LogWriter
from simulator.clarq.machine import MACHINE
from simulator.models import ModelOptions
from simulator.runner.batch import Tally, run_batch
from simulator.runner.build import build_plan
from simulator.runner.cluster.connecting import connect, on_node, this_node
from simulator.runner.cluster.head import Head
from simulator.runner.cluster.players import Players, Work, version_here
from simulator.runner.executors import Workers
from simulator.runner.options import tune_collector
from trees.sources import load_builtin

TASKS, TURNS, LATENCY = 50, 20, 0.05
SHORT, LONG = 8, 48  # dialogues per task
PARTS = 2
PROCESSES = 2
LIMIT = 1.05
_TICKS = os.sysconf("SC_CLK_TCK")


class Measured(NamedTuple):
    """Milliseconds of CPU and of time."""

    cpu: float
    wall: float


def cpu_of_family() -> dict[int, float]:
    """Return seconds of CPU of this process and each of its living descendants."""
    parents, seconds = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        process = int(path.parent.name)
        parents[process] = int(fields[1])
        seconds[process] = (int(fields[11]) + int(fields[12])) / _TICKS
    family = {os.getpid()}
    while more := {child for child, parent in parents.items() if parent in family} - family:
        family |= more
    return {process: seconds.get(process, 0.0) for process in family}


async def play(cast: Cast, how: str, ray: object, path: Path, places: int, repeats: int) -> Measured:
    """Return what a run takes until its last dialogue is in the log, its players still living."""
    measured = Measured(0.0, 0.0)

    def on_progress(tally: Tally) -> None:
        nonlocal measured
        if tally.done == tally.planned:
            now = cpu_of_family()  # some of those that lived before are gone
            spent = sum(seconds - cpu.get(process, 0.0) for process, seconds in now.items())
            measured = Measured(spent * 1e3, (time.perf_counter() - wall) * 1e3)

    tune_collector()  # as the command does
    cpu, wall = cpu_of_family(), time.perf_counter()
    async with LogWriter(path, durable=False) as log, cast(log, places) as seats:
        with LogReader(path) as reader:
            plan = build_plan(
                machine=MACHINE,
                items=load_builtin("en")[:TASKS],
                seats=seats,
                config={},
                seed=1,
                repeats=repeats,
                options={"turn_limit": TURNS // 2},
                name="bench",
            )
            executor: Workers | Players | None = None
            if how == "processes":
                executor = Workers(
                    benchmark="clarq",
                    factory=cast,
                    path=path,
                    workers=PROCESSES,
                    concurrency=PROCESSES * places,
                )
            elif how == "ray":
                executor = cluster(cast, ray, path, places)
            await run_batch(plan, log, reader, concurrency=places, executor=executor, on_progress=on_progress)
    return measured


def cluster(cast: Cast, ray: object, path: Path, places: int) -> Players:
    make = ray.remote(Head).options(num_cpus=0, **on_node(this_node(ray)))  # type: ignore[attr-defined]
    head = make.remote(path, ModelOptions(), {}, {})
    version = version_here("clarq")
    work = Work(benchmark="clarq", factory=cast, head=head, places=places, version=version, environment={})
    return Players(work=work, path=path, players=PROCESSES, resources={"num_cpus": 1})


def turn(cast: Cast, how: str, ray: object, places: int) -> Measured:
    """Return what a turn takes, of the best short and the best long runs."""

    def best(repeats: int) -> Measured:
        runs = []
        for _ in range(PARTS):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "log.sqlite"
                runs.append(asyncio.run(play(cast, how, ray, path, places, repeats)))
        return Measured(min(run.cpu for run in runs), min(run.wall for run in runs))

    short, long = best(SHORT), best(LONG)
    turns = (LONG - SHORT) * TASKS * (TURNS + 1)
    return Measured((long.cpu - short.cpu) / turns, (long.wall - short.wall) / turns)


def rows() -> Iterator[Row]:
    """Yield CPU and time of a turn of each cast on a cluster; nothing where Ray is not installed."""
    if find_spec("ray") is None:
        print("Runs on a cluster are measured after: pip install 'askback[ray]'", file=sys.stderr)
        return
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)  # the players import the casts
    with connect("") as ray:
        for name, latency, places in (("scripts", 0.0, 32), ("offline", 0.0, 32), ("models", LATENCY, 100)):
            cast = Cast(name, latency)
            alone, shared, spread = (turn(cast, how, ray, places) for how in ("here", "processes", "ray"))
            others = f"{PROCESSES} processes without Ray"
            for how, cpu, goal in (("Ray", spread.cpu, LIMIT), (others, shared.cpu, None)):
                yield Row(
                    work=f"a turn with {how}, {name}: CPU of all processes",
                    ours=cpu,
                    unit="ms",
                    peer="one process",
                    theirs=alone.cpu,
                    goal=goal,
                    goal_of="ratio",
                )
            yield Row(
                work=f"a turn with Ray, {name}: time",
                ours=spread.wall,
                unit="ms",
                peer=others,
                theirs=shared.wall,
            )


if __name__ == "__main__":
    main(rows)
