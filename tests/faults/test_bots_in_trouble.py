"""A server full of participants that is killed, cut off, locked out of its log or out of disk loses nothing.

Bots take part over HTTP; the command that lets them says at its end what was lost, doubled or not booked.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from random import Random

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "browser"))  # serving

from serving import REPOSITORY, Server, free_port

# Whoever has lost their partner waits a grace and then for another; both times are all that the last ones do.
PAIRED = """
seats: [seeker, provider]
setup: H2H
pairing: {wait_minutes: 0.2, grace_seconds: 20, after_loss: wait}
sets_per_participant: 1
"""
ALONE = """
seat: seeker
setup: H2L
sets_per_participant: 2
"""
STUDY = """
id: troubled
title: In trouble
benchmark: clarq
language: en
{seats}
settings: {{data: builtin, split: test, turn_limit: 6}}
judgments_per_item: 5
completion_codes: {{complete: C, returned: R, paid_exit: P}}
"""
HABITS = ("--leave", "0.01", "--reload", "0.1", "--twice", "0.2")
LONGEST = 540.0
"""Seconds that bots may take on a machine that is busy with other things."""


@pytest.fixture
def troubled(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Server]:
    (tmp_path / "study.yaml").write_text(STUDY.format(seats=request.param), encoding="utf-8")
    server = Server(tmp_path, free_port(), studies=(tmp_path / "study.yaml",))
    server.start()
    yield server
    server.kill()


class Bots:
    """The command, in a process of its own.

    Args:
        server: that they are sent to.
        n: how many.
        url: where they reach it; default: directly.
    """

    def __init__(self, server: Server, n: int, *, think: float = 0.0, url: str = "") -> None:
        study = str(server.home / "study.yaml")
        words = ["study", "bots", study, "--n", str(n), "--think", str(think), *HABITS]
        words += ["--site", url or server.url, "--log", str(server.log)]
        self._log = server.log
        self._process = subprocess.Popen(
            [sys.executable, "app.py", *words],
            cwd=REPOSITORY,
            env=server.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._until = time.monotonic() + LONGEST

    def say(self, more: int) -> bool:
        """Wait until the log has so many turns more; False if they have come to their end before."""
        until = self._turns() + more
        while self._turns() < until and self.are_there:
            time.sleep(0.05)
        return self.are_there

    @property
    def are_there(self) -> bool:
        """Return True if bots are still active; they must not be for ever."""
        assert time.monotonic() < self._until, "the bots come to no end"
        return self._process.poll() is None

    def end(self) -> str:
        """Wait for their end; what the command says of it."""
        try:
            output, _ = self._process.communicate(timeout=self._until - time.monotonic())
        finally:
            self._process.kill()
        assert self._process.returncode == 0, output
        assert "0 acknowledged turns lost, 0 doubled; the books balance" in output
        return output

    def _turns(self) -> int:
        with contextlib.closing(sqlite3.connect(f"file:{self._log}?mode=ro", uri=True)) as connection:
            return int(connection.execute("SELECT count(*) FROM turns").fetchone()[0])


def kill(server: Server, bots: Bots, times: int, turns: int) -> int:
    """Kill the server after so many turns, again and again; how often it was."""
    killed = 0
    while killed < times and bots.say(turns):
        server.kill()
        server.start()
        killed += 1
    return killed


def refusals(server: Server) -> str:
    """Return the output of the server."""
    return (server.home / "server.txt").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("troubled", [PAIRED, ALONE], indirect=True, ids=["paired", "alone"])
def test_fifty_outlive_a_server_that_is_killed_every_few_seconds(troubled: Server) -> None:
    bots = Bots(troubled, 50, think=1.0)
    assert kill(troubled, bots, 3, 60) >= 2
    assert "done" in bots.end()


def hold(server: Server, seconds: float) -> None:
    """Hold the log as another process that writes."""
    with contextlib.closing(sqlite3.connect(server.log, isolation_level=None)) as other:
        other.execute("PRAGMA busy_timeout = 10000")
        other.execute("BEGIN IMMEDIATE")
        time.sleep(seconds)
        other.execute("ROLLBACK")


def fill_disk(server: Server, seconds: float) -> None:
    """Let none of the log's files grow."""
    assert server.process is not None
    files = [server.log, server.log.with_name(server.log.name + "-wal")]
    full = max(os.path.getsize(file) for file in files if file.exists())
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (full, resource.RLIM_INFINITY))
    time.sleep(seconds)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, unlimited)


@contextlib.asynccontextmanager
async def bad_line(port: int, cut: float) -> AsyncIterator[str]:
    """Pass on what goes to a port; some answers are cut off, at their beginning or in the middle."""
    random = Random(0)

    async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, cuts: bool) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                if cuts and random.random() < cut:
                    writer.write(data[: random.randrange(len(data))])
                    break
                writer.write(data)
                await writer.drain()
        writer.close()

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pipe(reader, back, cuts=False), pipe(there, writer, cuts=True))

    async with await asyncio.start_server(connect, "127.0.0.1", 0) as listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="needs Linux, which limits files of a process")
@pytest.mark.parametrize("troubled", [PAIRED], indirect=True)
async def test_a_bad_line_a_log_that_is_held_and_a_full_disk_lose_nothing(troubled: Server) -> None:
    async with bad_line(troubled.port, 0.05) as url:
        bots = Bots(troubled, 20, url=url)
        # The log also for longer than the server waits.
        for trouble, seconds in ((hold, 1.0), (fill_disk, 3.0), (hold, 12.0), (fill_disk, 3.0)):
            assert await asyncio.to_thread(bots.say, 20)
            await asyncio.to_thread(trouble, troubled, seconds)
        await asyncio.to_thread(bots.end)
    assert "database is locked" in refusals(troubled)
    assert "The disk failed" in refusals(troubled)
