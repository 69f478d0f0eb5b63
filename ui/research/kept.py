"""Results that pages have made of runs, kept for as long as the runs stand as they did."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final, TypeVar

from logs import LogReader

T = TypeVar("T")
_GROWING: Final = ("turns", "endings", "judgments", "scores")


class CachedReports:
    """Results made of runs, made again only when they have changed; may be used from any thread.

    Args:
        reader: of the log.
        size: how much is kept, what was asked for last.
    """

    def __init__(self, reader: LogReader, size: int = 24) -> None:
        self.reader = reader
        self._size = size
        self._lock = threading.Lock()
        self._busy: dict[Hashable, threading.Lock] = {}
        self._made: OrderedDict[Hashable, tuple[Hashable, Any]] = OrderedDict()

    def once(self, name: Hashable, runs: str | Iterable[str], make: Callable[[], T]) -> T:
        """Return what `make` makes of runs as they now are; who asks for the same meanwhile waits for it."""
        place, state = self._place(name, runs)
        with self._lock:
            busy = self._busy.setdefault(place, threading.Lock())
        with busy:
            with self._lock:
                if self._made.get(place, (None,))[0] == state:
                    self._made.move_to_end(place)
                    return self._made[place][1]  # type: ignore[no-any-return]
            try:
                made = make()
            except Exception:
                with self._lock:
                    self._busy.pop(place, None)
                raise
            with self._lock:
                self._made[place] = state, made
                self._made.move_to_end(place)
                while len(self._made) > self._size:
                    self._busy.pop(self._made.popitem(last=False)[0], None)
            return made

    def has(self, name: Hashable, runs: str | Iterable[str]) -> bool:
        """Return True if `once` would answer at once."""
        place, state = self._place(name, runs)
        with self._lock:
            return self._made.get(place, (None,))[0] == state

    def _place(self, name: Hashable, runs: str | Iterable[str]) -> tuple[Hashable, Hashable]:
        named = (runs,) if isinstance(runs, str) else tuple(runs)
        return (name, named), (*map(self._state, named), self._everywhere())

    def _state(self, run: str) -> tuple[int, ...]:
        of_run = "episode_id IN (SELECT id FROM episodes WHERE run_id = :run)"
        counts = ", ".join(f"(SELECT count(*) FROM {table} WHERE {of_run})" for table in _GROWING)
        query = f"SELECT (SELECT count(*) FROM episodes WHERE run_id = :run), {counts}"
        with self.reader.connection() as connection:
            return tuple(connection.execute(query, {"run": run}).fetchone())

    def _everywhere(self) -> tuple[int, int]:
        """Return what runs rest on besides: judgments of items, and who has been erased (rows stay)."""
        query = "SELECT count(*) FROM judgments WHERE episode_id IS NULL"
        with self.reader.connection() as connection:
            (count,) = connection.execute(query).fetchone()
        return count, hash(self.reader.uncounted_participants())
