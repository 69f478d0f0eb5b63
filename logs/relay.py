"""Transport of rows to the writer of a log, and of their outcomes back to the callers.

A `Relay` stands in for a log that another process writes: it sends rows there in groups, which are
acknowledged once they are committed.
"""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Protocol

from logs.codec import Values, encode, table_of
from logs.errors import LogError
from logs.insert import Written
from logs.rows import Row
from logs.schema import Table

Outcome = Written | LogError
Sent = tuple[str, Values]
"""A row as it is sent: its table and its stored values, which take a tenth of the time to pickle."""
Send = Callable[[Sequence[Sent]], Awaitable[Sequence[Outcome]]]
"""Has a group of rows written; returns each row's outcome."""


class RowSink(ABC):
    """A destination of rows: a `LogWriter`, or a `Relay` to one."""

    _unread: Unread

    def post(self, row: Row, posted: Posted | None = None) -> None:
        """Queue `row` to be written, without waiting and without a future: for large numbers of rows.

        An error goes to `posted`, or else is raised by the next flush or close.

        Raises:
            LogError: if the log is closed.
        """
        self._submit(row, posted or Posted())

    async def write(self, row: Row) -> Written:
        """Write `row` and wait until it is committed.

        Cancelling the caller does not take the row back.

        Raises:
            LogConflict: if the row contradicts one in the log.
            NotInLog: if it refers to something that is not in the log.
            LogError: if it cannot be written, or the log is closed.
        """
        reply = ToTask(asyncio.get_running_loop())
        self._submit(row, reply)
        (outcome,) = await reply.future
        if isinstance(outcome, LogError):
            raise outcome
        return outcome

    @abstractmethod
    async def aflush(self) -> None:
        """Wait until all rows so far are committed.

        Raises:
            LogError: if a row was not written and its error has not been read yet.
        """

    def _submit(self, row: Row, reply: Reply) -> None:
        try:
            table, values = table_of(row), encode(row)
        except LogError as error:
            inboxes = Inboxes(self._unread)
            reply.resolve(error, inboxes)
            inboxes.deliver()
            return
        self._take(table, values, reply)

    @abstractmethod
    def _take(self, table: Table, values: Values, reply: Reply) -> None:
        """Queue the values of a row to be written."""


class Relay(RowSink):
    """Sends rows to the writer in order, one group at a time. For use on one event loop."""

    def __init__(self, send: Send, *, group_seconds: float = 0.1) -> None:
        """Collect rows for up to `group_seconds`, or while the previous group is being sent."""
        self._send = send
        self._group_seconds = group_seconds
        self._waiting: list[tuple[Sent, Reply]] = []
        self._committed: asyncio.Future[None] | None = None
        self._sending: asyncio.Task[None] | None = None
        self._unread = Unread()

    async def aflush(self) -> None:
        """Wait until all rows so far are committed; see `RowSink.aflush`."""
        if self._committed is not None:  # of the latest group; earlier ones were sent before it
            await asyncio.shield(self._committed)
        self._unread.raise_first()

    def _take(self, table: Table, values: Values, reply: Reply) -> None:
        if not self._waiting:
            self._committed = asyncio.get_running_loop().create_future()
        self._waiting.append(((table.name, values), reply))
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._deliver())

    async def _deliver(self) -> None:
        while self._waiting:
            await asyncio.sleep(self._group_seconds)
            group, self._waiting, committed = self._waiting, [], self._committed
            try:
                outcomes = await self._send([row for row, _ in group])
            except Exception as error:
                outcomes = [LogError(f"the writer of the log cannot be reached: {error}")] * len(group)
            inboxes = Inboxes(self._unread)
            for (_, reply), outcome in zip(group, outcomes, strict=True):
                reply.resolve(outcome, inboxes)
            inboxes.deliver()
            assert committed is not None
            committed.set_result(None)


# Errors that are stored; further ones are only counted.
_MOST_ERRORS = 100


class Reply(Protocol):
    """The receiver of a row's outcome."""

    def resolve(self, outcome: Outcome, inboxes: Inboxes) -> None:
        """Pass the outcome on, immediately or through `inboxes`."""
        ...


class Unread:
    """Errors that have not been read; the next flush or close raises them, so that none is lost."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._errors: list[tuple[Callable[[], bool], LogError]] = []
        self._dropped = 0

    def add(self, error: LogError, was_read: Callable[[], bool]) -> None:
        """Store `error` until `was_read` returns True."""
        with self._lock:
            self._errors.append((was_read, error))
            if len(self._errors) > _MOST_ERRORS:
                self._errors = [entry for entry in self._errors if not entry[0]()]
            if len(self._errors) > _MOST_ERRORS:
                self._errors.pop()
                self._dropped += 1

    def raise_first(self) -> None:
        """Raise the first unread error, and clear all.

        Raises:
            LogError: if there is an unread error.
        """
        with self._lock:
            unread = [error for was_read, error in self._errors if not was_read()]
            others = len(unread) - 1 + self._dropped
            self._errors, self._dropped = [], 0
        if not unread:
            return
        more = f" ({others} more rows were not written either)" if others else ""
        raise type(unread[0])(f"{unread[0]}{more}", **unread[0].named) from unread[0]


class Receipt(Future[Written]):
    """A future that knows whether its outcome has been read."""

    def __init__(self) -> None:
        super().__init__()
        self.read = False

    def result(self, timeout: float | None = None) -> Written:
        """Return the row's outcome."""
        self.read = True
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Return the row's error; None if it was written."""
        self.read = True
        return super().exception(timeout)

    def resolve(self, outcome: Outcome, inboxes: Inboxes) -> None:
        """Set the row's outcome, unless the receipt has been cancelled."""
        if not self.set_running_or_notify_cancel():
            if isinstance(outcome, LogError):
                inboxes.unread.add(outcome, lambda: False)
        elif isinstance(outcome, LogError):
            inboxes.unread.add(outcome, lambda: self.read)
            self.set_exception(outcome)
        else:
            self.set_result(outcome)


class Posted:
    """The outcome of several posted rows, checked together at the end."""

    __slots__ = ("_error", "_read")

    def __init__(self) -> None:
        self._error: LogError | None = None
        self._read = False

    def resolve(self, outcome: Outcome, inboxes: Inboxes) -> None:
        """Store the first error."""
        if isinstance(outcome, LogError):
            self._error = self._error or outcome
            inboxes.unread.add(outcome, lambda: self._read)

    def check(self) -> None:
        """Check that all rows whose outcome is known were written.

        Raises:
            LogError: the first error.
        """
        self._read = True
        if self._error is not None:
            raise self._error


class ToTask:
    """A future on an event loop, for a task that awaits the outcomes of one or more rows together."""

    __slots__ = ("_rows", "future", "loop", "outcomes")

    def __init__(self, loop: asyncio.AbstractEventLoop, rows: int = 1) -> None:
        self.loop = loop
        self.future: asyncio.Future[list[Outcome]] = loop.create_future()
        self.outcomes: list[Outcome] = []
        self._rows = rows

    def resolve(self, outcome: Outcome, inboxes: Inboxes) -> None:
        """Add the outcome of the next row; after the last one, leave them all for the loop to pick up."""
        self.outcomes.append(outcome)
        if len(self.outcomes) == self._rows:
            inboxes.leave(self)


class Inboxes:
    """Collects a group's outcomes, so that each event loop is woken only once."""

    def __init__(self, unread: Unread) -> None:
        self.unread = unread
        self._by_loop: dict[asyncio.AbstractEventLoop, list[ToTask]] = {}

    def leave(self, reply: ToTask) -> None:
        """Store a complete reply for its loop."""
        self._by_loop.setdefault(reply.loop, []).append(reply)

    def deliver(self) -> None:
        """Wake each loop. Errors for closed loops stay unread."""
        for loop, replies in self._by_loop.items():
            try:
                loop.call_soon_threadsafe(_resolve, replies, self.unread)
            except RuntimeError:
                _add_errors(replies, self.unread)
        self._by_loop = {}


def _resolve(replies: list[ToTask], unread: Unread) -> None:
    for reply in replies:
        if reply.future.done():
            _add_errors([reply], unread)
        else:
            reply.future.set_result(reply.outcomes)


def _add_errors(replies: Iterable[ToTask], unread: Unread) -> None:
    for reply in replies:
        for outcome in reply.outcomes:
            if isinstance(outcome, LogError):
                unread.add(outcome, lambda: False)
