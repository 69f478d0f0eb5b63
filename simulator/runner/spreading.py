"""Distribution of work over processes or a cluster, with results in the order of the jobs.

Also the helpers that start worker processes and explain why one exited.
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
from simulator.runner.options import Engine, processor_count

J = TypeVar("J")
R = TypeVar("R")
# Jobs submitted per process beyond the first unfinished one.
_AHEAD: Final = 8
# Seconds of work per task on a cluster, where sending a task costs about a millisecond.
_TASK_SECONDS: Final = 0.1
_MOST_JOBS: Final = 32
_A_CORE: Final = {"num_cpus": 1.0}


def in_order(
    work: Callable[[J], R], jobs: Iterator[J], engine: Engine, resources: Mapping[str, float] = _A_CORE
) -> Iterator[R]:
    """Return ``map(work, jobs)`` over several processes, of this machine or a cluster.

    Args:
        work: a module-level function, which may be called again for the same job.
        jobs: may be endless; each is taken shortly before it is needed, so that it can depend on earlier
            results.
        engine: where the work runs; by default in this process, or on all nodes of a cluster.
        resources: what a job needs of a cluster's node.

    Raises:
        WorkerFailed: if a process was killed or exited.
        InputError: if the cluster cannot be reached, or no node has the resources.
        Exception: any error of `work`.
    """
    if engine.is_ray:
        return _on_cluster(work, jobs, engine, resources)
    if engine.is_here or engine.workers is None:
        return map(work, jobs)
    return _in_processes(work, jobs, engine.workers)


def in_own_process(work: Callable[[J], R], job: J) -> R:
    """Return ``work(job)`` from a process of its own, for work that holds Python's lock; see `in_order`."""
    (result,) = _in_processes(work, iter([job]), 1)
    return result


def _in_processes(work: Callable[[J], R], jobs: Iterator[J], workers: int) -> Iterator[R]:
    # A fork would copy locks that threads hold (those of the log's writer and the progress bar).
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
            f"A worker process {describe_exit(pool)}; the same command continues. If memory ran out, use "
            "fewer --workers. A script that starts this must do so under `if __name__ == '__main__':`."
        ) from error
    finally:
        # Results of running jobs are not needed any more, so neither Ctrl-C nor the end waits for them.
        processes = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


def _follow_parent() -> None:
    """Exit when the parent exits, and ignore Ctrl-C, which a terminal sends to all processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    Thread(target=wait, daemon=True).start()


class _GroupResult(NamedTuple):
    results: list[Any]
    seconds: float


def _do_jobs(work: Callable[[J], R], jobs: Sequence[J]) -> _GroupResult:
    start = time.perf_counter()
    return _GroupResult([work(job) for job in jobs], time.perf_counter() - start)


def _on_cluster(
    work: Callable[[J], R], jobs: Iterator[J], engine: Engine, resources: Mapping[str, float]
) -> Iterator[R]:
    """Yield the results of tasks, which Ray schedules, and reschedules if a node is lost."""
    from simulator.runner.cluster.connecting import actor_options, connect, living_nodes, places_for

    with connect(engine.address) as ray:
        offered = sum(places_for(resources, node) for node in living_nodes(ray))
        if not offered:
            needed = ", ".join(f"{name} {amount:g}" for name, amount in resources.items())
            raise InputError(f"--executor {engine.executor}: no node of the cluster has {needed}.")
        places = min(offered, engine.workers or offered)
        task, size = ray.remote(**actor_options(resources))(_do_jobs), 1
        waiting: deque[Any] = deque()
        try:
            while True:
                while len(waiting) < 2 * places and (group := list(islice(jobs, size))):
                    waiting.append(task.remote(work, group))
                if not waiting:
                    return
                group_result = ray.get(waiting[0])
                waiting.popleft()
                yield from group_result.results
                mean = max(group_result.seconds / len(group_result.results), 1e-6)
                size = max(1, min(_MOST_JOBS, round(_TASK_SECONDS / mean)))
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError) as error:
            raise WorkerFailed(
                f"Processes of the cluster were lost repeatedly ({error}); the same command continues."
            ) from error
        finally:
            for reference in waiting:
                ray.cancel(reference, force=True)


def engine_of(executor: str, workers: int | None, *, worth: bool) -> Engine:
    """Return the engine: as requested, else one process per processor if the work is `worth` starting them.

    Raises:
        InputError: if there is no such executor.
    """
    engine = Engine(executor=executor, workers=workers)
    if engine.is_ray or workers is not None or not worth:
        return engine
    return Engine(workers=processor_count())


def start_context(*modules: str) -> ForkServerContext | SpawnContext:
    """Return the start method of workers: a fork server that has imported `modules`, if the system has one.

    Forking this process would copy its threads' locks, and importing takes a worker two seconds.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*modules, *_start_file_imports()])
    return context


def _start_file_imports() -> Iterator[str]:
    """Yield the modules that the main script imports, since every worker runs its top level again."""
    for value in vars(sys.modules["__main__"]).values():
        name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(name, str) and name in sys.modules and name != "__main__":
            yield name


@contextmanager
def worker_environment() -> Iterator[None]:
    """Let processes started within the context import from this one's path, and ignore Ctrl-C.

    Otherwise the fork server would search the working directory first, where a folder called ``logs`` is
    common.
    """
    variables = {
        "PYTHONSAFEPATH": "1",
        "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path),
    }
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
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


def describe_exit(pool: ProcessPoolExecutor) -> str:
    """Describe the exit of the process that broke a pool; the pool ends the others with SIGTERM."""
    codes: set[int] = set()
    for process in (pool._processes or {}).values():
        while (code := process.exitcode) is None:  # the pool's thread is about to end and reap it
            sleep(0.01)
        codes.add(code)
    if statuses := [code for code in codes if code > 0]:
        return f"exited with status {statuses[0]} (its error is above)"
    killed = min((code for code in codes if code < 0), key=lambda code: code == -signal.SIGTERM)
    return f"was killed by {signal.Signals(-killed).name}"
