"""The user's Askback folder (log, registered data, settings), and atomic file creation (`atomic_draft`)."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

LOG_VARIABLE = "ASKBACK_LOG"
HOME_VARIABLE = "ASKBACK_HOME"


def home() -> Path:
    """Return the user's Askback folder, which may not exist yet: ``$ASKBACK_HOME``, else the platform's."""
    chosen = os.environ.get(HOME_VARIABLE)
    return Path(chosen).expanduser() if chosen else platformdirs.user_data_path("askback", appauthor=False)


def default_path() -> Path:
    """Return ``$ASKBACK_LOG``, else ``log.sqlite`` in the user's Askback folder."""
    chosen = os.environ.get(LOG_VARIABLE)
    return Path(chosen).expanduser() if chosen else home() / "log.sqlite"


@contextmanager
def atomic_draft(target: Path, *, mode: int = 0o600) -> Iterator[Path]:
    """Yield an empty file to fill; it appears at `target` atomically, once it is complete and on disk.

    Of several processes, the first one's file stays. `mode`: its permissions; by default only for its owner.

    Raises:
        FileExistsError: if there is a file at `target`, which stays.
        OSError: if the file cannot be written, or the file system has no hard links.
    """
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
        yield draft
        descriptor = os.open(draft, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
        os.link(draft, target)
    finally:
        draft.unlink(missing_ok=True)
