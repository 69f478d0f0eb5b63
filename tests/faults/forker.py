"""Forks processes that play a run until somebody kills them: forking costs less than importing again.

Run by test_run_killed.py. Each line on stdin, ``LOG RUN SEED WORKERS``, starts a process; it says
``pid PID`` and, when that is gone, ``gone STATUS``. What is on disk is told by `hashed.AnnouncingFactory`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from hashed import AnnouncingFactory, say

from logs import LogReader, LogWriter
from simulator.clarq.machine import MACHINE
from simulator.runner.batch import run_batch
from simulator.runner.build import build_plan
from simulator.runner.executors import Workers
from trees.sources import load_builtin

TASKS = [*load_builtin("en")[:9], *load_builtin("zh")[:3]]
CONCURRENCY = 6


async def play(path: Path, run: str, seed: int, workers: int) -> None:
    """Play the run called `run` on; in this process if `workers` is 1."""
    factory = AnnouncingFactory()
    shared = Workers(benchmark="clarq", factory=factory, path=path, workers=workers, concurrency=CONCURRENCY)
    async with LogWriter(path, durable=False) as log, factory(log, CONCURRENCY) as seats:
        with LogReader(path) as reader:
            plan = build_plan(
                machine=MACHINE, items=TASKS, seats=seats, config={}, seed=seed, repeats=2, name=run
            )
            executor = shared if workers > 1 else None
            await run_batch(plan, log, reader, concurrency=CONCURRENCY, executor=executor)


def main() -> None:
    for line in sys.stdin:
        path, run, seed, workers = line.split()
        process = os.fork()
        if process == 0:
            status = 1
            try:
                asyncio.run(play(Path(path), run, int(seed), int(workers)))
                status = 0
            finally:
                os._exit(status)
        say(f"pid {process}")
        _, status = os.waitpid(process, 0)
        say(f"gone {os.waitstatus_to_exitcode(status)}")


if __name__ == "__main__":
    main()
