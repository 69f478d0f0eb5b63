"""Who plays a run: this process, several of this machine, or a cluster (`simulator.runner.cluster`).

Why. One Python process plays about a thousand turns a second; 200 dialogues with a model that answers
within 50 ms ask for more than twice that. Each process here has an event loop, seats and a log writer of
its own. They write to one file: SQLite's write-ahead log lets them take turns, and a row costs its process
the encoding and the insertion; sent to one writer in the parent, every row would be pickled, sent and
unpickled besides, and one process would again have to keep up with all.

How. A pool of the standard library starts the processes and sees whether one dies. Each knows all the jobs
and takes the next whenever a place is free, by a counter that they share, so nobody waits for the slowest.
What an episode says depends on its seed and its item alone; who plays it, and when, changes nothing but the
order of rows in the log.

All hold the reading end of one pipe, and the parent the other. When that closes, because the run was
stopped or the parent killed, they write what they have played and end: no process stays behind. They ignore
Ctrl-C, which a terminal sends to all.
"""

from __future__ import annotations

import asyncio
import os
import signal
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
from simulator.runner.batch import Executor, Job, Tell, play_jobs
from simulator.runner.build import SCRIPT, NamedSeatFactory, SeatFactory, load_machine
from simulator.runner.options import Engine, processors
from simulator.runner.spreading import ending_of, quietly, start_context
from simulator.seats import Seat

# So many dialogues are worth the two seconds that a process takes to start.
_WORTH_A_WORKER: Final = 200


@asynccontextmanager
async def playing(
    engine: Engine, factory: NamedSeatFactory, log: Path, *, episodes: int, places: int
) -> AsyncIterator[tuple[NamedSeatFactory, Executor | None]]:
    """Yield who makes the seats of this process, and who plays; None for this process itself.

    Args:
        engine: the choice.
        factory: makes the seats.
        log: the log's file.
        episodes: of the run.
        places: episodes at a time; on a cluster in each of its processes.

    Raises:
        InputError: if the cluster cannot be reached, or lacks something.
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
    """Return how many processes play: as many as asked for; else one, but more for a long offline run."""
    if engine.workers is not None:
        return engine.workers
    names = (who if isinstance(who, str) else who.name for who in seats.values())
    offline = all(name.startswith(("offline/", SCRIPT)) for name in names)
    return max(1, min(processors(), episodes // _WORTH_A_WORKER)) if offline else 1


# A worker that has lost its parent writes what it has; after so many seconds it ends in any case.
_GRACE: Final = 10.0


@dataclass(frozen=True, kw_only=True)
class Workers:
    """Plays jobs in several processes (a `batch.Executor`). No person sits in a seat.

    Attributes:
        factory: makes the seats in each worker; must be picklable.
        workers: processes; not more than there are places or jobs.
        concurrency: episodes at a time, of all workers together.
        budget: what they share; None for no limit.
    """

    benchmark: str
    factory: SeatFactory
    path: Path
    workers: int
    concurrency: int
    budget: Budget | None = None

    async def __call__(self, jobs: Sequence[Job], tell: Tell) -> None:
        """Play `jobs`; if cancelled, stop the workers and wait until they have written what they played.

        Raises:
            LogError: if a worker could not write to the log.
            WorkerFailed: if a worker ended in another way, or its seats could not be built.
        """
        if not jobs:
            return
        shares = _shares(min(self.concurrency, len(jobs)), self.workers)
        context = start_context(
            __name__, type(load_machine(self.benchmark)).__module__, type(self.factory).__module__
        )
        stop, hold = context.Pipe(duplex=False)
        shift = _Shift(
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
        pool = ProcessPoolExecutor(len(shares), context, _begin, (shift,))
        loop = asyncio.get_running_loop()
        hearing = threading.Thread(target=_hear, args=(shift.endings, loop, tell), daemon=True)
        hearing.start()
        try:
            # Starting them takes a while, in a thread; if that is cancelled, they begin all the same.
            serving = await _in_thread(_start, pool, shares)
            await asyncio.gather(*map(asyncio.wrap_future, serving))
            shift.endings.put(None)
            await asyncio.to_thread(hearing.join)
            await asyncio.sleep(0)  # what it has left in the loop
        except BrokenProcessPool as error:
            hold.close()  # the others write what they have played, and end
            how = await asyncio.to_thread(ending_of, pool)
            raise WorkerFailed(
                f"A worker process was ended {how}. What was played is in the log; the same command "
                "continues. If memory was short, take fewer --workers."
            ) from error
        finally:
            hold.close()
            await _in_thread(pool.shutdown)
            stop.close()
            shift.endings.close()


def _shares(places: int, workers: int) -> list[int]:
    """Return `places` dealt evenly to at most `workers`, none of which gets nothing."""
    workers = min(workers, places)
    return [places // workers + (number < places % workers) for number in range(workers)]


def _start(pool: ProcessPoolExecutor, shares: Sequence[int]) -> list[Future[None]]:
    with quietly():
        serving = [pool.submit(_serve, places) for places in shares]
        # The pool sees the end of processes that it knew when it last looked; the last was begun after that.
        pool.submit(_do_nothing)
    return serving


def _do_nothing() -> None:
    """Do no work: to be given some makes a pool look at its processes."""


async def _in_thread(function: Any, *arguments: Any) -> Any:
    """Return what a function returns that must come to its end even if the caller is cancelled."""
    running = asyncio.ensure_future(asyncio.to_thread(function, *arguments))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await running
        raise


def _hear(endings: Any, loop: asyncio.AbstractEventLoop, tell: Tell) -> None:
    """Pass on what the workers tell, in a thread of the parent."""
    with suppress(RuntimeError, EOFError, OSError):  # the loop was closed: nobody is interested any more
        while (played := endings.get()) is not None:
            loop.call_soon_threadsafe(tell, *played)


# In the worker


@dataclass(frozen=True)
class _Shift:
    """Everything that a worker is given.

    Attributes:
        next: the place of the next job, shared by all.
        endings: takes the endings, each with its scores.
        stop: is closed at its other end when the work is to stop.
        purse: the limit of a budget, and what is spent and reserved of it, shared by all.
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
        """Return the next job; None if there is none."""
        with self.next.get_lock():
            number = self.next.value
            self.next.value += 1
        return self.jobs[number] if number < len(self.jobs) else None

    @property
    def seats(self) -> SeatFactory:
        """Return who makes the seats, which pay out of the shared purse."""
        if self.purse is None or not isinstance(self.factory, NamedSeatFactory):
            return self.factory
        return replace(self.factory, models=replace(self.factory.models, budget=SharedBudget(*self.purse)))


_shift: _Shift
_serving: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None


def _begin(shift: _Shift) -> None:
    """Prepare a worker process."""
    global _shift
    _shift = shift
    # The pool ends the others by SIGTERM when one has died; they end by themselves, with everything written.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    threading.Thread(target=_obey, args=(shift.stop,), daemon=True).start()


def _obey(stop: Connection) -> None:
    """End the work, and the process, when the pipe closes."""
    with suppress(EOFError, OSError):
        stop.recv()
    if _serving is not None:
        loop, task = _serving
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(task.cancel)
    time.sleep(_GRACE)
    os._exit(1)


def _serve(places: int) -> None:
    """Play episodes until there are none left."""
    try:
        asyncio.run(_play(_shift, places))
    except asyncio.CancelledError:
        pass  # the parent has closed the pipe
    except LogError as error:
        raise LogError(str(error)) from None
    except AskbackError as error:
        raise WorkerFailed(str(error)) from None
    except Exception:
        raise WorkerFailed(f"A worker process failed:\n{traceback.format_exc()}") from None


async def _play(shift: _Shift, places: int) -> None:
    global _serving
    task = asyncio.current_task()
    assert task is not None
    _serving = asyncio.get_running_loop(), task
    async with LogWriter(shift.path, durable=False) as log, shift.seats(log, places) as seats:
        await play_jobs(
            load_machine(shift.benchmark),
            seats,
            log,
            shift.take,
            places=places,
            tell=lambda ending, scores: shift.endings.put((ending, tuple(scores))),
        )
