"""The report of runs: their trials as results, how far raters agree, how episodes ended.

Everything is computed from the logged turns; nothing is read from the score rows, which are a copy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from logs import LogReader
from simulator.ambibench.coding import KIND, Agreement, agreement
from simulator.ambibench.labels import Mode, Tie
from simulator.ambibench.records import TrialRecord, scored
from simulator.ambibench.reporting.measures import Means, means
from simulator.ambibench.reporting.results import Results, results
from simulator.ambibench.reporting.tables import tables
from simulator.ambibench.reporting.terminal import print_tables
from simulator.ambibench.trial_log import read_trial_file, trials_of_runs
from simulator.duplicates import Duplicates
from simulator.runner.logged import endings_of_runs, seat_failures
from simulator.runner.telling import print_endings
from trees.faults import Fault

__all__ = ["Report", "print_report", "report", "summary"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What is told of some runs and files.

    Attributes:
        runs: names of the runs, then of the files.
        trials: every answer, scored.
        results: the same as columns.
        agreements: of every two raters of outputs.
        statuses: how many episodes ended how; ``open`` for those that have not, ``erased`` for those of
            people who have withdrawn, which count nowhere else.
        failures: why episodes failed -> how many did, the most frequent first.
        aborted: why seats failed -> how many episodes that aborted; they count as unsuccessful.
        exclude_aborted: whether these are left out instead.
        duplicates: trials that a file holds twice.
    """

    runs: tuple[str, ...]
    trials: tuple[TrialRecord, ...]
    results: Results
    agreements: tuple[Agreement, ...] = ()
    statuses: Mapping[str, int] = field(default_factory=dict)
    failures: Mapping[str, int] = field(default_factory=dict)
    aborted: Mapping[str, int] = field(default_factory=dict)
    exclude_aborted: bool = False
    duplicates: tuple[Fault, ...] = ()


def report(
    reader: LogReader | None,
    runs: Sequence[str] = (),
    files: Sequence[Path] = (),
    *,
    mode: Mode | None = None,
    tie: Tie | None = None,
    labels: Mapping[str, str] | None = None,
    exclude_aborted: bool = False,
    duplicates: Duplicates = "refuse",
) -> Report:
    """The report of some runs and of trials in files.

    Args:
        reader: of the log; None if only files are reported.
        runs: names of runs.
        files: JSON lines as `trial_log.read_trials` takes them.
        mode: how tables of probabilities are read; None: as each run or file says.
        tie: what a tie counts; None: as each run or file says.
        labels: actor, or a pattern with ``*``, -> what it is called; ``person`` stands for all people.
        exclude_aborted: leave out what a failing seat aborted.
        duplicates: what becomes of trials that a file holds twice.

    Raises:
        InputError: if a run is of another benchmark, or a file is wrong.
        NotInLog: if there is no such run.
    """
    names = tuple(dict.fromkeys(runs))
    logged = (
        () if reader is None else trials_of_runs(reader, names, mode, tie, exclude_aborted=exclude_aborted)
    )
    read = [read_trial_file(path, duplicates) for path in files]
    given = tuple(scored(one, mode, tie) for file in read for one in file.rows)
    statuses, failures = ({}, {}) if reader is None else endings_of_runs(reader, names)
    judgments = (
        [] if reader is None else [one for run in names for one in reader.judgments(run_id=run, kind=KIND)]
    )
    return Report(
        runs=(*names, *map(str, files)),
        trials=(*logged, *given),
        results=results((*logged, *given), labels),
        agreements=agreement(judgments),
        statuses=statuses,
        failures=failures,
        aborted={} if reader is None else seat_failures(reader, names),
        exclude_aborted=exclude_aborted,
        duplicates=tuple(fault for file in read for fault in file.faults),
    )


def summary(found: Results) -> Means:
    """Accuracy by actor, setting and instruction, over all their labels."""
    return means(found, "correct", ("actor", "setting", "kind"))


def print_report(console: Console, found: Report) -> None:
    """Statuses, and the tables of each setting."""
    print_endings(
        console,
        found.runs,
        found.statuses,
        found.failures,
        f"{len(found.trials)} trials",
        found.aborted,
        excluded=found.exclude_aborted,
    )
    print_tables(console, tables(found.results, found.agreements))
