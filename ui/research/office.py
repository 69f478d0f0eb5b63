"""Resources of the researchers' pages: log, models, processes and caches."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from logs import LogReader, LogWriter
from simulator.models import ModelOptions
from simulator.runner.processes import RunProcesses

T = TypeVar("T")
_GROWING: Final = ("turns", "endings", "judgments", "scores")


@dataclass(eq=False)
class _Result:
    """A cached result; `state` is that of the log when it was computed."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    state: Hashable = None
    value: Any = None


class CachedReports:
    """A thread-safe LRU cache of results computed from runs; a result is valid until its runs change."""

    def __init__(self, reader: LogReader, size: int = 24) -> None:
        self.reader = reader
        self._size = size
        self._lock = threading.Lock()
        self._results: OrderedDict[Hashable, _Result] = OrderedDict()

    def get(self, name: Hashable, runs: str | Iterable[str], make: Callable[[], T]) -> T:
        """Return the cached result for runs, or compute it by `make`; concurrent callers wait for it."""
        key, state = self._key(name, runs)
        with self._lock:
            result = self._results.setdefault(key, _Result())
            self._results.move_to_end(key)
            if len(self._results) > self._size:
                self._results.popitem(last=False)
        with result.lock:
            if result.state != state:
                try:
                    result.value, result.state = make(), state
                except Exception:
                    with self._lock:  # what failed takes no place
                        self._results.pop(key, None)
                    raise
            return result.value  # type: ignore[no-any-return]

    def is_current(self, name: Hashable, runs: str | Iterable[str]) -> bool:
        """Return True if `get` would return a cached result."""
        key, state = self._key(name, runs)
        with self._lock:
            return key in self._results and self._results[key].state == state

    def _key(self, name: Hashable, runs: str | Iterable[str]) -> tuple[Hashable, Hashable]:
        """Return the key of a result, and the state of the log that it depends on."""
        ids = (runs,) if isinstance(runs, str) else tuple(runs)
        return (name, ids), (*map(self._state, ids), self._state_of_log())

    def _state(self, run: str) -> tuple[int, ...]:
        of_run = "episode_id IN (SELECT id FROM episodes WHERE run_id = :run)"
        counts = ", ".join(f"(SELECT count(*) FROM {table} WHERE {of_run})" for table in _GROWING)
        query = f"SELECT (SELECT count(*) FROM episodes WHERE run_id = :run), {counts}"
        with self.reader.connection() as connection:
            return tuple(connection.execute(query, {"run": run}).fetchone())

    def _state_of_log(self) -> tuple[int, int]:
        """Return what all runs depend on: judgments of items, and which participants do not count."""
        query = "SELECT count(*) FROM judgments WHERE episode_id IS NULL"
        with self.reader.connection() as connection:
            (count,) = connection.execute(query).fetchone()
        return count, hash(self.reader.uncounted_participants())


@dataclass(frozen=True, kw_only=True)
class Office:
    """The log, models, processes and caches; `headlines` are those of the list of runs: many and small."""

    writer: LogWriter
    reader: LogReader
    models: ModelOptions
    offered: Sequence[str]
    processes: RunProcesses
    cache: CachedReports = field(init=False)
    headlines: CachedReports = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cache", CachedReports(self.reader))
        object.__setattr__(self, "headlines", CachedReports(self.reader, 5_000))
