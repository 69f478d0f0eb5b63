"""The cost of a turn on a Ray cluster compared with as many processes without Ray, if Ray is installed.

CPU is that of all processes together: players, the head that writes the log, the command, and Ray's own. It
is measured between two moments at which the run reports its progress, so that starts and ends do not count.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from statistics import median
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
    parents, spent = {}, {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            threads = [(each / "schedstat").read_text() for each in path.glob("task/*")]
        except OSError:
            continue
        parents[int(path.name)] = parent
        spent[int(path.name)] = sum(int(thread.split()[0]) for thread in threads) / 1e6
    family = {os.getpid()}
    while more := {child for child, parent in parents.items() if parent in family} - family:
        family |= more
    return {process: spent.get(process, 0.0) for process in family}


class Moment(NamedTuple):
    """A moment of a run."""

    done: int
    seconds: float
    cpu: dict[int, float]


async def play(cast: Cast, how: str, ray: object, path: Path, places: int, repeats: int) -> Measured:
    """Return what a turn of a run takes."""
    moments: list[Moment] = []

    def on_progress(tally: Tally) -> None:
        if len(moments) < len(MEASURED) and tally.done >= MEASURED[len(moments)] * tally.planned:
            moments.append(Moment(tally.done, time.perf_counter(), cpu_of_family()))

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
        with tempfile.TemporaryDirectory() as folder, connect("") if how == "ray" else nullcontext() as ray:
            yield asyncio.run(play(cast, how, ray, Path(folder) / "log.sqlite", places, repeats))


def turn(cast: Cast, places: int, repeats: int) -> list[Measured]:
    """Return what a turn takes, in the order of `HOW`: the medians of alternating runs."""
    rounds = [list(round_of(cast, places, repeats)) for _ in range(ROUNDS)]
    return [Measured(*map(median, zip(*runs, strict=True))) for runs in zip(*rounds, strict=True)]


def rows() -> Iterator[Row]:
    """Yield CPU and time of a turn of each cast on a cluster; nothing where Ray is not installed."""
    if find_spec("ray") is None:
        print("Runs on a cluster are measured after: pip install 'askback[ray]'", file=sys.stderr)
        return
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)  # the players import the casts
    for name, latency, places, repeats in CASTS:
        alone, shared, spread = turn(Cast(name, latency), places, repeats)
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
            peer=others,
            theirs=shared.cpu,
            goal=LIMIT,
            goal_of="ratio",
            remark=f"{spread.cpu / alone.cpu:.2f} of one process",
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
