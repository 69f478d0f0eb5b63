"""`askback report ambik`: tables and figures of runs and files, side by side (spec 12)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Final, Literal

import typer
from rich.console import Console

from logs import LogReader
from logs.cli import LogOption
from logs.paths import default_path
from simulator.ambik.reporting.exporting import export_runs, write_run_lines
from simulator.ambik.reporting.figures import figures
from simulator.ambik.reporting.report import Report, report
from simulator.ambik.reporting.switches import (
    CpRuleOption,
    EntropyOption,
    HelpRuleOption,
    IcrOption,
    MetricsOption,
    QuantileOption,
    RenormaliseOption,
    SimilarityOption,
    Switches,
    TargetOption,
    TemperatureOption,
    TokensOption,
    TruthOption,
)
from simulator.ambik.reporting.task_sheets import task_sheets
from simulator.ambik.reporting.terminal import json_text, print_section, sections_json, write_out, write_text
from simulator.errors import InputError
from simulator.figures import save
from simulator.runner.options import ExactJsonOption, ExcludeAbortedOption, RunsAndFilesArgument
from simulator.runner.telling import fault_text, print_endings, runs_and_files, tell_problems

DRAWN_AS: Final = ("png", "svg", "csv")


def report_ambik(
    names: RunsAndFilesArgument,
    calibration: Annotated[
        list[Path] | None,
        typer.Option(help="a file of decisions on calibration items; may be repeated"),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            help="the pairs that files of decisions are of, where they do not say: a name or a path"
        ),
    ] = None,
    part: Annotated[
        Literal["all", "released", "added"],
        typer.Option(help="of the pairs: of the paper's kind, or as added in 2025; all: both, told apart"),
    ] = "all",
    target_success: TargetOption = None,
    temperature: TemperatureOption = None,
    tokens: TokensOption = None,
    quantile: QuantileOption = None,
    cp_rule: CpRuleOption = None,
    help_rule: HelpRuleOption = None,
    calibration_truth: TruthOption = None,
    renormalise: RenormaliseOption = None,
    entropy_weight: EntropyOption = None,
    similarity_weight: SimilarityOption = None,
    icr: IcrOption = None,
    metrics: MetricsOption = None,
    task: Annotated[
        list[str] | None,
        typer.Option(help="App. K: show scene, plans and all sets of this pair (or all); may be repeated"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="folder for figures (png, svg, csv), tables (csv, latex) and all sets")
    ] = None,
    lines: Annotated[
        Path | None, typer.Option(help="write every decision of the runs, JSON lines, calibrations first")
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="write the runs' decisions and a table of results into this folder")
    ] = None,
    as_json: ExactJsonOption = False,
    exclude_aborted: ExcludeAbortedOption = False,
    log: LogOption = None,
) -> None:
    """Tables 3 and 6 to 9, coverage, what a question brought, and the paper's figures; people among models.

    A name that is a file or folder is read as `askback score ambik` does; any other is a run of the log.
    Switches make sets anew of what was logged: no model is asked again.
    """
    switches = Switches.of(
        target_success=target_success,
        temperature=temperature,
        tokens=tokens,
        quantile=quantile,
        cp_rule=cp_rule,
        help=help_rule,
        calibration_truth=calibration_truth,
        renormalise=renormalise,
        entropy_weight=entropy_weight,
        similarity_weight=similarity_weight,
        icr=icr,
        metrics=metrics,
    )
    runs, files = runs_and_files(names)
    if (lines or export) and not runs:
        raise InputError("--lines and --export are of runs: name one (askback log list).")
    written: list[object] = []
    with LogReader(log or default_path()) if runs else nullcontext() as reader:
        found = report(
            reader,
            runs,
            files,
            calibration=calibration or (),
            data=data,
            switches=switches,
            part=part,
            exclude_aborted=exclude_aborted,
        )
        sheets = task_sheets(found.results, task) if task else ""
        if out is not None:
            written += _write(out, found)
        if reader is not None and lines is not None:
            written.append(f"{lines}: {write_run_lines(lines, reader, runs)} lines")
        if export is not None:
            written += export_runs(export, reader, runs, found.results)
    scored = found.scored
    if as_json:
        faults = {"faults": [fault_text(one) for one in scored.faults], "unreadable": scored.unreadable}
        endings = {"statuses": found.statuses, "failures": found.failures} if found.runs else {}
        broken = {"aborted": found.aborted, "exclude_aborted": found.exclude_aborted} if found.aborted else {}
        typer.echo(json_text({**endings, **broken, **sections_json(found.sections), **faults}))
    else:
        _print(found, sheets)
    tell_problems("AmbiK", scored.faults, scored.unreadable, scored.passed_over, written)
    if scored.unreadable:
        raise typer.Exit(1)


def _print(found: Report, sheets: str) -> None:
    console = Console()
    if found.runs:
        print_endings(
            console,
            found.runs,
            found.statuses,
            found.failures,
            aborted=found.aborted,
            excluded=found.exclude_aborted,
        )
        console.print()
    for section in found.sections:
        print_section(console, section)
    if sheets:
        console.print(sheets, markup=False, highlight=False, soft_wrap=True)


def _write(folder: Path, found: Report) -> Sequence[Path]:
    written = write_out(folder, found.sections)
    for figure in figures(found.results):
        written += [save(figure, folder / f"{figure.name}.{suffix}") for suffix in DRAWN_AS]
    if found.results:
        written.append(write_text(folder / "sets.txt", task_sheets(found.results)))
    return written
