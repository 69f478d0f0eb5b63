from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from logs import LogReader, LogWriter

ROOT = Path(__file__).parents[2]
KILLS, FEW_KILLS = 15, 5

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a Unix, which can fork and kill")


def acknowledged_by_killed(forker: subprocess.Popen[str], after: int) -> list[tuple[int, int]]:
    """Start a child, kill it after so many acknowledgments, and return all it has given."""
    assert forker.stdin and forker.stdout
    forker.stdin.write("\n")
    forker.stdin.flush()
    process, acknowledged = 0, []
    while (line := forker.stdout.readline().split()) != ["gone"]:
        assert line, "the forking process has died"
        if line[0] == "pid":
            process = int(line[1])
        else:
            acknowledged.append((int(line[0]), int(line[1])))
        if process and len(acknowledged) >= after:
            os.kill(process, signal.SIGKILL)
            after = sys.maxsize
    return acknowledged


@pytest.mark.parametrize("mode", ["durable", "batch"])
def test_no_acknowledged_turn_is_lost_or_doubled_by_kill(
    path: Path, ground: Callable[..., None], mode: str, thorough: bool
) -> None:
    kills = KILLS if thorough else FEW_KILLS
    with LogWriter(path, durable=True) as writer:
        ground(writer, episodes=5)
    chance = random.Random(mode)
    acknowledged: set[tuple[int, int]] = set()
    with subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("crash_writer.py")), str(path), mode],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as forker:
        for _ in range(kills):
            acknowledged |= set(acknowledged_by_killed(forker, chance.randrange(1, 80)))
            with LogReader(path) as reader:
                there = [
                    (int(played.episode.id[1:]), turn)
                    for played in reader.turns_of_run("run")
                    for turn in played.turns
                ]
            places = [(episode, turn.number) for episode, turn in there]
            assert len(places) == len(set(places))
            assert acknowledged <= set(places)
            for episode, turn in there:
                assert turn.text == f"{episode}/{turn.number} " + "x" * (turn.number * 7 % 900)
        assert forker.stdin
        forker.stdin.close()
    for episode in range(5):
        numbers = sorted(number for played, number in places if played == episode)
        assert numbers == list(range(len(numbers)))
    assert len(acknowledged) > 7 * kills
    check = sqlite3.connect(path)
    assert check.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert check.execute("PRAGMA foreign_key_check").fetchall() == []
    check.close()
