"""Copies of a log that others may be writing, and putting one back.

A copy is one moment of the log, taken by SQLite itself; nobody has to wait for it. The key that pseudonyms
are made with goes along (`logs.pseudonym`). Who is erased from the log afterwards stands in copies still.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from logs.connect import connect_for_writing, log_error
from logs.errors import LogError
from logs.paths import drafted
from logs.pseudonym import key_path
from logs.reader import LogReader


def back_up(log: Path, target: Path) -> None:
    """Copy a log and its key, while others write it.

    Args:
        log: the log.
        target: where to; its key lies beside it, as that of a log does.

    Raises:
        LogError: if there is a file already, the log cannot be read, or the copy cannot be written.
    """
    for taken in (target, key_path(target)):
        if taken.exists():
            raise LogError(f"{taken} is there already: choose another name.")
    target.parent.mkdir(parents=True, exist_ok=True)
    with LogReader(log) as reader, _draft(target) as draft:
        try:
            with reader.connection() as source, closing(sqlite3.connect(draft)) as copy:
                # All at once: page by page it would begin anew whenever somebody writes.
                source.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")
                (verdict,) = copy.execute("PRAGMA quick_check(1)").fetchone()
        except sqlite3.Error as error:
            raise log_error(log, error, "copy") from error
        if verdict != "ok":
            raise LogError(f"the copy of {log} would be damaged: {verdict}.")
        if key_path(log).exists():
            with _draft(key_path(target)) as key:
                shutil.copyfile(key_path(log), key)


def restore(backup: Path, log: Path, *, replace: bool = False) -> Path | None:
    """Put a copy in the place of a log.

    Args:
        backup: the copy; its key lies beside it.
        log: the log, which nobody may be using.
        replace: if there is one already, keep it under another name. Otherwise that is an error.

    Returns:
        Where the log is now that was there before; None if there was none.

    Raises:
        LogError: if there is a log, and nobody said that it may be replaced, or it is in use; or `backup` is
            no log.
    """
    LogReader(backup).close()
    aside = None
    if log.exists() or key_path(log).exists():
        aside = log.with_name(f"{log.name}.{datetime.now(UTC):%Y%m%dT%H%M%S%f}")
        if not replace:
            raise LogError(
                f"there is a log at {log} already. Name another file with --log, or say --replace: then the "
                f"one that is there is kept beside it, as {log.name}.TIME."
            )
        _require_unused(log)
        for old, new in ((log, aside), (key_path(log), key_path(aside))):
            if old.exists():
                old.rename(new)
    back_up(backup, log)
    return aside


def _require_unused(log: Path) -> None:
    """Bring all of a log into its one file.

    Raises:
        LogError: if another program has it open.
    """
    if not log.exists():
        return
    with closing(connect_for_writing(log, durable=True, busy_seconds=1.0)) as connection:
        try:
            # Leaving write-ahead logging is possible for the only one who has the file open.
            connection.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.Error as error:
            raise log_error(log, error, "replace") from error


@contextlib.contextmanager
def _draft(target: Path) -> Iterator[Path]:
    """Give a file to be filled, which only its owner may read; it is at `target` once it is whole."""
    try:
        with drafted(target) as draft:
            yield draft
    except OSError as error:
        raise LogError(f"cannot write {target}: {error}") from error
