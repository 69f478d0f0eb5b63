"""A log whose file another process writes: rows are sent there in groups, and acknowledged once committed."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from logs.codec import Values, encode, table_of
from logs.errors import LogError
from logs.insert import Written
from logs.replies import Inboxes, Outcome, Posted, Reply, ToTask, Unread
from logs.rows import Row
from logs.schema import Table

Sent = tuple[str, Values]
"""A row as it is sent: its table, and its values as they are stored; a tenth of the work of pickling it."""
Send = Callable[[Sequence[Sent], bool], Awaitable[Sequence[Outcome]]]
"""Has a group of rows written, at once if the second argument says so; what became of each."""


class RowSink(ABC):
    """Whatever takes the rows of episodes that are played: a `LogWriter`, or a `Relay` to one."""

    _unread: Unread

    def post(self, row: Row, posted: Posted | None = None) -> None:
        """Have `row` written; returns at once, without a future: for rows that come by the thousand.

        `posted` learns of an error; else the next flush or close raises it.

        Raises:
            LogError: the log is closed.
        """
        self._submit(row, posted or Posted())

    async def write(self, row: Row) -> Written:
        """Write `row` and wait until it is committed.

        Cancelling the caller does not take the row back.

        Raises:
            LogConflict: the row contradicts one that is there.
            NotInLog: it points to something that is not in the log.
            LogError: it cannot be written, or the log is closed.
        """
        reply = ToTask(asyncio.get_running_loop())
        self._submit(row, reply)
        return await reply.future

    @abstractmethod
    async def aflush(self) -> None:
        """Wait until everything so far is committed.

        Raises:
            LogError: something was not written and nobody has read that yet.
        """

    def _submit(self, row: Row, reply: Reply) -> None:
        try:
            table, values = table_of(row), encode(row)
        except LogError as error:
            inboxes = Inboxes(self._unread)
            reply.tell(error, inboxes)
            inboxes.deliver()
            return
        self._take(table, values, reply)

    @abstractmethod
    def _take(self, table: Table, values: Values, reply: Reply) -> None:
        """Have the values of a row written."""


class Relay(RowSink):
    """Sends rows to the one writer, in their order, one group at a time. Belongs to one event loop."""

    def __init__(self, send: Send, *, group_seconds: float = 0.05) -> None:
        """Send what has gathered for up to `group_seconds`, or while the group before was being sent."""
        self._send = send
        self._group_seconds = group_seconds
        self._waiting: list[tuple[Sent, Reply]] = []
        self._hurry = asyncio.Event()
        self._sending: asyncio.Task[None] | None = None
        self._unread = Unread()

    async def aflush(self) -> None:
        """Wait until everything so far is committed; see `RowSink.aflush`."""
        while self._sending is not None and not self._sending.done():
            self._hurry.set()
            await asyncio.shield(self._sending)
        self._unread.raise_first()

    def _take(self, table: Table, values: Values, reply: Reply) -> None:
        self._waiting.append(((table.name, values), reply))
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._deliver())

    async def _deliver(self) -> None:
        while self._waiting:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), self._group_seconds)
            hurry = self._hurry.is_set()
            self._hurry.clear()
            group, self._waiting = self._waiting, []
            try:
                outcomes = await self._send([row for row, _ in group], hurry)
            except Exception as error:
                outcomes = [LogError(f"the writer of the log cannot be reached: {error}")] * len(group)
            inboxes = Inboxes(self._unread)
            for (_, reply), outcome in zip(group, outcomes, strict=True):
                reply.tell(outcome, inboxes)
            inboxes.deliver()
