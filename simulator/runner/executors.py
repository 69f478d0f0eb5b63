"""Executors of a run: this process, several processes, or a cluster (`simulator.runner.cluster`).

Why. One Python process plays about a thousand turns a second; 200 dialogues with a model that answers within
50 ms need more than twice that. Each worker process has its own event loop, seats and log writer, and all
write to one file: SQLite's write-ahead log lets them take turns. With a single writer in the parent, every
row would also have to be pickled, sent and unpickled, and one process would again have to keep up with all.

How. A process pool of the standard library starts the workers and notices if one dies. Each worker has the
list of all jobs and takes the next through a shared counter, so none waits for the slowest. An episode
depends only on its seed and its item; the worker and the time only change the order of rows in the log.

All workers hold the reading end of a pipe whose other end the parent holds. When the pipe closes, because the
run was stopped or the parent killed, they write what they have played and exit, so no process stays behind.
They ignore Ctrl-C, which a terminal sends to all processes.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from logs import LogError, LogWriter
from simulator.errors import AskbackError, WorkerFailed
from simulator.models import Budget
from simulator.models.budget import SharedBudget
from simulator.runner.batch import Executor, Job, OnEnding, play_jobs
from simulator.runner.build import SCRIPT, NamedSeatFactory, SeatFactory, load_machine
from simulator.runner.options import Engine, processor_count, tune_collector
from simulator.runner.spreading import describe_exit, start_context, worker_environment
from simulator.seats import Seat

# Dialogues per worker that justify the two seconds it takes to start.
_WORTH_A_WORKER: Final = 200


@asynccontextmanager
async def open_executor(
    engine: Engine, factory: NamedSeatFactory, log: Path, *, episodes: int, places: int
) -> AsyncIterator[tuple[NamedSeatFactory, Executor | None]]:
    """Yield the seat factory for this process, and the executor; None if this process plays.

    Raises:
        InputError: if the cluster cannot be reached, or lacks resources.
    """
    if engine.is_ray:
        from simulator.runner.cluster.players import on_cluster

        async with on_cluster(engine, factory, log, places) as both:
            yield both
        return
    workers = workers_for(engine, factory.names, episodes)
    if workers == 1:
        yield factory, None
        return
    yield (
        factory,
        Workers(
            benchmark=factory.benchmark,
            factory=factory,
            path=log,
            workers=workers,
            concurrency=places,
            budget=factory.models.budget,
        ),
    )


def workers_for(engine: Engine, seats: Mapping[str, str | Seat], episodes: int) -> int:
    """Return the number of worker processes: as requested, else one, or more for a long offline run."""
    if engine.workers is not None:
        return engine.workers
    names = (who if isinstance(who, str) else who.name for who in seats.values())
    offline = all(name.startswith(("offline/", SCRIPT)) for name in names)
    return max(1, min(processor_count(), episodes // _WORTH_A_WORKER)) if offline else 1


# Seconds in which a worker that has been stopped, or has lost its parent, writes its rows before it exits.
_GRACE: Final = 10.0
# Seconds that a worker waits for the others' transactions: SQLite has no queue, the first to ask is next.
_BUSY_SECONDS: Final = 60.0
# Seconds after which the event loop hands Python's lock to the thread that writes the log, which needs it
# several times per transaction. With the usual 5 ms, transactions took up to a second.
_SWITCH_SECONDS: Final = 0.0005


@dataclass(frozen=True, kw_only=True)
class Workers:
    """Plays jobs in several processes (a `batch.Executor`), without people.

    Attributes:
        factory: builds the seats in each worker; must be picklable.
        workers: most processes; there are never more than places or jobs.
        concurrency: concurrent episodes of all workers together.
        budget: their shared budget; None for no limit.
    """

    benchmark: str
    factory: SeatFactory
    path: Path
    workers: int
    concurrency: int
    budget: Budget | None = None

    async def __call__(self, jobs: Sequence[Job], on_ending: OnEnding) -> None:
        """Play `jobs`; if cancelled, stop the workers and wait until they have written what they played.

        If another program keeps the log locked meanwhile, they exit after `_GRACE` without it.

        Raises:
            LogError: if a worker could not write to the log.
            WorkerFailed: if a worker ended for another reason, or its seats could not be built.
        """
        if not jobs:
            return
        shares = _shares(min(self.concurrency, len(jobs)), self.workers)
        context = start_context(
            __name__, type(load_machine(self.benchmark)).__module__, type(self.factory).__module__
        )
        stop, hold = context.Pipe(duplex=False)
        task = _WorkerTask(
            self.benchmark,
            self.factory,
            self.path,
            tuple(jobs),
            context.Value("q", 0),
            context.SimpleQueue(),
            stop,
            None
            if self.budget is None
            else (self.budget.limit, context.Array("d", [self.budget.spent, 0.0])),
        )
        pool = ProcessPoolExecutor(len(shares), context, _start_worker, (task,))
        loop = asyncio.get_running_loop()
        listener = threading.Thread(
            target=_forward_endings, args=(task.endings, loop, on_ending), daemon=True
        )
        listener.start()
        try:
            # Starting takes a while, in a thread; the workers start even if this is cancelled.
            serving = await _in_thread(_start_all, pool, shares)
            await asyncio.gather(*map(asyncio.wrap_future, serving))
            task.endings.put(None)
            await asyncio.to_thread(listener.join)
            await asyncio.sleep(0)  # run the callbacks that it left in the loop
        except BrokenProcessPool as error:
            hold.close()  # the others write what they have played, and exit
            how = await asyncio.to_thread(describe_exit, pool)
            raise WorkerFailed(
                f"A worker process {how}. Everything played so far is in the log; the same command "
                "continues. If memory ran out, use fewer --workers."
            ) from error
        finally:
            hold.close()
            await _in_thread(pool.shutdown)
            stop.close()
            task.endings.close()


def _shares(places: int, workers: int) -> list[int]:
    """Divide `places` evenly among at most `workers`, each of which gets at least one."""
    workers = min(workers, places)
    return [places // workers + (number < places % workers) for number in range(workers)]


def _start_all(pool: ProcessPoolExecutor, shares: Sequence[int]) -> list[Future[None]]:
    with worker_environment():
        serving = [pool.submit(_serve, places) for places in shares]
        # A pool only watches processes that it knew when it last looked; the last one started after that.
        pool.submit(_do_nothing)
    return serving


def _do_nothing() -> None:
    """Do nothing: a submitted job makes the pool look at its processes."""


async def _in_thread(function: Any, *arguments: Any) -> Any:
    """Run a function in a thread to its end, even if the caller is cancelled."""
    running = asyncio.ensure_future(asyncio.to_thread(function, *arguments))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        while not running.done():  # even if the caller is cancelled again
            with suppress(asyncio.CancelledError):
                await asyncio.wait([running])
        raise


def _forward_endings(endings: Any, loop: asyncio.AbstractEventLoop, on_ending: OnEnding) -> None:
    """Forward the workers' endings to the event loop, in a thread of the parent."""
    with suppress(RuntimeError, EOFError, OSError):  # the loop or the queue is closed
        while (played := endings.get()) is not None:
            loop.call_soon_threadsafe(on_ending, *played)


# In the worker


@dataclass(frozen=True)
class _WorkerTask:
    """The arguments of a worker.

    Attributes:
        next: index of the next job, shared by all.
        endings: queue of (ending, scores).
        stop: reading end of the pipe that closes when the work must stop.
        purse: limit of the budget, and the shared array of (spent, reserved) US dollars.
    """

    benchmark: str
    factory: SeatFactory
    path: Path
    jobs: tuple[Job, ...]
    next: Any
    endings: Any
    stop: Connection
    purse: tuple[float, Any] | None

    async def take(self) -> Job | None:
        """Return the next job; None if none is left."""
        with self.next.get_lock():
            number = self.next.value
            self.next.value += 1
        return self.jobs[number] if number < len(self.jobs) else None

    @property
    def seats(self) -> SeatFactory:
        """Return the seat factory, with the shared budget."""
        if self.purse is None or not isinstance(self.factory, NamedSeatFactory):
            return self.factory
        return replace(self.factory, models=replace(self.factory.models, budget=SharedBudget(*self.purse)))


_task: _WorkerTask
_serving: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None


def _start_worker(task: _WorkerTask) -> None:
    """Initialise a worker process."""
    global _task
    _task = task
    # When one worker dies, the pool sends SIGTERM to the others; they exit by themselves once all is written.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    threading.Thread(target=_wait_for_stop, args=(task.stop,), daemon=True).start()
    sys.setswitchinterval(_SWITCH_SECONDS)


def _wait_for_stop(stop: Connection) -> None:
    """Cancel the work and exit when the pipe closes."""
    with suppress(EOFError, OSError):
        stop.recv()
    if _serving is not None:
        loop, task = _serving
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(task.cancel)
    time.sleep(_GRACE)
    os._exit(1)


def _serve(places: int) -> None:
    """Play episodes until no job is left."""
    try:
        asyncio.run(_play(_task, places))
    except asyncio.CancelledError:
        pass  # the parent has closed the pipe
    except LogError as error:
        raise LogError(str(error)) from None
    except AskbackError as error:
        raise WorkerFailed(str(error)) from None
    except Exception:
        raise WorkerFailed(f"A worker process failed:\n{traceback.format_exc()}") from None


async def _play(task: _WorkerTask, places: int) -> None:
    global _serving
    current = asyncio.current_task()
    assert current is not None
    _serving = asyncio.get_running_loop(), current
    tune_collector()
    writer = LogWriter(task.path, durable=False, busy_seconds=_BUSY_SECONDS)
    async with writer as log, task.seats(log, places) as seats:
        await play_jobs(
            load_machine(task.benchmark),
            seats,
            log,
            task.take,
            places=places,
            on_ending=lambda job, ending, scores: task.endings.put((ending, tuple(scores))),
        )
