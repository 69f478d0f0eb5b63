"""The command line, stopped with Ctrl-C or killed, and given again."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from logs import LogError, LogReader

ROOT = Path(__file__).parents[2]
COMMAND = [
    *(sys.executable, str(ROOT / "app.py"), "run", "clarq", "--run", "night"),
    *("--seeker", "offline/seeker", "--provider", "offline/experts"),
]
PLANNED = 62

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to look at processes"),
]


def start(log: Path, home: Path, workers: int) -> subprocess.Popen[str]:
    """The command, in a process group of its own, as a shell would start it."""
    return subprocess.Popen(
        [*COMMAND, "--workers", str(workers), "--log", str(log)],
        env=os.environ | {"ASKBACK_HOME": str(home), "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def report(output: str) -> str:
    """Return the output, without the log's path and the progress bar, which shows times."""
    return "".join(line for line in output.splitlines(True) if not re.match("run |dialogues ", line))


def endings(log: Path) -> int:
    with suppress(LogError), LogReader(log) as reader:
        return len(reader.endings("night"))
    return 0


def wait_for(count: int, log: Path, process: subprocess.Popen[str]) -> None:
    """Until `count` dialogues have ended, and the run goes on."""
    deadline = time.monotonic() + 300
    while endings(log) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "the run does not get on"
        time.sleep(0.01)


def members(group: int) -> list[int]:
    """The processes of a group that have not ended."""
    numbers = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, pgrp = path.read_text().rpartition(")")[2].split()[:3]
            if int(pgrp) == group and state != "Z":
                numbers.append(int(path.parent.name))
    return numbers


def all_gone(group: int, seconds: float = 300) -> None:
    """Wait for those that end by themselves once the first has: Python's own tracker of resources does."""
    deadline = time.monotonic() + seconds
    while left := members(group):
        assert time.monotonic() < deadline, f"still there: {left}"
        time.sleep(0.05)


def finished(log: Path, home: Path, workers: int) -> str:
    """Play the run to its end and return what the command prints."""
    out, err = (process := start(log, home, workers)).communicate(timeout=300)
    assert (process.returncode, err) == (0, "")
    return report(out)


def stop(log: Path, home: Path, workers: int, after: int) -> None:
    """Play on until `after` dialogues have ended, and press Ctrl-C."""
    process = start(log, home, workers)
    wait_for(after, log, process)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the whole group
    out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (130, "")
    assert "the same command continues." in out
    all_gone(process.pid)
    assert after <= endings(log) < PLANNED


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("whole")
    out = finished(folder / "log.sqlite", folder, 1)
    assert f"{PLANNED} completed" in out
    return out


def test_stopped_with_ctrl_c_and_given_again(tmp_path: Path, uninterrupted: str) -> None:
    log = tmp_path / "log.sqlite"
    stop(log, tmp_path, 1, 5)
    assert finished(log, tmp_path, 1) == uninterrupted
    with LogReader(log) as reader:
        assert len(reader.episodes("night")) == PLANNED
        assert [run.id for run in reader.runs()] == ["night"]


def test_several_processes_stopped_then_killed_and_none_stays_behind(
    tmp_path: Path, uninterrupted: str
) -> None:
    log = tmp_path / "log.sqlite"
    stop(log, tmp_path, 2, 5)
    process = start(log, tmp_path, 2)
    wait_for(endings(log) + 5, log, process)
    assert len(members(process.pid)) > 2
    process.kill()
    process.communicate(timeout=300)
    all_gone(process.pid)
    assert endings(log) < PLANNED
    assert finished(log, tmp_path, 2) == uninterrupted
