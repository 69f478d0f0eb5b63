"""A run that is killed again and again and continued is the run that was never killed."""

from __future__ import annotations

import os
import random
import secrets
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from logs import LogReader

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
KILLS, FEW_KILLS = 100, 10
# Of a run in two processes; these are dear, since the processes must be started anew after each.
KILLS_OF_WORKERS = 3

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a Unix, which can fork and kill")


@dataclass
class RunOutcome:
    """The messages of a process that played, until it was gone.

    Attributes:
        status: how it ended; negative for a signal.
        acknowledged: (episode, turn number) -> digest of the text, of every turn told to be on disk.
        crews: ids of the processes that had seats built.
    """

    status: int = 0
    acknowledged: dict[tuple[str, int], str] = field(default_factory=dict)
    crews: list[int] = field(default_factory=list)


class Forker:
    """Starts and kills processes that play."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin and process.stdout
        self._in, self._out = process.stdin, process.stdout

    def sit(
        self, path: Path, run: str, seed: int, *, workers: int = 1, kill: float | None = None
    ) -> RunOutcome:
        """Play `run` on. With `kill`, the process is killed after so many acknowledgments.

        The part behind the point is a wait, in fiftieths of a second, from there to the kill.
        """
        self._in.write(f"{path} {run} {seed} {workers}\n")
        self._in.flush()
        outcome, process = RunOutcome(), 0
        for line in self._out:
            match line.split():
                case ["pid", id]:
                    process = int(id)
                case ["crew", id]:
                    outcome.crews.append(int(id))
                case ["turn", episode, number, digest]:
                    outcome.acknowledged[episode, int(number)] = digest
                case ["gone", status]:
                    outcome.status = int(status)
                    return outcome
            if process and kill is not None and len(outcome.acknowledged) >= int(kill):
                time.sleep(kill % 1 / 50)
                os.kill(process, signal.SIGKILL)
                kill = None
        raise AssertionError("the forking process has died")


@pytest.fixture
def forker() -> Iterator[Forker]:
    with subprocess.Popen(
        [sys.executable, str(HERE / "forker.py")],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Forker(process)
        assert process.stdin
        process.stdin.close()


def contents(path: Path, run: str) -> dict[str, object]:
    """Return the rows played and scored, without times and order."""
    with LogReader(path) as reader:
        endings = reader.endings(run)
        scores = [
            (score.episode_id, score.metric, score.version, score.value, str(score.details))
            for score in reader.scores(run_id=run, latest=False)
        ]
        turns = {
            played.episode.id: [(turn.number, turn.seat, turn.text, turn.payload) for turn in played.turns]
            for played in reader.turns_of_run(run, latest=False)
        }
        seeds = {episode.id: episode.seed for episode in reader.episodes(run)}
    statuses = {id: (ending.status, ending.cause) for id, ending in endings.items()}
    return {"statuses": statuses, "scores": sorted(scores), "turns": turns, "seeds": seeds}


def check_acknowledged(path: Path, run: str, acknowledged: dict[tuple[str, int], str]) -> None:
    """Every turn that was told to be on disk is there, and no turn is there twice."""
    from hashed import digest

    with LogReader(path) as reader:
        turns = [turn for played in reader.turns_of_run(run, latest=False) for turn in played.turns]
    there = {(turn.episode_id, turn.number): digest(turn.text).hex() for turn in turns}
    assert len(there) == len(turns)
    assert acknowledged.items() <= there.items()
    for episode in {episode for episode, _ in there}:
        numbers = sorted(number for other, number in there if other == episode)
        assert numbers == list(range(len(numbers)))


def check_file(path: Path) -> None:
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()


def gone(process: int) -> bool:
    """Return True if a process that is not our child has ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        return state == "Z"
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.fixture(autouse=True)
def helpers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(HERE)


def test_killed_at_random_moments(forker: Forker, tmp_path: Path, thorough: bool) -> None:
    least = KILLS if thorough else FEW_KILLS
    chance = random.Random(seed := secrets.randbits(32))
    print(f"seed {seed}")
    killed, whole = tmp_path / "killed.sqlite", tmp_path / "whole.sqlite"
    kills = runs = acknowledgments = 0
    while kills < least:
        run, acknowledged = f"run-{runs}", dict[tuple[str, int], str]()
        status = -signal.SIGKILL
        while status == -signal.SIGKILL:
            moment = chance.choice([0, chance.uniform(0, 2), chance.uniform(0, 40)])
            outcome = forker.sit(killed, run, runs, kill=moment if kills < least else None)
            status = outcome.status
            kills += status == -signal.SIGKILL
            acknowledged |= outcome.acknowledged
            if killed.exists():  # the first may be killed before it has made the file
                check_acknowledged(killed, run, acknowledged)
        assert status == 0
        assert forker.sit(whole, run, runs).status == 0
        assert contents(killed, run) == contents(whole, run)
        runs += 1
        acknowledgments += len(acknowledged)
    assert acknowledgments > 3 * least
    check_file(killed)


@pytest.mark.slow
def test_killed_while_two_processes_play(forker: Forker, tmp_path: Path) -> None:
    chance = random.Random(seed := secrets.randbits(32))
    print(f"seed {seed}")
    killed, whole = tmp_path / "killed.sqlite", tmp_path / "whole.sqlite"
    acknowledged = dict[tuple[str, int], str]()
    for _ in range(KILLS_OF_WORKERS):
        outcome = forker.sit(killed, "run", 1, workers=2, kill=chance.uniform(0, 50))
        acknowledged |= outcome.acknowledged
        deadline = time.monotonic() + 30
        while not all(map(gone, outcome.crews)):
            assert time.monotonic() < deadline, "a process has stayed behind"
            time.sleep(0.01)
        if killed.exists():  # the first may be killed before it has made the file
            check_acknowledged(killed, "run", acknowledged)
    assert acknowledged
    assert forker.sit(killed, "run", 1, workers=2).status == 0
    assert forker.sit(whole, "run", 1).status == 0
    assert contents(killed, "run") == contents(whole, "run")
    check_file(killed)
