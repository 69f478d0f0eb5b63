"""Where Askback keeps what belongs to the user (the log, registered data, settings), and how files get there.

A file is in its place whole, or not at all; of several processes the first one's stays (`drafted`).
"""

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
    """Return the user's Askback folder: ``$ASKBACK_HOME``, else the usual place. It may not be there yet."""
    chosen = os.environ.get(HOME_VARIABLE)
    return Path(chosen).expanduser() if chosen else platformdirs.user_data_path("askback", appauthor=False)


def default_path() -> Path:
    """Return ``$ASKBACK_LOG``, else ``log.sqlite`` in the user's Askback folder."""
    chosen = os.environ.get(LOG_VARIABLE)
    return Path(chosen).expanduser() if chosen else home() / "log.sqlite"


@contextmanager
def drafted(target: Path, *, mode: int = 0o600) -> Iterator[Path]:
    """Give an empty file beside `target` to be filled; it is at `target` once it is whole and on disk.

    `mode`: who may read it; default: its owner alone.

    Raises:
        FileExistsError: there is a file at `target`, which stays.
        OSError: it cannot be written, or the disk knows no links.
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
