"""The report on runs of the log and files side by side, people and models together (spec 12)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from simulator.ambik.reporting.exporting import export_runs, write_run_lines
from simulator.ambik.reporting.figures import figures
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
from simulator.ambik.reporting.scoring import score_files
from simulator.ambik.reporting.settings import ReportSettings, Switches
from simulator.ambik.reporting.sources import Found, from_runs
from simulator.ambik.reporting.tables import TABLES, Columns, result_table, statements
from simulator.ambik.reporting.task_sheets import task_sheets
from simulator.errors import InputError
from simulator.figures import Column
from simulator.frames import Frames
from simulator.reporting import Section
from simulator.whole import write_whole

UNEXPECTED_CASES = "cases of metrics that do not have the paper's value: {count}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The contents of runs and files.

    Attributes:
        sections: of files that are no decisions.
        found: groups, forms and published runs of all.
        results: what the tables are of.
        switches: over the settings of runs.
    """

    sections: Sequence[Section]
    found: Found
    results: tuple[Result, ...]
    switches: Switches


def read_contents(source: Frames) -> Contents:
    """Return what the runs and files of a report hold; faults of files go to `Frames.problems`.

    Raises:
        InputError: if a run is another benchmark's or empty, or settings cannot be changed for want of a
            calibration.
        NotInLog: if there is no such run.
    """
    settings = source.settings or ReportSettings()
    switches, found = settings.switches, Found()
    sections: Sequence[Section] = ()
    if source.runs:
        found = from_runs(source.reader, source.runs, exclude_aborted=source.exclude_aborted)
    if source.files or settings.calibration:
        sections, of_files = score_files(source.files, source.problems, settings)
        found.add(of_files)
    groups = told_apart(found.groups, settings.part)
    if settings.part != "all" and not groups and found.groups:
        raise InputError(
            f"--part {settings.part}: none of these decisions is on {settings.part} pairs; leave it out"
        )
    found.groups = [*groups]
    return Contents(sections=sections, found=found, results=results_of(groups, switches), switches=switches)


def report_sections(source: Frames) -> Iterator[Section]:
    """Yield what files hold, the paper's tables, our additions, people beside models, and figures."""
    contents = source.once(read_contents)
    found, results = contents.found, contents.results
    yield from contents.sections
    if wrong := sum(section.data.get("unexpected", 0) for section in contents.sections):
        source.problems.unexpected.append(UNEXPECTED_CASES.format(count=wrong))
    for run, decisions in found.published.items():
        yield rules_section(decisions, run, switches=contents.switches)
    yield from _overview(contents)
    if results:
        beside = (*results, *results_of(baseline_groups(found.groups), contents.switches))
        made = (make(beside) for make in TABLES)
        yield from (section for section in (*made, people_section(results)) if section is not None)
    if (agreement := agreement_section(found.forms)) is not None:
        yield agreement
    if results and source.draws:
        yield Section(name="figures", title="Figures", figures=figures(results))
    if source.settings is not None and source.settings.task:
        text = task_sheets(results, source.settings.task)
        yield Section(name="tasks", title="Prediction sets by task (App. K)", text=text)


def write_files(source: Frames) -> Iterable[object]:
    """Yield what was written: all sets beside the report; where settings say, decisions, runs and results.

    Raises:
        InputError: if no run is reported, or a file cannot be written.
    """
    settings: ReportSettings = source.settings
    results = source.once(read_contents).results
    if (settings.lines or settings.export) and not source.runs:
        raise InputError("--lines and --export are of runs: name one (askback log list).")
    if source.out is not None and results:
        yield write_whole(source.out / "sets.txt", task_sheets(results))
    if settings.lines is not None:
        count = write_run_lines(settings.lines, source.reader, source.runs)
        yield f"{settings.lines}: {count} lines"
    if settings.export is not None:
        yield from export_runs(settings.export, source.reader, source.runs, results)


def _overview(contents: Contents) -> Iterator[Section]:
    """Yield who is reported, on what, and under which settings."""
    results, groups = contents.results, contents.found.groups
    remarks = [
        *settings_statement(results),
        *statements(results),
        *contents.found.remarks,
        *(statement for group in groups if (statement := added_statement(group))),
        *(remark for result in results for remark in result.remarks),
    ]
    if not results and not remarks:
        return
    columns: Columns = {
        "run or file": lambda result: result.group.source,
        "data": lambda result: result.group.version or result.group.dataset,
        Column("tasks", 0): lambda result: len(result.outcomes),
        Column("people", 0): lambda result: result.group.people or None,
    }
    yield Section(
        name="overview",
        title="Results",
        tables=[result_table(results, columns)] if results else [],
        remarks=tuple(dict.fromkeys(remarks)),
        data={
            result.label: {
                "source": result.group.source,
                "dataset": result.group.dataset,
                "version": result.group.version,
                "context": result.group.context,
                "dialogue": result.group.dialogue,
                "tasks": len(result.outcomes),
                "people": result.group.people,
                "settings": result.settings,
            }
            for result in results
        },
    )
