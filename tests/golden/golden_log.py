"""The golden log: played anew with the program as it is, packed, and unpacked for a test."""

from __future__ import annotations

import asyncio
import lzma
import os
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from unittest import mock

HERE = Path(__file__).parent
PACKED = HERE / "log.sqlite.xz"
KEY = bytes(range(32))  # of the pseudonyms


@dataclass(frozen=True)
class Told:
    """What a command said."""

    status: int
    out: str
    err: str


def askback(words: Sequence[str]) -> Told:
    """Carry out a command in this process, as the shell would."""
    import app

    out, err = StringIO(), StringIO()
    status = 0
    with mock.patch.object(sys, "argv", ["askback", *words]), redirect_stdout(out), redirect_stderr(err):
        try:
            app.main()
        except SystemExit as exit:
            status = exit.code if isinstance(exit.code, int) else int(exit.code is not None)
    return Told(status, out.getvalue(), err.getvalue())


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


def pack(log: Path, packed: Path = PACKED) -> None:
    """Pack a log; equal logs give equal files."""
    slim = log.with_name("slim.sqlite")
    slim.unlink(missing_ok=True)
    with closing(sqlite3.connect(log)) as connection:
        connection.execute("VACUUM INTO ?", [str(slim)])
    with closing(sqlite3.connect(slim)) as connection, connection:
        # The one time that is not the program's own.
        connection.execute("UPDATE _sqlite_migrations SET applied_at = '2026-01-05 09:00:00'")
    packed.write_bytes(lzma.compress(slim.read_bytes(), preset=9 | lzma.PRESET_EXTREME))


def play_log(home: Path) -> Path:
    """Play the golden log with today's program."""
    from played_people import World, play_people
    from played_runs import BROKEN, SILENT, play_runs
    from ruled_model import answer
    from steady import steady

    from logs import LogReader, LogWriter

    async def people(log: Path) -> None:
        with LogWriter(log, durable=False, group_seconds=0.0) as writer, LogReader(log) as reader:
            await play_people(World.of(writer, reader))
            writer.flush()

    def play(line: str) -> None:
        told = askback(line.split())
        wrong = any(name in line for name in (BROKEN, SILENT, "ambient-model"))
        if told.status and not wrong:
            raise RuntimeError(f"askback {line}: exit status {told.status}\n{told.out}\n{told.err}")

    with at_home(home) as log, steady(answer):
        play_runs(play, Path("files"))
        asyncio.run(people(log))
        play("study erase ambient-linguists")
    return log
