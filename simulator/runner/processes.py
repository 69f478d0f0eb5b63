"""Runs in processes of their own that this program starts and stops; what they do, the log says."""

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
"""Runs that may be played at the same time."""
_PATIENCE: Final = 10.0
"""Seconds that a run has to write down what it has played, before it is killed."""
_STILL: Final = timedelta(seconds=60)
"""So long a run is taken to be played after something was said in it."""
_SHOWN: Final = 4000
_PROGRAM: Final = (sys.executable, "-P", "-m", "app")

ProcessState = Literal["playing", "done", "stopped", "failed"]


@dataclass(frozen=True, slots=True)
class StartedRun:
    """A command that was started.

    Attributes:
        stopped: is set when somebody stops it.
    """

    benchmark: str
    words: tuple[str, ...]
    process: subprocess.Popen[bytes]
    output: IO[bytes] = field(repr=False)
    stopped: threading.Event = field(default_factory=threading.Event, repr=False)

    @property
    def id(self) -> int:
        """Return the process's number, which the log's events have, too."""
        return self.process.pid

    @property
    def state(self) -> ProcessState:
        """Return how it stands; episodes may have failed in a run that is through (`said`)."""
        code = self.process.poll()
        if code is None:
            return "playing"
        if self.stopped.is_set():
            return "stopped"
        return "failed" if code else "done"

    @property
    def said(self) -> str:
        """Return the end of what it printed."""
        size = os.fstat(self.output.fileno()).st_size
        # The process shares the file's position: reading must not move it.
        return os.pread(self.output.fileno(), _SHOWN, max(0, size - _SHOWN)).decode("utf-8", "replace")


class RunProcesses:
    """The runs that this program plays beside itself."""

    def __init__(self, log: Path, options: Sequence[str] = ()) -> None:
        self._log = log
        self._options = tuple(options)
        self._lock = threading.Lock()
        self._started: dict[int, StartedRun] = {}

    def start(self, words: Sequence[str]) -> StartedRun:
        """Start a command ``run NAME …``; the log has its run a few seconds later.

        Raises:
            ConflictError: if it is being played, or too many others are.
        """
        command = (*words, *self._options, f"--log={self._log}")
        with self._lock:
            playing = [each for each in self._started.values() if each.state == "playing"]
            if any(each.words == tuple(words) for each in playing):
                raise ConflictError("This run is being played already.", code="run_playing")
            if len(playing) >= MOST:
                raise ConflictError(f"{MOST} runs are being played.", code="runs_playing", most=MOST)
            output = TemporaryFile()  # noqa: SIM115 (open for as long as the run is known)
            # A list, and no shell: a word is a word, whatever stands in it.
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
        """Return all that were started here, the newest first."""
        with self._lock:
            return tuple(reversed(self._started.values()))

    def stop(self, id: int) -> StartedRun:
        """Have a run write down what it has played, and end.

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
        """End every run; the log goes on from there."""
        for run in self.started():
            self.stop(run.id).output.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    # What a shell starts in the background does not hear the first one.
    for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        os.killpg(process.pid, kind)
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            continue
        return


def continuable(reader: LogReader, processes: RunProcesses) -> tuple[str, ...]:
    """Return the runs that a command left before their end and nobody seems to play, the newest first."""
    known = {run.id: run.state for run in processes.started()}

    def is_played(event: Event) -> bool:
        state = known.get(event.details["process"])
        # Of a process that is not ours only its traces in the log are known.
        return state == "playing" if state else _time_since_event(reader, event) < _STILL

    events = reversed([*begun_by(reader).items()])
    return tuple(run for run, event in events if _is_left(reader, run) and not is_played(event))


def _is_left(reader: LogReader, run: str) -> bool:
    progress = reader.progress(run)
    return progress.done < (progress.planned or 0)


def _time_since_event(reader: LogReader, event: Event) -> timedelta:
    """Return how long ago a run was begun, or something was last said in it."""
    with reader.connection() as connection:
        (newest,) = connection.execute(
            "SELECT max(t.created_at) FROM episodes e JOIN turns t ON t.episode_id = e.id WHERE e.run_id = ?",
            [event.run_id],
        ).fetchone()
    return datetime.now(UTC) - datetime.fromisoformat(max(newest or "", event.created_at))


def begun_by(reader: LogReader) -> Mapping[str, Event]:
    """Return the newest event of a command that played it, by run; runs of older logs have none."""
    return {event.run_id: event for event in reader.events(kind=RUN_STARTED) if event.run_id}
