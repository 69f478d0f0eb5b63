"""How processes of this machine are started, and how one ended that was not to."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.context import ForkServerContext, SpawnContext
from pathlib import Path
from time import sleep
from types import ModuleType


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
