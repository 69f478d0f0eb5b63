"""Runs in separate processes, started and stopped by this program; the log records what they do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final, Literal

from logs import LogReader
from logs.rows import Event
from simulator.errors import ConflictError, InputError
from simulator.runner.command import RUN_STARTED

MOST: Final = 4
"""Most runs that may be played at the same time."""
_PATIENCE: Final = 10.0
"""Seconds for a run to write what it has played, before it is killed."""
_RECENT: Final = timedelta(seconds=60)
"""Time after its last turn for which a run is assumed to be active."""
_SHOWN: Final = 4000
_PROGRAM: Final = (sys.executable, "-P", "-m", "app")

ProcessState = Literal["playing", "done", "stopped", "failed"]


@dataclass(frozen=True, slots=True)
class StartedRun:
    """A started ``run`` command.

    Attributes:
        stopped: set when a user stops it.
    """

    benchmark: str
    words: tuple[str, ...]
    process: subprocess.Popen[bytes]
    output: IO[bytes] = field(repr=False)
    stopped: threading.Event = field(default_factory=threading.Event, repr=False)

    @property
    def id(self) -> int:
        """Return the process id, which is also in the log's events."""
        return self.process.pid

    @property
    def state(self) -> ProcessState:
        """Return the state; in a run that is done, episodes may still have failed (see `output_tail`)."""
        code = self.process.poll()
        if code is None:
            return "playing"
        if self.stopped.is_set():
            return "stopped"
        return "failed" if code else "done"

    @property
    def output_tail(self) -> str:
        """Return the end of its output."""
        size = os.fstat(self.output.fileno()).st_size
        # The process shares the file's position: reading must not move it.
        return os.pread(self.output.fileno(), _SHOWN, max(0, size - _SHOWN)).decode("utf-8", "replace")


class RunProcesses:
    """The runs that this program has started."""

    def __init__(self, log: Path, options: Sequence[str] = ()) -> None:
        self._log = log
        self._options = tuple(options)
        self._lock = threading.Lock()
        self._started: dict[int, StartedRun] = {}

    def start(self, words: Sequence[str]) -> StartedRun:
        """Start a command ``run NAME …``; its run appears in the log a few seconds later.

        Raises:
            ConflictError: if the same command is already running, or too many others are.
        """
        command = (*words, *self._options, f"--log={self._log}")
        with self._lock:
            playing = [each for each in self._started.values() if each.state == "playing"]
            if any(each.words == tuple(words) for each in playing):
                raise ConflictError("This run is already being played.", code="run_playing")
            if len(playing) >= MOST:
                raise ConflictError(f"{MOST} runs are already being played.", code="runs_playing", most=MOST)
            output = TemporaryFile()  # noqa: SIM115 (open as long as the run is listed)
            # A list and no shell, so that arguments are never interpreted.
            process = subprocess.Popen(
                [*_PROGRAM, *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
            )
            started = StartedRun(words[1], tuple(words), process, output)
            self._started[started.id] = started
        return started

    def started(self) -> tuple[StartedRun, ...]:
        """Return all runs started here, the newest first."""
        with self._lock:
            return tuple(reversed(self._started.values()))

    def stop(self, id: int) -> StartedRun:
        """Stop a run, which writes what it has played and exits.

        Raises:
            InputError: if it was not started here.
        """
        with self._lock:
            run = self._started.get(id)
        if run is None:
            raise InputError("This run was not started here.", code="run_elsewhere")
        if run.state == "playing":
            run.stopped.set()
            _end(run.process)
        return run

    def close(self) -> None:
        """Stop every run; each can be continued from the log."""
        for run in self.started():
            self.stop(run.id).output.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    # Background jobs of a shell ignore SIGINT.
    for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        os.killpg(process.pid, kind)
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            continue
        return


def continuable_runs(reader: LogReader, processes: RunProcesses) -> tuple[str, ...]:
    """Return the unfinished runs that no process seems to be playing, the newest first."""
    states = {run.id: run.state for run in processes.started()}

    def is_played(event: Event) -> bool:
        state = states.get(event.details["process"])
        # Another program's process is only known by its rows in the log.
        return state == "playing" if state else _time_since_event(reader, event) < _RECENT

    events = reversed([*start_events(reader).items()])
    return tuple(run for run, event in events if _is_unfinished(reader, run) and not is_played(event))


def _is_unfinished(reader: LogReader, run: str) -> bool:
    progress = reader.progress(run)
    return progress.done < (progress.planned or 0)


def _time_since_event(reader: LogReader, event: Event) -> timedelta:
    """Return the time since a run's last turn, or since `event` if that is later."""
    with reader.connection() as connection:
        (newest,) = connection.execute(
            "SELECT max(t.created_at) FROM episodes e JOIN turns t ON t.episode_id = e.id WHERE e.run_id = ?",
            [event.run_id],
        ).fetchone()
    return datetime.now(UTC) - datetime.fromisoformat(max(newest or "", event.created_at))


def start_events(reader: LogReader) -> Mapping[str, Event]:
    """Return the latest start event of each run, by run; runs of older logs have none."""
    return {event.run_id: event for event in reader.events(kind=RUN_STARTED) if event.run_id}
