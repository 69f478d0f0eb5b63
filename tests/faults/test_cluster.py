"""Runs on a cluster of Ray: nodes, the command and the whole cluster are lost, and nothing of the run is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

from logs import LogError, LogReader
from logs.export import export_log

ROOT = Path(__file__).parents[2]
NODES = ROOT / "tests" / "shared" / "ray_nodes.py"
DIALOGUES = ("run", "clarq", "--seeker", "offline/seeker", "--limit", "50", "--repeat", "4")
DECISIONS = ("run", "ambik", "--limit", "80", "--repeat", "7", "--concurrency", "2")
# When and how long, which no two runs share; by which command and process, which the log says.
INCIDENTAL = ("created_at", "seconds")
SECONDS = 300
"""In which whatever is waited for comes: a machine may be busy with other things."""
Alone = Callable[[tuple[str, ...]], dict[str, bytes]]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="a cluster of several nodes needs Linux"),
]
ray = pytest.importorskip("ray", reason="pip install 'askback[ray]'")


class Nodes:
    """The nodes of a cluster on this machine."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.address = ""

    def _say(self, line: str) -> str:
        assert self._process.stdin and self._process.stdout
        print(line, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline().strip()
        assert answer, "the cluster has ended"
        return answer

    def start(self, name: str, cpus: int = 1) -> None:
        self.address = self._say(f"start {name} {cpus}")

    def kill(self, name: str) -> None:
        self._say(f"kill {name}")


@pytest.fixture
def nodes(request: pytest.FixtureRequest) -> Iterator[Nodes]:
    """Three nodes with a processor each, or those that a test names."""
    with subprocess.Popen(
        [sys.executable, str(NODES)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        cluster = Nodes(process)
        for name in getattr(request, "param", ("head", "second", "third")):
            cluster.start(name)
        yield cluster
        process.communicate(timeout=SECONDS)


def command(words: tuple[str, ...], log: Path, *more: str, path: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(ROOT / "app.py"), *words, "--run", "same", "--log", str(log), *more],
        env=os.environ
        | {"ASKBACK_HOME": str(log.parent), "COLUMNS": "100", "RAY_AUTH_MODE": "disabled"}
        | ({"PYTHONPATH": path} if path else {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str]) -> str:
    output, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, output
    return output


def endings(log: Path) -> int:
    with suppress(LogError), LogReader(log) as reader:
        return len(reader.endings("same"))
    return 0


def wait_for(count: int, log: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + SECONDS
    while endings(log) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "the run does not get on"
        time.sleep(0.02)


def exported(log: Path) -> dict[str, bytes]:
    """The files of an export without who was when at work, in one order whoever wrote them first."""
    with LogReader(log) as reader:
        files = export_log(reader, log.with_suffix(".export"))
    return {
        file.name: b"\n".join(sorted(map(_timeless, file.read_text(encoding="utf-8").splitlines())))
        for file in files
        if file.suffix == ".jsonl" and file.name != "events.jsonl"
    }


def _timeless(line: str) -> bytes:
    row = json.loads(line)
    return json.dumps({name: value for name, value in row.items() if name not in INCIDENTAL}).encode()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Alone:
    """Returns the files of a run in one process, which is played once."""

    @cache
    def play(words: tuple[str, ...]) -> dict[str, bytes]:
        log = tmp_path_factory.mktemp("alone") / "local.sqlite"
        finish(command(words, log))
        return exported(log)

    return play


def test_a_node_is_lost(tmp_path: Path, nodes: Nodes, alone: Alone) -> None:
    spread = tmp_path / "spread.sqlite"
    process = command(DECISIONS, spread, "--executor", f"ray:{nodes.address}")
    wait_for(70, spread, process)
    nodes.kill("second")
    assert endings(spread) < 560
    finish(process)
    assert endings(spread) == 560
    assert exported(spread) == alone(DECISIONS)


def test_a_node_the_command_and_the_whole_cluster_are_lost(
    tmp_path: Path, nodes: Nodes, alone: Alone
) -> None:
    spread = tmp_path / "spread.sqlite"

    def go_on(until: int) -> subprocess.Popen[str]:
        process = command(DIALOGUES, spread, "--executor", f"ray:{nodes.address}")
        wait_for(until, spread, process)
        return process

    process = go_on(10)
    nodes.kill("second")
    wait_for(40, spread, process)
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 130, output
    assert "the same command continues." in output
    process = go_on(70)
    process.kill()
    process.communicate(timeout=SECONDS)
    process = go_on(100)
    for name in ("third", "head"):
        nodes.kill(name)
    process.communicate(timeout=SECONDS)
    assert process.returncode
    assert 100 <= endings(spread) < 200
    nodes.start("new", 2)
    finish(command(DIALOGUES, spread, "--executor", f"ray:{nodes.address}"))
    assert exported(spread) == alone(DIALOGUES)


@pytest.mark.parametrize("nodes", [["head"]], indirect=True)
def test_a_node_that_lacks_an_agent_s_module_says_so(tmp_path: Path, nodes: Nodes) -> None:
    (tmp_path / "here_alone.py").write_text(
        "def Agent():\n    return lambda view: 'Which?'\n", encoding="utf-8"
    )
    words = ("run", "clarq", "--seeker", "python:here_alone:Agent", "--limit", "2")
    process = command(
        words, tmp_path / "log.sqlite", "--executor", f"ray:{nodes.address}", path=str(tmp_path)
    )
    output, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 1
    assert "here_alone" in output and "Traceback" not in output
