"""Work spread over processes, its results in the order of the jobs.

A process gets jobs on its standard input and answers on its standard output. It ends when its input closes,
which is the case too when the parent was killed, so no process stays behind; it has a session of its own, so
that Ctrl-C reaches the parent alone. Jobs are dealt out one by one as processes become free, and made only
then: whoever makes them may already know of earlier results.

`multiprocessing` would have every process run the program's start file again, and with it the whole app.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final, TypeVar

from simulator.errors import AskbackError

J = TypeVar("J")
R = TypeVar("R")
# Jobs that may be out or done beyond the first unfinished one, for each process.
_AHEAD: Final = 8
_GRACE: Final = 5.0
_START: Final = "import sys; sys.path[:] = {path!r}; from {module} import serve; serve()"
_END: Final = object()


class WorkerFailed(AskbackError):
    """A worker process failed or was ended from outside."""


class _Worker:
    """A process, and the thread that hears what it says."""

    def __init__(self, process: subprocess.Popen[bytes], inbox: SimpleQueue[tuple[_Worker, Any]]) -> None:
        assert process.stdin is not None and process.stdout is not None
        self.process, self.jobs, self.results = process, process.stdin, process.stdout
        self._inbox = inbox
        self.thread = Thread(target=self._hear, daemon=True)
        self.thread.start()

    def send(self, job: object) -> None:
        """Give it something; if it has gone, the inbox will tell."""
        with suppress(OSError, ValueError):
            pickle.dump(job, self.jobs, pickle.HIGHEST_PROTOCOL)
            self.jobs.flush()

    def _hear(self) -> None:
        with suppress(Exception):  # whatever ends the stream: it has gone
            while True:
                self._inbox.put((self, pickle.load(self.results)))
        self._inbox.put((self, _END))


def in_order(work: Callable[[J], R], jobs: Iterator[J], workers: int) -> Iterator[R]:
    """Return ``map(work, jobs)`` over several processes.

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
    inbox: SimpleQueue[tuple[_Worker, Any]] = SimpleQueue()
    team: list[_Worker] = []
    try:
        for _ in range(workers):
            team.append(_start(work, inbox))
        yield from _deal(team, jobs, inbox)
    finally:
        _dismiss(team)


def _deal(team: list[_Worker], jobs: Iterator[J], inbox: SimpleQueue[tuple[_Worker, Any]]) -> Iterator[Any]:
    free = deque(team)
    busy: dict[_Worker, int] = {}
    done: dict[int, Any] = {}
    dealt = told = 0
    more = True
    while True:
        while more and free and dealt - told < _AHEAD * len(team):
            job = next(jobs, _END)
            if job is _END:
                more = False
                break
            worker = free.popleft()
            worker.send(job)
            busy[worker] = dealt
            dealt += 1
        if not busy:
            return
        worker, answer = inbox.get()
        done[busy.pop(worker, -1)] = _result(worker, answer)
        free.append(worker)
        while told in done:
            yield done.pop(told)
            told += 1


def _start(work: Callable[[J], R], inbox: SimpleQueue[tuple[_Worker, Any]]) -> _Worker:
    code = _START.format(path=sys.path, module=__name__)
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    worker = _Worker(process, inbox)
    worker.send(work)
    return worker


def _result(worker: _Worker, answer: Any) -> Any:
    if answer is _END:
        code = worker.process.wait()
        how = f"by signal {-code}" if code < 0 else f"with status {code}"
        raise WorkerFailed(
            f"A worker process was ended {how} from outside; the same command continues. "
            "If memory was short, take fewer --workers."
        )
    good, result = answer
    if not good:
        raise WorkerFailed(f"A worker process failed:\n{result}")
    return result


def _dismiss(team: list[_Worker]) -> None:
    for worker in team:
        # What it is at now is of no use any more.
        worker.process.terminate()
        with suppress(OSError):
            worker.jobs.close()
    for worker in team:
        try:
            worker.process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            worker.process.kill()
            worker.process.wait()
        worker.thread.join()
        worker.results.close()


def serve() -> None:
    """Main function of a worker process: the work first, then jobs until the input closes."""
    jobs, results = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # What anybody prints must not come between the answers.
    os.dup2(2, 1)
    with suppress(EOFError, BrokenPipeError):
        work = pickle.load(jobs)
        while True:
            job = pickle.load(jobs)
            try:
                answer = (True, work(job))
            except Exception:
                answer = (False, traceback.format_exc())
            pickle.dump(answer, results, pickle.HIGHEST_PROTOCOL)
            results.flush()
