"""A failure is reported once, to its waiting caller or at the end, and the writer continues."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from logs import LogConflict, LogError, LogReader, LogWriter
from logs.insert import Written
from logs.rows import Turn

MakeTurn = Callable[..., Turn]


def test_an_error_nobody_reads_is_raised_by_flush_once(writer: LogWriter, turn: MakeTurn) -> None:
    writer.put(turn(5))
    writer.put(turn(6))
    with pytest.raises(LogConflict, match=r"the next is turn 0.* \(1 more row"):
        writer.flush()
    writer.flush()


def test_an_error_somebody_reads_is_not_raised_again(writer: LogWriter, turn: MakeTurn) -> None:
    with pytest.raises(LogConflict):
        writer.put(turn(5)).result()
    writer.flush()


def test_errors_that_were_read_are_forgotten_and_a_flood_is_counted(
    writer: LogWriter, turn: MakeTurn
) -> None:
    for _ in range(300):
        writer.put(turn(5)).exception()
    assert len(writer._worker.unread._errors) <= 101
    for _ in range(300):
        writer.put(turn(5))
    with pytest.raises(LogConflict, match=r"\(299 more rows"):
        writer.flush()


def test_close_raises_what_nobody_has_read(path: Path, ground: Callable[..., None], turn: MakeTurn) -> None:
    writer = LogWriter(path, durable=True)
    ground(writer)
    writer.put(turn(5))
    with pytest.raises(LogConflict):
        writer.close()
    writer.close()
    with pytest.raises(LogError, match="is closed"):
        writer.put(turn())


def test_an_error_in_the_block_is_not_hidden_by_one_of_the_log(
    path: Path, ground: Callable[..., None], turn: MakeTurn
) -> None:
    with pytest.raises(ZeroDivisionError) as caught, LogWriter(path, durable=True) as writer:
        ground(writer)
        writer.put(turn(5))
        1 / 0  # noqa: B018
    assert "the next is turn 0" in caught.value.__notes__[0]


def test_a_log_that_is_moved_away_is_an_error_not_a_hole(writer: LogWriter, turn: MakeTurn) -> None:
    writer.path.rename(writer.path.with_name("elsewhere.sqlite"))
    with pytest.raises(LogError, match="moved or deleted"):
        writer.put(turn()).result()
    writer.path.with_name("elsewhere.sqlite").rename(writer.path)
    assert writer.put(turn()).result() == Written(False)


def test_a_held_file_is_an_error_that_names_it_and_then_it_goes_on(
    path: Path, ground: Callable[..., None], turn: MakeTurn
) -> None:
    with LogWriter(path, durable=True, busy_seconds=0.05) as writer:
        ground(writer)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        waiting = [writer.put(turn()), writer.put(turn())]
        for receipt in waiting:
            with pytest.raises(LogError, match=r"log\.sqlite.*locked.*Another program is using"):
                receipt.result()
        other.execute("ROLLBACK")
        other.close()
        assert writer.put(turn()).result() == Written(False)


FULL = """
import resource, signal, sys
from pathlib import Path
from logs import LogError, LogWriter
from logs.rows import Turn
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path = Path(sys.argv[1])
with LogWriter(path, durable=True) as writer:
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
    for n in range(10):
        writer.put(Turn(episode_id="e0", number=n, seat="s", text="acknowledged")).result()
    receipts = [writer.put(Turn(episode_id="e0", number=n, seat="s", text="x" * 5000)) for n in range(10, 99)]
    outcomes = [receipt.exception() for receipt in receipts]
    assert any(outcomes), "the disk was not full"
    assert all(outcome is None or isinstance(outcome, LogError) for outcome in outcomes)
    first = next(outcome for outcome in outcomes if outcome)
    assert str(path) in str(first) and "disk" in str(first), first
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    kept = 10 + sum(outcome is None for outcome in outcomes)
    writer.put(Turn(episode_id="e0", number=kept, seat="s", text="there is room again")).result()
print(kept)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a Unix, which can limit the size of files")
def test_a_full_disk_is_told_to_everybody_and_what_was_acknowledged_stays(
    path: Path, ground: Callable[..., None]
) -> None:
    with LogWriter(path, durable=True) as writer:
        ground(writer)
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path)], cwd=root, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    with LogReader(path) as reader:
        turns = reader.turns("e0")
    assert len(turns) == int(done.stdout) + 1
    assert turns[-1].text == "there is room again"
