"""Work spread over processes or a cluster, its results in the order of the jobs.

How processes of this machine are started, and how one ended that was not to, stands below.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from multiprocessing import get_context, parent_process
from multiprocessing.context import ForkServerContext, SpawnContext
from pathlib import Path
from threading import Thread
from time import sleep
from types import ModuleType
from typing import Any, Final, NamedTuple, TypeVar

from simulator.errors import InputError, WorkerFailed
from simulator.runner.options import Engine, processors

J = TypeVar("J")
R = TypeVar("R")
# Jobs that may be out or done beyond the first unfinished one, for each process.
_AHEAD: Final = 8
# On a cluster a task is sent for about a millisecond: so many seconds of work at once make that little.
_TASK_SECONDS: Final = 0.1
_MOST_JOBS: Final = 32
_A_CORE: Final = {"num_cpus": 1.0}


def in_order(
    work: Callable[[J], R], jobs: Iterator[J], engine: Engine, resources: Mapping[str, float] = _A_CORE
) -> Iterator[R]:
    """Return ``map(work, jobs)`` over several processes, of this machine or a cluster.

    Args:
        work: a function of a module, which can be called again without harm.
        jobs: may be endless; each is taken when it is soon to be done, so whoever makes them may already know
            of earlier results.
        engine: who works; by default this process alone, or all that a cluster has.
        resources: what a job takes of a node of the cluster.

    Raises:
        WorkerFailed: if a process was ended from outside, or ended by itself.
        InputError: if the cluster cannot be reached, or no node has the resources.
        Exception: whatever `work` raised.
    """
    if engine.is_ray:
        return _on_cluster(work, jobs, engine, resources)
    if engine.is_here or engine.workers is None:
        return map(work, jobs)
    return _in_processes(work, jobs, engine.workers)


def _in_processes(work: Callable[[J], R], jobs: Iterator[J], workers: int) -> Iterator[R]:
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
        raise WorkerFailed(
            f"A worker process was ended {ending_of(pool)}; the same command continues. If memory was short, "
            "take fewer --workers. Where a script starts this, its work belongs under "
            "`if __name__ == '__main__':`."
        ) from error
    finally:
        # What they are at now is of no use any more: neither Ctrl-C nor the last episode waits for it.
        processes = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


def _follow_parent() -> None:
    """End this process when its parent has ended, and leave Ctrl-C, which a terminal sends to all, to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    Thread(target=wait, daemon=True).start()


class _Done(NamedTuple):
    results: list[Any]
    seconds: float


def _do_jobs(work: Callable[[J], R], jobs: Sequence[J]) -> _Done:
    start = time.perf_counter()
    return _Done([work(job) for job in jobs], time.perf_counter() - start)


def _on_cluster(
    work: Callable[[J], R], jobs: Iterator[J], engine: Engine, resources: Mapping[str, float]
) -> Iterator[R]:
    """Yield results of tasks, which Ray sends where there is room, and again if a node is lost."""
    from simulator.runner.cluster.connecting import actor_options, connected, living_nodes, places_for

    with connected(engine.address) as ray:
        offered = sum(places_for(resources, node) for node in living_nodes(ray))
        if not offered:
            wants = ", ".join(f"{name} {amount:g}" for name, amount in resources.items())
            raise InputError(f"--executor {engine.executor}: no node of the cluster has {wants}.")
        places = min(offered, engine.workers or offered)
        task, size = ray.remote(**actor_options(resources))(_do_jobs), 1
        waiting: deque[Any] = deque()
        try:
            while True:
                while len(waiting) < 2 * places and (group := list(islice(jobs, size))):
                    waiting.append(task.remote(work, group))
                if not waiting:
                    return
                done = ray.get(waiting[0])
                waiting.popleft()
                yield from done.results
                mean = max(done.seconds / len(done.results), 1e-6)
                size = max(1, min(_MOST_JOBS, round(_TASK_SECONDS / mean)))
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError) as error:
            raise WorkerFailed(
                f"Processes of the cluster were lost again and again ({error}); the same command continues."
            ) from error
        finally:
            for reference in waiting:
                ray.cancel(reference, force=True)


def engine_of(executor: str, workers: int | None, *, worth: bool) -> Engine:
    """Return who works: as asked for, else every processor if it is `worth` a second of starting them.

    Raises:
        InputError: if there is no such executor.
    """
    engine = Engine(executor=executor, workers=workers)
    if engine.is_ray or workers is not None or not worth:
        return engine
    return Engine(workers=processors())


def start_context(*modules: str) -> ForkServerContext | SpawnContext:
    """Return how processes begin: forked off a server that has imported `modules` once, where there is one.

    Forking this process itself would copy its threads' locks, and importing takes a worker two seconds.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*modules, *_start_file_imports()])
    return context


def _start_file_imports() -> Iterator[str]:
    """Yield what the program's start file imports: every worker runs that file's top level again."""
    for value in vars(sys.modules["__main__"]).values():
        name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(name, str) and name in sys.modules and name != "__main__":
            yield name


@contextmanager
def quietly() -> Iterator[None]:
    """Start processes that import from where this one does, and inherit that Ctrl-C is not for them.

    The server that workers are forked off would otherwise look into the working directory first, where a
    folder called ``logs`` is nothing unusual.
    """
    ours = {
        "PYTHONSAFEPATH": "1",
        "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path),
    }
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    can_block = hasattr(signal, "pthread_sigmask")
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if can_block else set()
    try:
        yield
    finally:
        if can_block:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def ending_of(pool: ProcessPoolExecutor) -> str:
    """Return how the process ended that broke a pool; the pool itself ends the others by SIGTERM."""
    codes: set[int] = set()
    for process in (pool._processes or {}).values():
        while (code := process.exitcode) is None:  # the pool's thread is about to end and to reap it
            sleep(0.01)
        codes.add(code)
    if by_itself := [code for code in codes if code > 0]:
        return f"by itself, with status {by_itself[0]}; why stands above"
    killed = min((code for code in codes if code < 0), key=lambda code: code == -signal.SIGTERM)
    return f"from outside, by {signal.Signals(-killed).name}"
