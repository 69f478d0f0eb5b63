"""Several processes for one run.

Why. One Python process plays about a thousand turns a second; 200 dialogues with a model that answers
within 50 ms ask for more than twice that. Each process here has an event loop, seats and a log writer of
its own. They write to one file: SQLite's write-ahead log lets them take turns, and a row costs its process
the encoding and the insertion; sent to one writer in the parent, every row would be pickled, sent and
unpickled besides, and one process would again have to keep up with all.

How. The parent reads from the log what is left to do and deals the jobs out, one by one as places become
free, so nobody waits for the slowest. What an episode says depends on its seed and its item alone; who
plays it, and when, changes nothing but the order of rows in the log.

::

    parent   --jobs-->   worker   (a job for each free place; None for each place at the end)
    parent  <--results-- worker   (ready; each ending with its scores; what went wrong)

A worker ends when its pipe of jobs closes, which is the case too when the parent was killed: no process
stays behind. It ignores Ctrl-C, which a terminal sends to all; the parent stops it by closing the pipe.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, SpawnContext
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from logs import LogError, LogWriter
from logs.rows import Ending, Score
from simulator.errors import AskbackError, InputError
from simulator.models import Budget
from simulator.runner.batch import Executor, Job, Tell, play_jobs
from simulator.runner.build import NamedSeatFactory
from simulator.runner.finding import load_room
from simulator.seats import Seat

# So many dialogues are worth the two seconds that a process takes to start.
_WORTH_A_WORKER: Final = 200
# A worker that has lost its parent writes what it has; after so many seconds it ends in any case.
_GRACE: Final = 10.0


SeatFactory = Callable[[LogWriter, int], AbstractAsyncContextManager[Mapping[str, Seat]]]
"""Makes the seats of a run, for so many episodes at a time; is pickled to get to the process that plays."""


class WorkerFailed(AskbackError):
    """A worker process ended before its work did. What it has played is in the log."""


@dataclass(frozen=True)
class _Ready:
    """A worker has built its seats."""


@dataclass(frozen=True)
class _Played:
    ending: Ending
    scores: tuple[Score, ...]


@dataclass(frozen=True)
class _Failed:
    """The failure of a worker: the message of a known error, or a traceback."""

    of_log: bool
    message: str


@dataclass(frozen=True)
class _Gone:
    """A worker's pipe of results has closed: it has ended."""


_Message = _Ready | _Played | _Failed | _Gone


@dataclass(frozen=True)
class _Worker:
    process: Any
    jobs: Connection
    places: int

    def deal(self, jobs: Sequence[Job | None]) -> None:
        # That it has ended shows on the pipe of its results.
        with suppress(BrokenPipeError):
            for job in jobs:
                self.jobs.send(job)


@dataclass(frozen=True, kw_only=True)
class Workers:
    """Plays jobs in several processes (a `batch.Executor`). No person sits in a seat.

    Attributes:
        factory: makes the seats in each worker; must be picklable.
        workers: processes; not more than there are places or jobs.
        concurrency: episodes at a time, of all workers together.
    """

    benchmark: str
    factory: SeatFactory
    path: Path
    workers: int
    concurrency: int

    async def __call__(self, jobs: Sequence[Job], tell: Tell) -> None:
        """Play `jobs`; if cancelled, stop the workers and wait until they have written what they played.

        Raises:
            LogError: if a worker could not write to the log.
            WorkerFailed: if a worker ended in another way, or its seats could not be built.
        """
        shares = _shares(min(self.concurrency, len(jobs)), self.workers)
        inbox: asyncio.Queue[tuple[_Worker, _Message]] = asyncio.Queue()
        team: list[_Worker] = []
        try:
            for places in shares:
                team.append(await self._start(places, inbox))
            await _deal(team, jobs, inbox, tell)
        finally:
            await _dismiss(team)

    async def _start(self, places: int, inbox: asyncio.Queue[tuple[_Worker, _Message]]) -> _Worker:
        context = _context(self.benchmark, self.factory)
        jobs_end, jobs = context.Pipe(duplex=False)
        results, results_end = context.Pipe(duplex=False)
        process = context.Process(
            target=_work,
            args=(jobs_end, results_end, self.benchmark, self.factory, self.path, places),
            name=f"{self.benchmark} worker",
            daemon=True,
        )
        worker = _Worker(process, jobs, places)
        launching = asyncio.ensure_future(asyncio.to_thread(_launch, process))
        try:
            await asyncio.shield(launching)
        except asyncio.CancelledError:
            # The thread goes on and the process begins all the same: it must not be left behind.
            await launching
            await _dismiss([worker])
            raise
        finally:
            # Only the worker may hold its ends, or nobody would see that it has gone.
            jobs_end.close()
            results_end.close()
        _in_thread(
            _hear, results, asyncio.get_running_loop(), lambda message: inbox.put_nowait((worker, message))
        )
        return worker


def workers_for(asked: int | None, seats: Mapping[str, str], episodes: int, budget: Budget | None) -> int:
    """Return how many processes play: as many as asked for; else one, but more for a long run without models.

    Raises:
        InputError: if several processes would have to share a budget.
    """
    if asked is None:
        offline = all(name.startswith(("offline/", "script:")) for name in seats.values())
        return max(1, min(_cores(), episodes // _WORTH_A_WORKER)) if offline else 1
    if asked > 1 and budget is not None:
        raise InputError("--budget is kept within one process: leave --workers out, or run without a budget.")
    return asked


def executor_for(factory: NamedSeatFactory, log: Path, workers: int, concurrency: int) -> Executor | None:
    """Return who plays a run: `workers` processes sharing `concurrency` places; None: this process alone."""
    if workers == 1:
        return None
    return Workers(
        benchmark=factory.benchmark, factory=factory, path=log, workers=workers, concurrency=concurrency
    )


def _cores() -> int:
    """Return processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


async def _deal(
    team: Sequence[_Worker],
    jobs: Sequence[Job],
    inbox: asyncio.Queue[tuple[_Worker, _Message]],
    tell: Tell,
) -> None:
    """Deal the jobs out, and tell of the endings that come back, until every worker has gone home."""
    waiting: Iterator[Job | None] = iter(jobs)
    at_work = len(team)
    while at_work:
        worker, message = await inbox.get()
        match message:
            case _Ready():
                worker.deal([next(waiting, None) for _ in range(worker.places)])
            case _Played(ending, scores):
                tell(ending, scores)
                worker.deal([next(waiting, None)])
            case _Failed(of_log, sentence):
                raise (LogError if of_log else WorkerFailed)(sentence)
            case _Gone():
                await _check_exit(worker)
                at_work -= 1


async def _check_exit(worker: _Worker) -> None:
    process = worker.process
    await asyncio.to_thread(process.join)
    if process.exitcode:
        how = f"by signal {-process.exitcode}" if process.exitcode < 0 else f"with status {process.exitcode}"
        raise WorkerFailed(
            f"A worker process was ended {how} from outside. What was played is in the log; the same command "
            "continues. If memory was short, take fewer --workers."
        )


async def _dismiss(team: Sequence[_Worker]) -> None:
    for worker in team:
        worker.jobs.close()
    for worker in team:
        await asyncio.to_thread(worker.process.join, _GRACE + 1)
        worker.process.kill()


def _shares(places: int, workers: int) -> list[int]:
    """Return `places` dealt evenly to at most `workers`, none of which gets nothing."""
    workers = min(workers, places)
    return [places // workers + (number < places % workers) for number in range(workers)]


def _hear(results: Connection, loop: asyncio.AbstractEventLoop, take: Callable[[_Message], None]) -> None:
    """Pass on what a worker says, in a thread of the parent."""
    with suppress(RuntimeError):  # the loop was closed: nobody is interested any more
        try:
            while True:
                loop.call_soon_threadsafe(take, results.recv())
        except (EOFError, OSError):
            loop.call_soon_threadsafe(take, _Gone())


# In the worker


def _work(
    jobs: Connection, results: Connection, benchmark: str, factory: SeatFactory, path: Path, places: int
) -> None:
    """Play episodes in a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        asyncio.run(_serve(jobs, results, benchmark, factory, path, places))
    except asyncio.CancelledError:
        pass  # the parent has closed the pipe
    except (AskbackError, LogError) as error:
        _say(results, _Failed(isinstance(error, LogError), str(error)))
    except Exception:
        _say(results, _Failed(False, f"A worker process failed:\n{traceback.format_exc()}"))


def _say(results: Connection, message: _Message) -> None:
    with suppress(BrokenPipeError):
        results.send(message)


async def _serve(
    jobs: Connection, results: Connection, benchmark: str, factory: SeatFactory, path: Path, places: int
) -> None:
    loop, serving = asyncio.get_running_loop(), asyncio.current_task()
    assert serving is not None
    waiting: asyncio.Queue[Job | None] = asyncio.Queue()
    _in_thread(_obey, jobs, loop, waiting.put_nowait, serving.cancel)

    def tell(ending: Ending, scores: Sequence[Score]) -> None:
        _say(results, _Played(ending, tuple(scores)))

    async with LogWriter(path, durable=False) as log, factory(log, places) as seats:
        _say(results, _Ready())
        await play_jobs(load_room(benchmark), seats, log, waiting.get, places=places, tell=tell)


def _obey(
    jobs: Connection,
    loop: asyncio.AbstractEventLoop,
    take: Callable[[Job | None], None],
    stop: Callable[[], object],
) -> None:
    """Take jobs in, in a thread of a worker; end the process when the pipe closes."""
    try:
        while True:
            loop.call_soon_threadsafe(take, jobs.recv())
    except (EOFError, OSError):
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(stop)
        time.sleep(_GRACE)
        os._exit(1)


def _in_thread(function: Callable[..., None], *arguments: Any) -> None:
    threading.Thread(target=function, args=arguments, name=function.__name__, daemon=True).start()


# How processes are started


def _launch(process: Any) -> None:
    """Start `process`. It, and the server it is forked off, inherit that Ctrl-C is not for them."""
    with _same_imports():
        if not hasattr(signal, "pthread_sigmask"):
            process.start()
            return
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _same_imports() -> Iterator[None]:
    """Have Python processes that are started import from where this one does.

    The server that workers are forked off would otherwise look into the working directory first, where a
    folder called ``logs`` is nothing unusual.
    """
    ours = {
        "PYTHONSAFEPATH": "1",
        "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path),
    }
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _context(benchmark: str, factory: SeatFactory) -> ForkServerContext | SpawnContext:
    """Return how workers begin: forked off a server that has imported everything once, where there is one.

    Forking this process itself would copy its threads' locks, and importing takes a worker two seconds.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    room = type(load_room(benchmark)).__module__
    context.set_forkserver_preload([__name__, room, type(factory).__module__, *_start_file_imports()])
    return context


def _start_file_imports() -> Iterator[str]:
    """Yield what the program's start file imports: every worker runs that file's top level again."""
    for value in vars(sys.modules["__main__"]).values():
        name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(name, str) and name in sys.modules and name != "__main__":
            yield name
