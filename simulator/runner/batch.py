"""Batches of episodes: resumption from the log, bounded concurrency, progress, clean shutdown.

The log is the only state. An episode with an ending is not played again; one without is continued from its
logged turns; a failed one is run again as a new attempt. So a run that was interrupted, by Ctrl-C or SIGKILL,
continues when the same command is given again.

An `Executor` plays: this process (`play_jobs`), several (`simulator.runner.executors`) or a cluster
(`simulator.runner.cluster`).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from logs import LogError, LogReader, LogWriter
from logs.relay import RowSink
from logs.rows import Ending, Episode, Event, Item, Run, Score, Turn
from simulator.errors import InputError
from simulator.runner.build import Plan
from simulator.runner.execute import Outcome, Recorder, execute
from simulator.runner.machines import ActiveEpisode, AnyMachine
from simulator.runner.options import check_run_name
from simulator.seats import Seat

# How often a failed episode is run again within one command (each model call has its own retries).
FAILED_AGAIN = 1

# Episodes that may wait for the log in addition to those that are played.
_MOST_SETTLING = 256

SOFTWARE_VERSION = "software_version"
"""Askback's version in a run's configuration."""


@dataclass(kw_only=True)
class Tally:
    """The progress of a run, shown after every episode.

    Attributes:
        done: number of episodes with an ending, those of earlier commands included.
        statuses: status -> number of endings.
        scores: metric -> values so far.
    """

    planned: int
    done: int = 0
    statuses: dict[str, int] = field(default_factory=dict)
    scores: dict[str, list[float]] = field(default_factory=dict)

    def add(self, ending: Ending, scores: Sequence[Score]) -> None:
        """Count an ended episode."""
        self.done += 1
        self.statuses[ending.status] = self.statuses.get(ending.status, 0) + 1
        for score in scores:
            if score.value is not None:
                self.scores.setdefault(score.metric, []).append(score.value)


@dataclass(frozen=True)
class Job:
    """An episode to play, from its beginning or continued from `turns`."""

    episode: Episode
    row: Item
    item: Any
    turns: tuple[Turn, ...] = ()


OnEnding = Callable[[Ending, Sequence[Score]], None]
OnJobEnding = Callable[[Job, Ending, Sequence[Score]], None]
Executor = Callable[[Sequence[Job], OnEnding], Awaitable[None]]
"""Plays the jobs of a run, started in order, and calls back with each ending once it is on disk."""


async def run_batch(
    plan: Plan,
    log: LogWriter,
    reader: LogReader,
    *,
    concurrency: int = 8,
    executor: Executor | None = None,
    on_progress: Callable[[Tally], None] = lambda tally: None,
    preflight: Callable[[], Awaitable[None]] | None = None,
    start_event: Event | None = None,
) -> Tally:
    """Play every episode of `plan` that has not ended in the log.

    Cancelling the task stops cleanly: what was played is on disk when `CancelledError` is raised.

    `concurrency`: episodes at a time in this process; an `executor` has its own limit. `on_progress`: called
    at the start and after every episode. `preflight`: called before anything is logged, if jobs are left;
    then `start_event` is logged, too.

    Raises:
        InputError: if the log has a run of that name with another configuration, or `concurrency` is less
            than 1.
        LogError: if the log cannot be written.
    """
    if concurrency < 1:
        raise InputError(f"concurrency {concurrency}: must be 1 or more")
    is_logged = _is_in_log(plan, reader)
    jobs, tally = _remaining_jobs(plan, reader)
    if jobs and preflight is not None:
        await preflight()
    if not is_logged:
        await log.write(plan.run)
    if jobs and start_event is not None:
        await log.write(start_event)
    on_progress(tally)

    def on_ending(ending: Ending, scores: Sequence[Score]) -> None:
        tally.add(ending, scores)
        on_progress(tally)

    if executor is None:
        await _play_here(plan, jobs, log, concurrency, on_ending)
    else:
        await executor(jobs, on_ending)
    return tally


async def _play_here(plan: Plan, jobs: Sequence[Job], log: RowSink, places: int, on_ending: OnEnding) -> None:
    waiting = iter(jobs)  # shared by all places, so that each job is taken once

    async def take() -> Job | None:
        return next(waiting, None)

    def on_job_ending(job: Job, ending: Ending, scores: Sequence[Score]) -> None:
        on_ending(ending, scores)

    await play_jobs(plan.machine, plan.seats, log, take, places=places, on_ending=on_job_ending)


async def play_jobs(
    machine: AnyMachine,
    seats: Mapping[str, Seat],
    log: RowSink,
    take: Callable[[], Awaitable[Job | None]],
    *,
    places: int,
    on_ending: OnJobEnding,
) -> None:
    """Play the jobs that `take` returns, `places` at a time, until it returns None.

    An episode that is only waiting for the log does not occupy a place. When this returns or raises,
    everything played is on disk.

    Raises:
        LogError: if the log cannot be written.
    """
    place = asyncio.Semaphore(places)
    posted: set[str] = set()

    async def work() -> None:
        while True:
            await place.acquire()
            if (job := await take()) is None:
                place.release()
                return
            if job.row.hash not in posted:  # the log compares a repeat with what it has
                posted.add(job.row.hash)
                log.post(job.row)
            outcome = await _play_job(machine, seats, job, log, place)
            if outcome.ending is not None:
                on_ending(job, outcome.ending, outcome.scores)

    workers = [asyncio.create_task(work()) for _ in range(places + _MOST_SETTLING)]
    try:
        await asyncio.gather(*workers)
    except BaseException as first:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        try:
            await log.aflush()
        except LogError as later:
            if not isinstance(first, Exception):
                raise
            first.add_note(f"In addition, {later}")  # the first error is the one to fix
        raise
    await log.aflush()


def _is_in_log(plan: Plan, reader: LogReader) -> bool:
    """Return True if the run is in the log.

    Raises:
        InputError: if the log has a run of that name with another configuration, or a new run's name is not
            safe.
    """
    logged = next((run for run in reader.runs() if run.id == plan.run.id), None)
    if logged is None:
        check_run_name(plan.run.id)
        return False
    if differences := _differences(logged, plan.run):
        raise InputError(
            f"The log already has a run {plan.run.id!r} with another configuration "
            f"({'; '.join(differences)}). Choose another name with --run, or repeat the earlier command to "
            "continue that run."
        )
    return True


def _differences(old: Run, new: Run) -> list[str]:
    before, after = (
        # As the log stores it: a tuple becomes a list.
        json.loads(
            json.dumps({**run.config, "seed": run.seed, "setup": run.setup, "benchmark": run.benchmark})
        )
        for run in (old, new)
    )
    before.setdefault(SOFTWARE_VERSION, after.get(SOFTWARE_VERSION))  # older runs lack theirs
    return [
        f"{key}: {before.get(key)!r} there, {after.get(key)!r} here"
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key)
    ]


def _remaining_jobs(plan: Plan, reader: LogReader) -> tuple[list[Job], Tally]:
    stored = {
        (episode.item_hash, episode.language, episode.repeat): episode
        for episode in reader.episodes(plan.run.id, latest=True)
    }
    endings = reader.endings(plan.run.id)
    turns = {
        played.episode.id: tuple(played.turns)
        for played in reader.turns_of_run(plan.run.id, status="running")
    }
    scores: dict[str, list[Score]] = {}
    for score in reader.scores(run_id=plan.run.id, latest=True):
        scores.setdefault(score.episode_id, []).append(score)
    tally = Tally(planned=len(plan.items) * plan.repeats)
    jobs: list[Job] = []
    for episode, row, item in plan.episodes():
        last = stored.get((row.hash, row.language, episode.repeat))
        if last is None:
            jobs.append(Job(episode, row, item))
        elif last.id not in endings:
            jobs.append(Job(last, row, item, turns.get(last.id, ())))
        elif endings[last.id].status == "failed":
            jobs.append(Job(_next_attempt(episode, last.attempt + 1), row, item))
        else:
            tally.add(endings[last.id], scores.get(last.id, ()))
    return jobs, tally


def logged_state(job: Job, reader: LogReader) -> Job | tuple[Ending, tuple[Score, ...]]:
    """Return a job whose player was lost as the log has it: its ending and scores, or the rest to play."""
    for episode in _attempts(job.episode):
        ending = reader.ending(episode.id)
        if ending is None:
            return replace(job, episode=episode, turns=tuple(reader.turns(episode.id)))
        if ending.status != "failed":
            break
    assert ending is not None
    return ending, tuple(reader.scores(episode_id=episode.id))


def _next_attempt(episode: Episode, attempt: int) -> Episode:
    first = episode.id.rpartition("#")[0] if episode.attempt else episode.id
    return replace(episode, id=f"{first}#{attempt}", attempt=attempt)


async def _play_job(
    machine: AnyMachine, seats: Mapping[str, Seat], job: Job, log: RowSink, place: asyncio.Semaphore
) -> Outcome:
    """Play an episode to its end, and once more if it fails; everything is on disk when this returns.

    The caller has acquired `place`; it is released when the seats have nothing left to do. A failed episode
    keeps it for its next attempt: those who wait for jobs could have all others.
    """
    occupied = True

    def on_played(ending: Ending | None) -> None:
        nonlocal occupied
        if occupied and (ending is None or ending.status != "failed"):
            occupied = False
            place.release()

    try:
        for episode in _attempts(job.episode):
            turns = job.turns if episode.id == job.episode.id else ()
            if not turns:
                log.post(episode)
            recorder = Recorder(log, durable=False)
            live = ActiveEpisode(episode=episode, item=job.item, seats=seats, record=recorder)
            outcome = await execute(machine, live, log, recorder, turns, on_played)
            if outcome.ending is None or outcome.ending.status != "failed":
                break
    finally:
        if occupied:
            place.release()
    return outcome


def _attempts(first: Episode) -> Iterator[Episode]:
    yield first
    for further in range(1, FAILED_AGAIN + 1):
        yield _next_attempt(first, first.attempt + further)
