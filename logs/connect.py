"""Connections to a log: for writing (creating or migrating it if necessary) and for reading."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path

from logs.errors import LogError, NewerLog, NotALog
from logs.migrations import APPLICATION_ID, SCHEMA_VERSION, apply_migrations
from logs.paths import atomic_draft
from logs.shorten import Connection, add_functions

BUSY_SECONDS = 10.0
"""Seconds to wait for another process that is writing."""

_MAKING_SECONDS = 2.0
"""Seconds that another process may take to create the file and write its first page."""

_WAYS_OUT = {
    "SQLITE_FULL": "The disk is full: free some space, then run the same command again.",
    "SQLITE_BUSY": "Another program is using the file: close it, then try again.",
    "SQLITE_LOCKED": "Another program is using the file: close it, then try again.",
    "SQLITE_READONLY": "The file is read-only: change its permissions, or name another with --log.",
    "SQLITE_CANTOPEN": "Check that the folder exists and is writable, or name another file with --log.",
    "SQLITE_PERM": "Change the file's permissions, or name another file with --log.",
    "SQLITE_IOERR": "The disk failed: check whether it is full, over its quota or unplugged, then try again.",
    "SQLITE_CORRUPT": "The file is damaged: restore a backup, or save the rest with `sqlite3 FILE .recover`.",
    "SQLITE_NOTADB": "The file is damaged or not SQLite: restore a backup, or name another with --log.",
}


_UNWRITABLE = ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")


def error_name(error: sqlite3.Error) -> str:
    """Return SQLite's name of an error without its extension (``SQLITE_FULL``); empty if unknown."""
    name = getattr(error, "sqlite_errorname", None) or ""
    return "_".join(name.split("_")[:2])


def log_error(path: Path, error: Exception, doing: str = "write to") -> LogError:
    """Return a `LogError` for an error of SQLite or the system, with the file and the way out."""
    way_out = _WAYS_OUT.get(error_name(error), "") if isinstance(error, sqlite3.Error) else ""
    return LogError(f"cannot {doing} the log {path}: {error}. {way_out}".rstrip())


def _check(path: Path, connection: sqlite3.Connection, doing: str) -> int:
    """Return the schema version of an open file; 0 if it is empty."""
    try:
        # In one query, since another process may be creating the log right now.
        application, version, objects = connection.execute(
            "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master) "
            "FROM pragma_application_id, pragma_user_version"
        ).fetchone()
    except sqlite3.DatabaseError as error:
        if error_name(error) == "SQLITE_NOTADB":
            raise NotALog(
                f"{path} is not a log of Askback (not an SQLite file). Name another file with --log."
            ) from error
        raise log_error(path, error, doing) from error
    if application != APPLICATION_ID:
        if objects == 0 and application == 0:
            return 0
        raise NotALog(f"{path} is an SQLite file, but not a log of Askback. Name another file with --log.")
    if version > SCHEMA_VERSION:
        raise NewerLog(
            f"{path} was written by a newer Askback (its schema is {version}, this program knows "
            f"{SCHEMA_VERSION}). Update Askback, or name another file with --log."
        )
    return int(version)


def _connect(path: Path, mode: str, busy_seconds: float) -> sqlite3.Connection:
    try:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?{mode}",
            uri=True,
            timeout=busy_seconds,
            isolation_level=None,
            check_same_thread=False,
            factory=Connection,
        )
        add_functions(connection)
        return connection
    except sqlite3.Error as error:
        raise log_error(path, error, "open") from error


def connect_for_writing(
    path: Path, *, durable: bool, busy_seconds: float = BUSY_SECONDS
) -> sqlite3.Connection:
    """Open `path` for writing; create it, or migrate its schema, if necessary.

    Args:
        path: the file; missing folders are created.
        durable: True if a commit must survive a power loss, False if only the death of the process.
        busy_seconds: seconds to wait for other processes.

    Raises:
        NotALog: if the file is not a log.
        NewerLog: if its schema is newer than this program.
        LogError: if it cannot be opened or written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LogError(
            f"cannot create the folder of the log {path} ({error.strerror}). Name another file with --log."
        ) from error
    if not path.exists():
        _make(path)
    _refuse_empty(path, min(busy_seconds, _MAKING_SECONDS))
    connection = _connect(path, "mode=rwc", busy_seconds)
    try:
        version = _check(path, connection, "write to")
        _use_wal(connection, busy_seconds)
        connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
        connection.execute("PRAGMA fullfsync = ON")
        connection.execute("PRAGMA foreign_keys = ON")
        if version < SCHEMA_VERSION:
            apply_migrations(connection)
    except sqlite3.Error as error:
        connection.close()
        raise log_error(path, error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def check_writable(path: Path) -> None:
    """Check that a commit to the log at `path` succeeds now; nothing in it changes.

    Raises:
        LogError: if the log is missing or not writable, or the disk is full.
    """
    if not path.is_file():
        raise LogError(f"the log {path} is gone: it was moved or deleted while Askback was running.")
    connection = connect_for_writing(path, durable=True, busy_seconds=_MAKING_SECONDS)
    try:
        # Setting the same number again writes and commits a page without changing its content.
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise log_error(path, error) from error
    finally:
        connection.close()


def _make(path: Path) -> None:
    """Create a database without tables, so that a killed process never leaves an empty file (see below).

    If this fails, or another process is first, SQLite reports it when the file is opened.
    """
    with (
        suppress(OSError, sqlite3.Error),
        atomic_draft(path, mode=0o666) as draft,
        closing(sqlite3.connect(draft)) as connection,
    ):
        connection.execute("PRAGMA journal_mode = WAL")


def _refuse_empty(path: Path, patience: float) -> None:
    """Refuse an empty file: a log that has lost all its data must not be mistaken for a new one."""
    deadline = time.monotonic() + patience
    while path.is_file() and path.stat().st_size == 0:
        if time.monotonic() > deadline:
            raise NotALog(
                f"{path} exists but is empty (0 bytes), so its content is lost, perhaps by an interrupted "
                "copy. Restore a backup, name another file with --log, or delete it to start a new log."
            )
        time.sleep(0.02)


def _use_wal(connection: sqlite3.Connection, busy_seconds: float) -> None:
    """Switch to write-ahead logging, and wait for other processes, which SQLite does not do here."""
    deadline = time.monotonic() + busy_seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error_name(error) != "SQLITE_BUSY" or time.monotonic() > deadline:
                raise
        time.sleep(0.01)


def connect_for_reading(path: Path, *, busy_seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
    """Open `path` for reading only.

    A log on a read-only medium can be read if it was closed properly.

    Raises:
        NotALog: if the file is not a log, or does not exist.
        NewerLog: if its schema is newer than this program.
        LogError: if it cannot be read.
    """
    if not path.is_file():
        raise NotALog(f"there is no log at {path}. Play or run something first, or name the file with --log.")
    version, connection = _open_checked(path, busy_seconds)
    if version < SCHEMA_VERSION:
        connection.close()
        connect_for_writing(path, durable=True, busy_seconds=busy_seconds).close()
        _, connection = _open_checked(path, busy_seconds)
    return connection


def _open_checked(path: Path, busy_seconds: float) -> tuple[int, sqlite3.Connection]:
    """Return the schema version and a connection for reading."""
    try:
        return _open_as(path, "mode=ro", busy_seconds)
    except LogError as error:
        cause = error.__cause__
        if not isinstance(cause, sqlite3.Error) or error_name(cause) not in _UNWRITABLE or _has_wal(path):
            raise
    # Where SQLite cannot create its -shm file, it only opens a WAL database that is declared immutable.
    return _open_as(path, "immutable=1", busy_seconds)


def _open_as(path: Path, mode: str, busy_seconds: float) -> tuple[int, sqlite3.Connection]:
    connection = _connect(path, mode, busy_seconds)
    try:
        return _check(path, connection, "read"), connection
    except BaseException:
        connection.close()
        raise


def _has_wal(path: Path) -> bool:
    wal = path.with_name(path.name + "-wal")
    return wal.exists() and wal.stat().st_size > 0
