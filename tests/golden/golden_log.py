"""The golden log, which an older version has played: runs and people of every benchmark and kind of seat.

It stays as it is. What played it is in the repository's history (`git log -- tests/golden/played_runs.py`).
"""

from __future__ import annotations

import lzma
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from unittest import mock

HERE = Path(__file__).parent
PACKED = HERE / "log.sqlite.xz"
KEY = bytes(range(32))  # of the pseudonyms


@dataclass(frozen=True)
class CommandResult:
    """The output of a command."""

    status: int
    out: str
    err: str


def askback(words: Sequence[str]) -> CommandResult:
    """Carry out a command in this process, as the shell would."""
    import app

    out, err = StringIO(), StringIO()
    status = 0
    with mock.patch.object(sys, "argv", ["askback", *words]), redirect_stdout(out), redirect_stderr(err):
        try:
            app.main()
        except SystemExit as exit:
            status = exit.code if isinstance(exit.code, int) else int(exit.code is not None)
    return CommandResult(status, out.getvalue(), err.getvalue())


@contextmanager
def at_home(home: Path) -> Iterator[Path]:
    """Work in an Askback folder whose log is `home`/log.sqlite; it yields the log's path."""
    home.mkdir(parents=True, exist_ok=True)
    log, before = home / "log.sqlite", Path.cwd()
    ours = {
        "ASKBACK_HOME": str(home),
        "ASKBACK_LOG": str(log),
        "COLUMNS": "200",
        "NO_COLOR": "1",
        "OPENAI_API_KEY": "none",
    }
    key = log.with_name(log.name + ".key")
    if not key.exists():
        key.touch(mode=0o600)
        key.write_bytes(KEY)
    with mock.patch.dict(os.environ, ours):
        for name in ("ASKBACK_PRICES", "ASKBACK_PERSONAS", "OPENAI_BASE_URL"):
            os.environ.pop(name, None)
        os.chdir(home)
        try:
            yield log
        finally:
            os.chdir(before)


def unpack(home: Path) -> Path:
    """Put the golden log into an Askback folder."""
    home.mkdir(parents=True, exist_ok=True)
    log = home / "log.sqlite"
    log.write_bytes(lzma.decompress(PACKED.read_bytes()))
    return log
