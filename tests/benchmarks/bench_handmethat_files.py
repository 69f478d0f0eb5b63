"""CPU cost of reading episodes: `python tests/benchmarks handmethat_files`.

Built-in episodes are written as files and packed. Times are CPU; ratios are to reading a file whole, as it
is read where it may be written again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from rows import Row, main

from simulator.handmethat.data import Packed, episode_files, load_tasks, write_packed
from simulator.handmethat.files.episode import file_text, read_file


def typical(do: Callable[[Any], object], arguments: Iterable[Any]) -> float:
    """CPU milliseconds of doing it once (the median)."""
    taken = []
    for argument in arguments:
        begun = time.process_time()
        do(argument)
        taken.append(time.process_time() - begun)
    return 1000 * median(taken)


def rows() -> Iterator[Row]:
    """Yield what a packed episode takes beside a file."""
    tasks = load_tasks()[:50]
    with TemporaryDirectory() as name:
        folder, packed = Path(name), Path(name, "all.packed")
        for task in tasks:
            (folder / f"{task.id}.json").write_text(file_text(task), encoding="utf-8")
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
    main(rows)
