"""The cost of a turn on a Ray cluster compared with one process, and with as many workers without Ray.

CPU is that of all processes together: players, the head that writes the log, the command, and Ray's own. It
is measured between two moments at which the run reports its progress, so that starts and ends do not count.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import NamedTuple

from casts import Cast
from rows import Process, Row, main

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

TASKS, TURNS = 50, 20
MEASURED = 0.15, 0.9  # of the run: processes start before and end after it
# Name, seconds a call, places, dialogues per task: ten seconds, as a cluster reports progress twice a second.
CASTS = ("scripts", 0.0, 32, 100), ("offline", 0.0, 32, 60), ("models", 0.05, 100, 30)
ROUNDS = 5
PROCESSES = 2
HOW = ("here", "processes", "ray")
LIMIT = 1.05


class Measured(NamedTuple):
    """Milliseconds of CPU and of time."""

    cpu: float
    wall: float


def cpu_of_family() -> dict[int, float]:
    """Return milliseconds of CPU of this process and each of its living descendants."""
    processes = {}
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            processes[int(path.name)] = Process.read(path.name)
    family = {os.getpid()}
    while more := {id for id, each in processes.items() if each.parent in family} - family:
        family |= more
    return {id: each.cpu for id, each in processes.items() if id in family}


class Moment(NamedTuple):
    """A moment of a run."""

    done: int
    seconds: float
    cpu: dict[int, float]


async def play(cast: Cast, how: str, ray: object, path: Path, places: int, repeats: int) -> Measured:
    """Return what a turn of a run takes."""
    moments: list[Moment] = []

    def note(tally: Tally) -> None:
        if len(moments) < len(MEASURED) and tally.done >= MEASURED[len(moments)] * tally.planned:
            moments.append(Moment(tally.done, time.perf_counter(), cpu_of_family()))

    def on_progress(tally: Tally) -> None:
        asyncio.get_running_loop().call_soon(note, tally)  # after all episodes that are reported together

    tune_collector()  # as the command does
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
    start, end = moments
    turns = (end.done - start.done) * (TURNS + 1)
    spent = sum(cpu - start.cpu.get(process, 0.0) for process, cpu in end.cpu.items())
    return Measured(spent / turns, (end.seconds - start.seconds) * 1e3 / turns)


def cluster(cast: Cast, ray: object, path: Path, places: int) -> Players:
    make = ray.remote(Head).options(num_cpus=0, **on_node(this_node(ray)))  # type: ignore[attr-defined]
    head = make.remote(path, ModelOptions(), {}, {})
    version = version_here("clarq")
    work = Work(benchmark="clarq", factory=cast, head=head, places=places, version=version, environment={})
    return Players(work=work, path=path, players=PROCESSES, resources={"num_cpus": 1})


def round_of(cast: Cast, places: int, repeats: int) -> Iterator[Measured]:
    """Yield what a turn takes in one process, in several and with Ray, which only runs during the last."""
    for how in HOW:
        with (
            tempfile.TemporaryDirectory() as folder,
            connect("local") if how == "ray" else nullcontext() as ray,
        ):
            yield asyncio.run(play(cast, how, ray, Path(folder) / "log.sqlite", places, repeats))


def median_of(runs: Sequence[Measured]) -> Measured:
    return Measured(median(run.cpu for run in runs), median(run.wall for run in runs))


def rows() -> Iterator[Row]:
    """Yield CPU and time of a turn of each cast on a cluster; nothing where Ray is not installed."""
    if find_spec("ray") is None:
        print("Runs on a cluster are measured after: pip install 'askback[ray]'", file=sys.stderr)
        return
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)  # the players import the casts
    for name, latency, places, repeats in CASTS:
        rounds = [list(round_of(Cast(name, latency), places, repeats)) for _ in range(ROUNDS)]
        alone, shared, spread = map(median_of, zip(*rounds, strict=True))
        ratios = sorted(spread.cpu / alone.cpu for alone, _, spread in rounds)
        others = f"{PROCESSES} processes without Ray"
        yield Row(
            work=f"a turn with {others}, {name}: CPU of all processes",
            ours=shared.cpu,
            unit="ms",
            peer="one process",
            theirs=alone.cpu,
        )
        yield Row(
            work=f"a turn with Ray, {name}: CPU of all processes",
            ours=spread.cpu,
            unit="ms",
            peer="one process",
            theirs=alone.cpu,
            goal=LIMIT,
            goal_of="ratio",
            remark=f"ratios {ratios[0]:.2f} to {ratios[-1]:.2f}; of {others} {spread.cpu / shared.cpu:.2f}",
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
