"""The report: runs of the log and files side by side, people and models together (spec 12)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from logs import LogReader
from simulator.ambik.reporting.additions import ADDITIONS, statements
from simulator.ambik.reporting.groups import (
    Result,
    added_statement,
    baseline_groups,
    results_of,
    settings_statement,
    told_apart,
)
from simulator.ambik.reporting.logprobs_section import rules_section
from simulator.ambik.reporting.people import agreement_section, people_section
from simulator.ambik.reporting.scoring import Scored, score_files
from simulator.ambik.reporting.section import Section
from simulator.ambik.reporting.sources import Found, from_runs
from simulator.ambik.reporting.switches import NONE, Switches
from simulator.ambik.reporting.tables import PAPER_TABLES
from simulator.errors import InputError
from simulator.figures import Cell, Column, Table
from simulator.runner.logged import Endings, endings_of_runs, seat_failures


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What is told of some runs and files.

    Attributes:
        sections: in the order in which they are told.
        results: what the tables are of.
        scored: what is wrong with the files.
        runs: their names.
        statuses: how many of their episodes ended how; ``open`` for those that have not, ``erased`` for those
            of people who have withdrawn, which count nowhere else.
        failures: why episodes failed -> how many did, the most frequent first.
    """

    sections: tuple[Section, ...]
    results: tuple[Result, ...] = ()
    scored: Scored = field(default_factory=Scored)
    runs: tuple[str, ...] = ()
    statuses: Mapping[str, int] = field(default_factory=dict)
    failures: Mapping[str, int] = field(default_factory=dict)
    aborted: Mapping[str, int] = field(default_factory=dict)
    exclude_aborted: bool = False


def report(
    reader: LogReader | None,
    runs: Sequence[str] = (),
    files: Sequence[Path] = (),
    *,
    calibration: Sequence[Path] = (),
    data: str | None = None,
    switches: Switches = NONE,
    part: Literal["all", "released", "added"] = "all",
    exclude_aborted: bool = False,
) -> Report:
    """The report of some runs and files.

    Args:
        reader: of the log; None if only files are reported.
        runs: names of runs.
        files: files and folders, of any kind.
        calibration: files of decisions on calibration items.
        data: what decisions of files are of, where they do not say.
        switches: over the settings of runs.
        part: whose decisions count (`groups.told_apart`).
        exclude_aborted: leave out what a failing seat aborted.

    Raises:
        InputError: if a run is another benchmark's or empty, or settings cannot be changed for want of a
            calibration.
        NotInLog: if there is no such run.
    """
    scored = Scored()
    if files or calibration:
        scored = score_files(files, calibration=calibration, data=data, switches=switches)
    of_runs = (
        Found() if reader is None or not runs else from_runs(reader, runs, exclude_aborted=exclude_aborted)
    )
    groups = told_apart([*of_runs.groups, *scored.found.groups], part)
    results = results_of(groups, switches)
    beside = (*results, *results_of(baseline_groups(groups), switches))
    if part != "all" and not groups and (of_runs.groups or scored.found.groups):
        raise InputError(f"--part {part}: none of these decisions is on {part} pairs; leave it out")
    apart = (told for one in groups if (told := added_statement(one)))
    remarks = (*of_runs.remarks, *scored.found.remarks, *apart)
    published = [rules_section(made, run, switches=switches) for run, made in of_runs.published.items()]
    sections = [*scored.sections, *published, *_overview(results, remarks)]
    if results:
        sections += [one for make in (*PAPER_TABLES, *ADDITIONS) if (one := make(beside)) is not None]
        sections += [one for one in (people_section(results),) if one is not None]
    agreement = agreement_section(of_runs.forms)
    sections += [] if agreement is None else [agreement]
    names = tuple(dict.fromkeys(runs))
    endings = Endings({}, {}) if reader is None else endings_of_runs(reader, names)
    return Report(
        sections=tuple(sections),
        results=results,
        scored=scored,
        runs=names,
        statuses=endings.statuses,
        failures=endings.failures,
        aborted={} if reader is None else seat_failures(reader, names),
        exclude_aborted=exclude_aborted,
    )


def _overview(results: Sequence[Result], remarks: Sequence[str]) -> list[Section]:
    """Who is reported, on what, and under which settings."""
    told = (*settings_statement(results), *statements(results), *remarks)
    told += tuple(remark for one in results for remark in one.remarks)
    if not results and not told:
        return []
    rows: list[list[Cell]] = [
        [
            one.group.method_name,
            one.name,
            one.group.source,
            one.group.version or one.group.dataset,
            len(one.outcomes),
            one.group.people or None,
        ]
        for one in results
    ]
    heads = ("method", "robot", "run or file", "data", Column("tasks", 0), Column("people", 0))
    return [
        Section(
            kind="overview",
            name="",
            title="Results",
            tables={"": Table(heads, rows)} if rows else {},
            remarks=tuple(dict.fromkeys(told)),
            data={
                one.label: {
                    "source": one.group.source,
                    "dataset": one.group.dataset,
                    "version": one.group.version,
                    "context": one.group.context,
                    "dialogue": one.group.dialogue,
                    "tasks": len(one.outcomes),
                    "people": one.group.people,
                    "settings": one.settings,
                }
                for one in results
            },
        )
    ]
