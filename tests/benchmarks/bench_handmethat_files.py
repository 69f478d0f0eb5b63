"""What reading episodes costs: `python tests/benchmarks/bench_handmethat_files.py [episodes]`.

Built-in episodes are written as files and packed. Times are CPU; ratios are to reading a file whole, as it
is read where it may be written again.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console
from rich.table import Table
from rows import Row

from simulator.handmethat.checking import check_files
from simulator.handmethat.data import episode_files, load_tasks
from simulator.handmethat.env.gym_env import HandMeThat
from simulator.handmethat.files.episode import read_file
from simulator.handmethat.files.filetext import write_file
from simulator.handmethat.files.packed import Packed, write_packed


def typical(do: Callable[[Any], object], some: Iterable[Any]) -> float:
    """CPU milliseconds of doing it once (the median)."""
    taken = []
    for one in some:
        begun = time.process_time()
        do(one)
        taken.append(time.process_time() - begun)
    return 1000 * median(taken)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    tasks = load_tasks(limit=count)
    with TemporaryDirectory() as name:
        folder, packed = Path(name), Path(name, "all.packed")
        for task in tasks:
            write_file(task, folder)
        write_packed(tasks, {}, packed)
        files, numbers = episode_files(folder), range(len(tasks))
        source = Packed(packed)
        loose, dense = HandMeThat(folder), HandMeThat(packed)
        for env in (loose, dense):
            env.reset(options={"task": 0})
        found = {
            "read": typical(read_file, files),
            "check": typical(lambda file: check_files([file]), files),
            "read, packed": typical(source.task, numbers),
            "reset, from files": typical(lambda number: loose.reset(options={"task": number}), numbers),
            "reset, packed": typical(lambda number: dense.reset(options={"task": number}), numbers),
        }
    table = Table("what", "ms", "of reading", title=f"{len(tasks)} episodes")
    whole = found["read"]
    for what, taken in found.items():
        table.add_row(what, f"{taken:.2f}", f"{taken / whole:.2f}")
    Console().print(table)


def rows() -> Iterator[Row]:
    """Yield what a packed episode takes beside a file."""
    tasks = load_tasks(limit=50)
    with TemporaryDirectory() as name:
        folder, packed = Path(name), Path(name, "all.packed")
        for task in tasks:
            write_file(task, folder)
        write_packed(tasks, {}, packed)
        source = Packed(packed)
        yield Row(
            work="HandMeThat: a packed episode read",
            ours=typical(source.task, range(len(tasks))),
            unit="ms",
            peer="a file read whole",
            theirs=typical(read_file, episode_files(folder)),
        )


if __name__ == "__main__":
    main()
