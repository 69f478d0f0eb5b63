"""The life of the writer's thread: rows reach the disk even if their caller is gone."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from logs import LogConflict, LogError, LogReader, LogWriter
from logs.insert import Written
from logs.rows import Turn

MakeTurn = Callable[..., Turn]


async def test_write_waits_for_the_commit(writer: LogWriter, reader: LogReader, turn: MakeTurn) -> None:
    assert await writer.write(turn()) == Written(False)
    assert len(reader.turns("e0")) == 1
    assert (await writer.write(turn())).duplicate
    with pytest.raises(LogConflict):
        await writer.write(turn(text="Which saw?"))
    with pytest.raises(LogError, match="not JSON"):
        await writer.write(turn(1, payload={"x": {1, 2}}))


async def test_cancelling_the_caller_does_not_take_the_row_back(
    path: Path, ground: Callable[..., None], turn: MakeTurn
) -> None:
    async with LogWriter(path, durable=False, group_seconds=0.2) as writer:
        ground(writer)
        task = asyncio.create_task(writer.write(turn()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await writer.aflush()
        with LogReader(path) as reader:
            assert len(reader.turns("e0")) == 1


def test_a_closed_loop_does_not_stop_the_writer(
    path: Path, ground: Callable[..., None], turn: MakeTurn
) -> None:
    with LogWriter(path, durable=False, group_seconds=0.2) as writer:
        ground(writer)
        loop = asyncio.new_event_loop()
        task = loop.create_task(writer.write(turn()))
        loop.run_until_complete(asyncio.sleep(0))
        task.cancel()
        loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
        loop.close()
        assert writer.put(turn(1)).result() == Written(False)


def test_a_cancelled_future_is_written_all_the_same(
    path: Path, ground: Callable[..., None], turn: MakeTurn
) -> None:
    with LogWriter(path, durable=False, group_seconds=0.2) as writer:
        ground(writer)
        assert writer.put(turn()).cancel()
    with LogReader(path) as reader:
        assert len(reader.turns("e0")) == 1


def test_a_forgotten_writer_still_writes_and_ends_its_thread(
    path: Path, ground: Callable[..., None], turn: MakeTurn
) -> None:
    before = threading.active_count()
    writer = LogWriter(path, durable=False, group_seconds=5)
    ground(writer)
    writer.put(turn())
    del writer
    gc.collect()
    assert threading.active_count() == before
    with LogReader(path) as reader:
        assert len(reader.turns("e0")) == 1


def test_a_program_that_ends_without_closing_loses_nothing(path: Path, ground: Callable[..., None]) -> None:
    with LogWriter(path, durable=True) as writer:
        ground(writer)
    program = (
        "import sys; from pathlib import Path; from logs import LogWriter; from logs.rows import Turn\n"
        "writer = LogWriter(Path(sys.argv[1]), durable=False, group_seconds=30)\n"
        "writer.put(Turn(episode_id='e0', number=0, seat='s', text='last'))\n"
    )
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", program, str(path)], check=True, cwd=root, timeout=60)
    with LogReader(path) as reader:
        assert [line.text for line in reader.turns("e0")] == ["last"]


def test_flush_does_not_wait_for_the_group_to_fill(
    path: Path, ground: Callable[..., None], turn: MakeTurn
) -> None:
    with LogWriter(path, durable=False, group_seconds=3600) as writer:
        ground(writer)
        receipt = writer.put(turn())
        writer.flush()
        assert receipt.done()


def test_an_idle_writer_sleeps(writer: LogWriter) -> None:
    # Writers of other tests in this process may still be there; this one's is the newest.
    *_, thread = [thread for thread in threading.enumerate() if thread.name.startswith("log writer")]
    clock = f"/proc/self/task/{thread.native_id}/schedstat"
    if not os.path.exists(clock):
        pytest.skip("needs Linux, whose /proc counts how often a thread was run")
    writer.flush()

    def runs() -> int:
        return int(Path(clock).read_text().split()[2])

    threading.Event().wait(0.05)
    before = runs()
    threading.Event().wait(0.3)
    assert runs() - before <= 1
