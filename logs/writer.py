"""The writer of a log: a thread that commits rows in groups.

Callers use `LogWriter.put` or await `LogWriter.write`, from any thread or event loop, and get the outcome
once the row is committed. The thread takes all waiting rows, writes them in one transaction and resolves
their outcomes. With ``durable=True`` (people's turns), a group is what arrived during the previous commit,
and a commit survives a power loss. With ``durable=False`` (batch runs), rows are collected for up to
`group_seconds`, and a commit survives the death of the process. An idle writer sleeps.
"""

from __future__ import annotations

import asyncio
import os
import queue
import sqlite3
import threading
import weakref
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Self

from logs.codec import Values
from logs.connect import BUSY_SECONDS, connect_for_writing, log_error
from logs.errors import LogError, NotInLog
from logs.insert import Entry, Written, insert_group
from logs.relay import Inboxes, Outcome, Posted, Receipt, Reply, RowSink, Sent, ToTask, Unread
from logs.rows import Row
from logs.schema import BY_NAME, Table
from logs.shorten import Shortener

__all__ = ["LogWriter", "Posted", "Written"]

# Bounds how long a flood of rows can delay the commit of the first.
_GROUP_ROWS = 2048

_Job = tuple[Entry | None, Reply]
_FLUSHED = Written(duplicate=False)


class LogWriter(RowSink):
    """Writes rows to a log. Thread-safe; several processes may have the same file open."""

    def __init__(
        self,
        path: Path,
        *,
        durable: bool,
        group_seconds: float = 0.05,
        busy_seconds: float = BUSY_SECONDS,
    ) -> None:
        """Open the log at `path`, and create or migrate it if necessary.

        Args:
            path: the file.
            durable: True if a commit must survive a power loss; rows are then committed immediately.
            group_seconds: seconds for which rows are collected otherwise.
            busy_seconds: seconds to wait for another process that is writing.

        Raises:
            NotALog: if the file is not a log.
            NewerLog: if its schema is newer than this program.
            LogError: if it cannot be opened or written.
        """
        self.path = Path(path)
        connection = connect_for_writing(self.path, durable=durable, busy_seconds=busy_seconds)
        self._worker = _Worker(self.path, connection, 0.0 if durable else group_seconds)
        self._unread = self._worker.unread
        # Waiting rows are still written at exit, or when the writer is garbage-collected.
        self._finalizer = weakref.finalize(self, self._worker.stop)

    def put(self, row: Row) -> Future[Written]:
        """Queue `row` to be written, without waiting; the future resolves after the commit.

        The row is encoded here, so its dicts may be changed afterwards. An error that is not read from the
        future is raised by the next flush or close.

        Raises:
            LogError: if the writer is closed. The future raises `LogConflict` if the row contradicts one in
                the log, `NotInLog` if it has a missing reference, `LogError` if it cannot be written.
        """
        receipt = Receipt()
        self._submit(row, receipt)
        return receipt

    async def write_all(self, rows: Sequence[Sent]) -> list[Outcome]:
        """Write rows from a `Relay`; return their outcomes once committed."""
        reply = ToTask(asyncio.get_running_loop(), len(rows))
        for table, values in rows:
            self._worker.submit(((BY_NAME[table], values), reply))
        return await reply.future if rows else []

    def _take(self, table: Table, values: Values, reply: Reply) -> None:
        self._worker.submit(((table, values), reply))

    def flush(self) -> None:
        """Wait until all rows so far are committed.

        Raises:
            LogError: if a row was not written and its error has not been read yet.
        """
        receipt = Receipt()
        self._worker.submit((None, receipt), hurry=True)
        receipt.result()
        self._unread.raise_first()

    async def aflush(self) -> None:
        """Wait until all rows so far are committed; see `RowSink.aflush`."""
        reply = ToTask(asyncio.get_running_loop())
        self._worker.submit((None, reply), hurry=True)
        await reply.future
        self._unread.raise_first()

    def close(self) -> None:
        """Commit waiting rows, end the thread and close the file. Closing twice does nothing.

        Raises:
            LogError: if a row was not written and its error has not been read yet.
        """
        self._finalizer()
        self._unread.raise_first()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._close_after(error)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        await asyncio.to_thread(self._close_after, error)

    def _close_after(self, error: BaseException | None) -> None:
        try:
            self.close()
        except LogError as unread:
            if error is None:
                raise
            error.add_note(f"In addition, {unread}")


class _Worker:
    """The thread and its data. It does not refer to the `LogWriter`, which can thus be garbage-collected."""

    def __init__(self, path: Path, connection: sqlite3.Connection, group_seconds: float) -> None:
        self.unread = Unread()
        self._path = path
        self._file = _identity(path)
        self._connection = connection
        self._shortener = Shortener()
        self._group_seconds = group_seconds
        # None ends the thread.
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._hurry = threading.Event()
        self._lost: LogError | None = None
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=f"log writer {path.name}", daemon=True)
        self._thread.start()

    def submit(self, job: _Job, *, hurry: bool = False) -> None:
        with self._lock:
            if self._closed:
                raise LogError(f"the log {self._path} is closed")
            self._jobs.put(job)
        if hurry or self._jobs.qsize() >= _GROUP_ROWS:
            self._hurry.set()

    def stop(self) -> None:
        with self._lock:
            if not self._closed:
                self._closed = True
                self._jobs.put(None)
        self._hurry.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while self._round():
                pass
        finally:
            self._connection.close()

    def _round(self) -> bool:
        """Wait for a row, collect a group and commit it; return False if it was the last."""
        job = self._jobs.get()
        if self._group_seconds and job is not None:
            self._hurry.wait(self._group_seconds)
            self._hurry.clear()
        jobs: list[_Job] = []
        while job is not None:
            jobs.append(job)
            if len(jobs) > _GROUP_ROWS or self._jobs.empty():
                break
            job = self._jobs.get()
        self._resolve(jobs, self._commit([entry for entry, _ in jobs if entry is not None]))
        return job is not None

    def _commit(self, entries: list[Entry]) -> list[Outcome]:
        """Write rows in one transaction and return their outcomes. Never raises."""
        if not entries:
            return []
        try:
            if _identity(self._path) != self._file:
                raise LogError(f"the log {self._path} was moved or deleted while open. Restart Askback.")
            self._connection.execute("BEGIN IMMEDIATE")
            outcomes = insert_group(self._connection, entries, self._shortener)
            self._connection.execute("COMMIT")
        except Exception as error:
            self._roll_back()
            failure = error if isinstance(error, LogError) else log_error(self._path, error)
            self._lost = self._lost or failure
            return [failure] * len(entries)
        # After rows were lost, a missing reference is probably one of them: report the cause.
        return [
            self._lost if self._lost and isinstance(outcome, NotInLog) else outcome for outcome in outcomes
        ]

    def _roll_back(self) -> None:
        self._shortener.forget()
        # After some errors SQLite has already rolled back; after others it cannot even do that.
        if self._connection.in_transaction:
            try:
                self._connection.execute("ROLLBACK")
            except sqlite3.Error as error:
                self.unread.add(log_error(self._path, error, "roll back"), lambda: False)

    def _resolve(self, jobs: list[_Job], outcomes: list[Outcome]) -> None:
        inboxes = Inboxes(self.unread)
        remaining = iter(outcomes)
        for entry, reply in jobs:
            reply.resolve(_FLUSHED if entry is None else next(remaining), inboxes)
        inboxes.deliver()


def _identity(path: Path) -> tuple[int, int] | None:
    """Return an identifier of the file at `path` (device, inode); None if there is no file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
