"""Runs shared by several processes. The first test that starts one waits for the imports of all."""

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from logs import LogError, LogReader, LogWriter
from simulator.clarq.machine import MACHINE
from simulator.errors import WorkerFailed
from simulator.runner import executors
from simulator.runner.batch import run_batch
from simulator.runner.build import NamedSeatFactory, build_plan
from simulator.runner.executors import Workers
from trees.sources import load_builtin

ROOT = Path(__file__).parents[3]
TASKS = [*load_builtin("en")[:5], *load_builtin("zh")[:1]]
FACTORY = NamedSeatFactory(
    benchmark="clarq", names={"seeker": "offline/seeker", "provider": "offline/experts"}
)


async def play(path, *, workers, concurrency=4, factory=FACTORY, on_progress=lambda tally: None):
    """Play the run on, in one process (0) or in workers; its tally."""
    async with LogWriter(path, durable=False) as log, FACTORY(log, 1) as seats:
        with LogReader(path) as reader:
            plan = build_plan(
                machine=MACHINE, items=TASKS, seats=seats, config={}, seed=3, repeats=2, name="run"
            )
            shared = Workers(
                benchmark="clarq", factory=factory, path=path, workers=workers, concurrency=concurrency
            )
            return await run_batch(
                plan, log, reader, executor=shared if workers else None, on_progress=on_progress
            )


def contents(path):
    """Return the rows played and scored, without times and order."""
    with LogReader(path) as reader:
        scores = {(s.episode_id, s.metric): (s.value, s.details) for s in reader.scores(run_id="run")}
        turns = {
            (turn.episode_id, turn.number): (turn.seat, turn.text, turn.payload)
            for played in reader.turns_of_run("run")
            for turn in played.turns
        }
        episodes = {e.id: {**asdict(e), "created_at": ""} for e in reader.episodes("run")}
        endings = {end.episode_id: end.status for end in reader.endings("run").values()}
    return episodes, turns, scores, endings


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The same run in one process."""
    path = tmp_path_factory.mktemp("alone") / "log.sqlite"
    asyncio.run(play(path, workers=0))
    return contents(path)


def gone():
    """Return True if every worker has ended."""
    return not multiprocessing.active_children()


@pytest.mark.parametrize(("workers", "concurrency"), [(1, 4), (2, 5), (3, 3)])
async def test_who_plays_changes_nothing(log_path, alone, workers, concurrency):
    counts, processes = [], 0

    def on_progress(tally):
        nonlocal processes
        counts.append(tally.done)
        processes = max(processes, len(multiprocessing.active_children()))

    tally = await play(log_path, workers=workers, concurrency=concurrency, on_progress=on_progress)
    assert contents(log_path) == alone
    assert counts == list(range(2 * len(TASKS) + 1))
    assert (tally.planned, tally.done, len(tally.scores["success"])) == (12, 12, 12)
    assert processes == workers
    assert gone()


async def test_no_more_workers_than_places(log_path):
    most = 0

    def on_progress(tally):
        nonlocal most
        most = max(most, len(multiprocessing.active_children()))

    await play(log_path, workers=5, concurrency=2, on_progress=on_progress)
    assert most == 2


async def test_a_finished_run_starts_nobody(log_path, alone):
    await play(log_path, workers=0)
    assert (await play(log_path, workers=2)).done == 12
    assert contents(log_path) == alone


async def test_a_run_that_is_stopped_goes_on_in_any_number_of_processes(log_path, alone):
    task = asyncio.current_task()

    def stop(tally):
        if tally.done and tally.done % 3 == 0:
            task.cancel()

    for workers in (2, 1, 3):
        with pytest.raises(asyncio.CancelledError):
            await play(log_path, workers=workers, on_progress=stop)
        task.uncancel()
        assert gone()
    await play(log_path, workers=2)
    assert contents(log_path) == alone


async def test_a_run_that_is_stopped_while_a_worker_begins_waits_for_its_end(log_path, monkeypatch):
    task, loop, launched = asyncio.current_task(), asyncio.get_running_loop(), []
    start = executors._start_all

    def slowly(pool, shares):
        loop.call_soon_threadsafe(task.cancel)
        time.sleep(0.2)
        serving = start(pool, shares)
        launched.extend(pool._processes.values())
        return serving

    monkeypatch.setattr(executors, "_start_all", slowly)
    with pytest.raises(asyncio.CancelledError):
        await play(log_path, workers=2)
    task.uncancel()
    assert [process.is_alive() for process in launched] == [False, False]
    assert gone()


async def test_a_worker_that_is_killed_stops_the_run_which_can_be_continued(log_path, alone):
    def kill(tally):
        if tally.done == 2:
            os.kill(multiprocessing.active_children()[0].pid, signal.SIGKILL)

    with pytest.raises(WorkerFailed, match=r"SIGKILL.*same command continues"):
        await play(log_path, workers=2, concurrency=2, on_progress=kill)
    assert gone()
    await play(log_path, workers=2)
    assert contents(log_path) == alone


@pytest.mark.slow
def test_a_folder_that_is_called_as_one_of_ours_is_not_taken_for_it(tmp_path):
    for name in ("logs", "trees"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("", encoding="utf-8")
    command = [sys.executable, str(ROOT / "app.py"), "run", "clarq", "--limit", "2", "--workers", "2"]
    ended = subprocess.run(
        [*command, "--log", str(tmp_path / "log.sqlite")],
        cwd=tmp_path,
        env={**os.environ, "ASKBACK_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    with LogReader(tmp_path / "log.sqlite") as reader:
        (run,) = reader.runs()
        assert [ending.status for ending in reader.endings(run.id).values()] == ["completed"] * 2


async def test_a_crew_that_cannot_be_seated_says_why(log_path):
    factory = NamedSeatFactory(
        benchmark="clarq", names={"seeker": "offline/nobody", "provider": "offline/experts"}
    )
    with pytest.raises(WorkerFailed, match="offline/nobody"):
        await play(log_path, workers=2, factory=factory)
    assert gone()


async def test_a_log_that_cannot_be_written_stops_the_run(log_path, tmp_path):
    (tmp_path / "folder").mkdir()
    async with LogWriter(log_path, durable=False) as log, FACTORY(log, 1) as seats:
        with LogReader(log_path) as reader:
            plan = build_plan(machine=MACHINE, items=TASKS, seats=seats, config={}, seed=3)
            shared = Workers(
                benchmark="clarq", factory=FACTORY, path=tmp_path / "folder", workers=2, concurrency=2
            )
            with pytest.raises(LogError, match="folder"):
                await run_batch(plan, log, reader, executor=shared)
    assert gone()
