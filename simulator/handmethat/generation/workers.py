"""Work spread over processes, its results in the order of the jobs."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import get_context, parent_process
from threading import Thread
from time import sleep
from typing import Final, TypeVar

from simulator.errors import AskbackError

J = TypeVar("J")
R = TypeVar("R")
# Jobs that may be out or done beyond the first unfinished one, for each process.
_AHEAD: Final = 8


class WorkerFailed(AskbackError):
    """A worker process that ended before its work."""


def in_order(work: Callable[[J], R], jobs: Iterator[J], workers: int) -> Iterator[R]:
    """Return ``map(work, jobs)`` over several processes.

    `jobs`: may be endless; each is taken when it is soon to be done, so whoever makes them may already know
    of earlier results.

    Raises:
        WorkerFailed: if a process was ended from outside, or ended by itself.
        Exception: whatever `work` raised.
    """
    if workers == 1:
        yield from map(work, jobs)
        return
    # A fork would copy the locks of threads: of the log's writer, of the progress bar.
    pool = ProcessPoolExecutor(workers, get_context("spawn"), _follow_parent)
    waiting: deque[Future[R]] = deque()
    try:
        while True:
            free = _AHEAD * workers - len(waiting)
            waiting.extend(pool.submit(work, job) for job in islice(jobs, free))
            if not waiting:
                return
            yield waiting.popleft().result()
    except BrokenProcessPool as error:
        raise WorkerFailed(_how_it_ended(pool)) from error
    finally:
        # What they are at now is of no use any more: neither Ctrl-C nor the last episode waits for it.
        processes = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


def _how_it_ended(pool: ProcessPoolExecutor) -> str:
    """Return a sentence on the process that broke a pool; the pool itself ends the others by SIGTERM."""
    codes: set[int] = set()
    for process in (pool._processes or {}).values():
        while (code := process.exitcode) is None:  # the pool's thread is about to end and to reap it
            sleep(0.01)
        codes.add(code)
    if by_itself := [code for code in codes if code >= 0]:
        return (
            f"A worker process ended by itself, with status {by_itself[0]}; why stands above. "
            "Where a script starts this, its work belongs under `if __name__ == '__main__':`."
        )
    killed = min((code for code in codes if code < 0), key=lambda code: code == -signal.SIGTERM)
    return (
        f"A worker process was ended from outside, by {signal.Signals(-killed).name}; the same command "
        "continues. If memory was short, take fewer --workers."
    )


def _follow_parent() -> None:
    """End this process when its parent has ended, and leave Ctrl-C, which a terminal sends to all, to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    Thread(target=wait, daemon=True).start()
