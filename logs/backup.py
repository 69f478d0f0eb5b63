"""Backup of a log that is in use, and its restoration.

SQLite makes a consistent copy without blocking writers. The key of the pseudonyms is copied, too
(`logs.pseudonym`). People who are erased from the log later are still in earlier copies.
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
from logs.errors import LogError, NotALog
from logs.paths import atomic_draft
from logs.pseudonym import key_path
from logs.reader import LogReader


def back_up(log: Path, target: Path) -> None:
    """Copy a log and its key, even while it is being written.

    Args:
        log: the log.
        target: the copy; its key is written next to it, as for a log.

    Raises:
        LogError: if the target exists, the log cannot be read, or the copy cannot be written.
    """
    for path in (target, key_path(target)):
        if path.exists():
            raise LogError(f"{path} already exists: choose another name.")
    with LogReader(log) as reader, _draft(target) as draft:
        with reader.connection() as source, closing(sqlite3.connect(draft)) as copy:
            try:
                copy.execute("PRAGMA journal_mode = OFF")  # a copy that fails leaves no journal
                # In one step: page by page, the copy would start over at every write.
                source.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")
                (verdict,) = copy.execute("PRAGMA quick_check(1)").fetchone()
            except sqlite3.Error as error:
                raise log_error(target, error) from error
        if verdict != "ok":
            raise LogError(f"the copy of {log} is damaged: {verdict}.")
        if key_path(log).exists():
            with _draft(key_path(target)) as key:
                shutil.copyfile(key_path(log), key)


def restore(backup: Path, log: Path, *, replace: bool = False) -> Path | None:
    """Restore a log from a copy.

    Args:
        backup: the copy, with its key next to it.
        log: the log, which no program may have open.
        replace: keep an existing log under another name; if False, an existing log is an error.

    Returns:
        The new path of the previous log; None if there was none.

    Raises:
        LogError: if there is a log and `replace` is False, or it is in use; or if `backup` is not a log.
    """
    aside = log.with_name(f"{log.name}.{datetime.now(UTC):%Y%m%dT%H%M%S%f}")
    names = ((log, aside), (key_path(log), key_path(aside)))
    moved = [(old, new) for old, new in names if old.exists()]
    if moved and not replace:
        raise LogError(
            f"there is already a log at {log}. Name another file with --log, or use --replace, which "
            f"keeps the existing one as {log.name}.TIME."
        )
    LogReader(backup).close()
    _require_unused(log)
    try:
        for old, new in moved:
            old.rename(new)
        back_up(backup, log)
    except BaseException as error:  # also Ctrl-C
        for old, new in moved:
            if new.exists():
                new.rename(old)
        if isinstance(error, OSError):
            raise LogError(f"cannot move {log}: {error.strerror}") from error
        raise
    return aside if moved else None


def _require_unused(log: Path) -> None:
    """Check that no program has a log open, and merge its write-ahead log into the file."""
    if not log.exists():
        return
    try:
        opened = connect_for_writing(log, durable=True, busy_seconds=1.0)
    except NotALog:  # damaged, which is when one restores
        return
    with closing(opened) as connection:
        try:
            # SQLite only leaves write-ahead logging if no other connection is open.
            connection.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.Error as error:
            raise log_error(log, error, "replace") from error


@contextlib.contextmanager
def _draft(target: Path) -> Iterator[Path]:
    """Yield `atomic_draft(target)`, with errors as `LogError`. Missing folders are made."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_draft(target) as draft:
            yield draft
    except OSError as error:
        raise LogError(f"cannot write {target}: {error.strerror}") from error
