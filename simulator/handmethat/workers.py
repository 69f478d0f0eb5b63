"""Work spread over processes, its results in the order of the jobs.

Each process has a pipe of jobs and answers on another. It ends when its pipe of jobs closes, which is the
case too when the parent was killed, so no process stays behind; it ignores Ctrl-C, which a terminal sends
to all. Jobs are dealt out one by one as processes become free, and made only then: whoever makes them may
already know of earlier results.
"""

from __future__ import annotations

import multiprocessing
import signal
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, Final, TypeVar

from simulator.errors import AskbackError

J = TypeVar("J")
R = TypeVar("R")
# Jobs that may be out or done beyond the first unfinished one, for each process.
_AHEAD: Final = 8
_GRACE: Final = 5.0


class WorkerFailed(AskbackError):
    """A worker process failed or was ended from outside."""


@dataclass(frozen=True)
class _Worker:
    process: SpawnProcess
    jobs: Connection
    results: Connection


def in_order(work: Callable[[J], R], jobs: Iterator[J], workers: int) -> Iterator[R]:
    """``map(work, jobs)`` over several processes.

    Args:
        work: a module-level function; its argument and result are pickled if there are several processes.
        jobs: may be endless; each is taken when a process is free for it.
        workers: how many processes; with 1 the work is done here.

    Raises:
        WorkerFailed: if a process was ended from outside, or `work` raised something there.
    """
    if workers == 1:
        yield from map(work, jobs)
        return
    team: list[_Worker] = []
    try:
        team += [_start(work, number) for number in range(workers)]
        yield from _deal(team, jobs)
    finally:
        _dismiss(team)


def _deal(team: list[_Worker], jobs: Iterator[J]) -> Iterator[Any]:
    free = deque(team)
    busy: dict[Connection, tuple[_Worker, int]] = {}
    done: dict[int, Any] = {}
    dealt = told = 0
    more = True
    while True:
        while more and free and dealt - told < _AHEAD * len(team):
            job = next(jobs, busy)  # `busy` stands for the end: no job is that very dictionary
            if job is busy:
                more = False
                break
            worker = free.popleft()
            _send(worker, job)
            busy[worker.results] = (worker, dealt)
            dealt += 1
        if not busy:
            return
        for ready in wait(list(busy)):
            assert isinstance(ready, Connection)
            worker, number = busy.pop(ready)
            done[number] = _receive(worker)
            free.append(worker)
        while told in done:
            yield done.pop(told)
            told += 1


def _start(work: Callable[[J], R], number: int) -> _Worker:
    context = multiprocessing.get_context("spawn")
    jobs_end, jobs = context.Pipe(duplex=False)
    results, results_end = context.Pipe(duplex=False)
    process = context.Process(
        target=_serve, args=(jobs_end, results_end, work), name=f"worker {number}", daemon=True
    )
    process.start()
    # Only the worker may hold its ends, or nobody would see that it has gone.
    jobs_end.close()
    results_end.close()
    return _Worker(process, jobs, results)


def _send(worker: _Worker, job: object) -> None:
    try:
        worker.jobs.send(job)
    except OSError as error:
        raise _gone(worker) from error


def _receive(worker: _Worker) -> Any:
    try:
        good, result = worker.results.recv()
    except (EOFError, OSError) as error:
        raise _gone(worker) from error
    if not good:
        raise WorkerFailed(f"A worker process failed:\n{result}")
    return result


def _gone(worker: _Worker) -> WorkerFailed:
    worker.process.join(_GRACE)
    code = worker.process.exitcode
    how = f"by signal {-code}" if code is not None and code < 0 else f"with status {code}"
    return WorkerFailed(
        f"A worker process was ended {how} from outside; the same command continues. "
        "If memory was short, take fewer --workers."
    )


def _dismiss(team: list[_Worker]) -> None:
    for worker in team:
        worker.jobs.close()
        worker.results.close()
    for worker in team:
        # What it is at now is of no use any more.
        worker.process.terminate()
        worker.process.join(_GRACE)
        worker.process.kill()
        worker.process.join()


def _serve(jobs: Connection, results: Connection, work: Callable[[Any], Any]) -> None:
    """Main function of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, OSError):
        while True:
            job = jobs.recv()
            try:
                answer = (True, work(job))
            except Exception:
                answer = (False, traceback.format_exc())
            results.send(answer)
