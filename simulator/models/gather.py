"""Calls that come at about the same time, gathered and read in batches, in a model's own thread.

Each call waits in a queue and books the thread for one round. The first round finds whatever has come by
then, reads all of it in batches of about the same length, and hands every result back as soon as it is there;
rounds that find the queue empty are nothing. Other work of the thread has its turn between two rounds.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from simulator.models.forward import Look, Row, batches

_Asked = TypeVar("_Asked")

# Seconds a round waits for calls that were begun together; a pass takes many times as long.
_GATHERING: Final = 0.005


@dataclass(slots=True, eq=False)
class _Call(Generic[_Asked]):
    """A call that waits; `given_up` once nobody waits for it any more."""

    asked: _Asked
    future: Future[tuple[list[Row], list[list[Look]]]] = field(default_factory=Future)
    rows: list[Row] = field(default_factory=list)
    looks: dict[int, list[Look]] = field(default_factory=dict)
    given_up: bool = False

    @property
    def open(self) -> bool:
        return not self.given_up and not self.future.done()


class Gatherer(Generic[_Asked]):
    """Reads what is asked for in batches; usable from several event loops at a time."""

    def __init__(
        self,
        thread: ThreadPoolExecutor,
        rows_of: Callable[[_Asked], list[Row]],
        read: Callable[[Sequence[Row]], list[list[Look]]],
        budget: int,
    ) -> None:
        """Gather calls.

        Args:
            thread: one thread, in which `rows_of` and `read` run.
            rows_of: what has to be read for a call; may raise.
            read: one pass over a batch; may raise.
            budget: tokens in a batch at most.
        """
        self._thread = thread
        self._rows_of = rows_of
        self._read = read
        self._budget = budget
        self._waiting: list[_Call[_Asked]] = []
        self._lock = threading.Lock()
        self._closed = False

    async def __call__(self, asked: _Asked) -> tuple[list[Row], list[list[Look]]]:
        """The rows that had to be read, and what was found in each.

        Raises:
            Exception: whatever `rows_of` or `read` raised.
        """
        call = _Call(asked)
        with self._lock:
            self._waiting.append(call)
        self._thread.submit(self._round)
        try:
            return await asyncio.wrap_future(call.future)
        finally:
            call.given_up = True

    def close(self) -> None:
        """Have what waits fail; call it when the thread is shut down."""
        with self._lock:
            self._closed = True
            calls, self._waiting = self._waiting, []
        for call in calls:
            call.future.cancel()

    def _round(self) -> None:
        if not self._waiting:
            return
        time.sleep(_GATHERING)
        with self._lock:
            gathered, self._waiting = self._waiting, []
        calls = [call for call in gathered if call.future.set_running_or_notify_cancel()]
        for call in calls:
            try:
                call.rows = self._rows_of(call.asked)
            except Exception as error:
                call.future.set_exception(error)
        rows = [(call, number) for call in calls for number in range(len(call.rows))]
        for batch in batches([call.rows[number] for call, number in rows], self._budget):
            wanted = [rows[index] for index in batch if rows[index][0].open]
            if wanted:
                self._pass(wanted)

    def _pass(self, wanted: Sequence[tuple[_Call[_Asked], int]]) -> None:
        try:
            if self._closed:
                raise RuntimeError("the model was closed while it was asked")
            found = self._read([call.rows[number] for call, number in wanted])
        except Exception as error:
            for call, _ in wanted:
                if not call.future.done():
                    call.future.set_exception(error)
            return
        for (call, number), looks in zip(wanted, found, strict=True):
            call.looks[number] = looks
            if len(call.looks) == len(call.rows):
                call.future.set_result((call.rows, [call.looks[each] for each in range(len(call.rows))]))
