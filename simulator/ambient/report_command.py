"""`askback report ambient`: tables and figures of runs and published files, side by side (spec 12, 13)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.text import Text

from logs import LogReader
from logs.cli import LogOption
from logs.paths import default_path
from simulator.ambient.crowd import Tie
from simulator.ambient.parsing import Parser
from simulator.ambient.reporting.exporting import export_runs, write_run_lines
from simulator.ambient.reporting.figures import log_odds_figure, probabilities_figure
from simulator.ambient.reporting.flow_figure import save_flow
from simulator.ambient.reporting.report import Report, report
from simulator.ambient.reporting.settings import Settings
from simulator.ambient.reporting.terminal import (
    json_text,
    print_section,
    sections_json,
    write_out,
    write_table,
)
from simulator.errors import InputError
from simulator.figures import Figure, save
from simulator.runner.options import ExactJsonOption, ExcludeAbortedOption, RunsAndFilesArgument
from simulator.runner.run_summary import print_endings, print_problems, runs_and_files
from trees.faults import fault_text

DRAWN_AS: Final = ("png", "svg", "csv")


def report_ambient(
    names: RunsAndFilesArgument,
    data: Annotated[
        str | None,
        typer.Option(help="the dataset they are of, a name or a path; default: one beside the files"),
    ] = None,
    tie: Annotated[
        Tie, typer.Option(help="people's votes: which label wins where they are split evenly")
    ] = "first",
    votes: Annotated[
        list[str] | None,
        typer.Option(help="Table 1: show the votes on this example (or all); may be repeated"),
    ] = None,
    parser: Annotated[
        Parser, typer.Option(help="generation: how rewrites are read for the headline")
    ] = "reference",
    instance: Annotated[
        str | None,
        typer.Option(help="draw the log-odds of this instance of a run's continuations (ID, or ID.premise)"),
    ] = None,
    pair: Annotated[
        str | None,
        typer.Option(help="draw the label probabilities of this pair of a run (ID; ID:1, its first rewrite)"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="folder for figures (png, svg, csv) and tables (csv, latex)")
    ] = None,
    lines: Annotated[
        Path | None,
        typer.Option(help="write every form of the runs, and every item of models' tests, JSON lines"),
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="write the runs' answers in the published formats into this folder")
    ] = None,
    as_json: ExactJsonOption = False,
    exclude_aborted: ExcludeAbortedOption = False,
    log: LogOption = None,
) -> None:
    """Tables 1, 4, 5, 9, 10 and 11, crowdworkers' votes, and the paper's figures, people and models together.

    A name that is a file or folder is read as `askback score ambient` does; any other is a run of the log.
    """
    if (instance or pair) and out is None:
        raise InputError("--instance and --pair draw figures: name a folder with --out.")
    runs, files = runs_and_files(names)
    settings = Settings(
        data=data, tie=tie, votes=tuple(votes or ()), parser=parser, exclude_aborted=exclude_aborted
    )
    if (lines or export or instance or pair) and not runs:
        raise InputError("--lines, --export, --instance and --pair are of runs: name one (askback log list).")
    with LogReader(log or default_path()) if runs else nullcontext() as reader:
        found = report(reader, runs, files, settings)
        drawn = _drawn(reader, runs, instance, pair)
        written = [] if out is None else _write(out, found, drawn)
        if reader is not None and lines is not None:
            count = write_run_lines(lines, reader, runs)
            written.append(f"{lines}: {count} lines")
    if export is not None:
        written += map(str, export_runs(export, found.played))
    if as_json:
        typer.echo(json_text(_plain(found)))
    else:
        _print(Console(), found)
    print_problems("AmbiEnt", found.scored.faults, found.scored.unreadable, found.scored.passed_over, written)
    if found.scored.unreadable:
        raise typer.Exit(1)


def _drawn(
    reader: LogReader | None, runs: Sequence[str], instance: str | None, pair: str | None
) -> list[Figure]:
    if reader is None:
        return []
    made = [] if instance is None else [log_odds_figure(reader, runs, instance)]
    return made if pair is None else [*made, probabilities_figure(reader, runs, pair)]


def _print(console: Console, report: Report) -> None:
    if report.runs:
        print_endings(
            console,
            report.runs,
            report.statuses,
            report.failures,
            aborted=report.aborted,
            excluded=report.exclude_aborted,
        )
        console.print()
    for table in report.tables.values():
        console.print(table.to_text())
        console.print()
    for run, flow in report.flows.items():
        message = (
            f"{run}: {flow.generated} examples, {flow.annotated} annotated, {flow.dropped} discarded by a "
            f"linguist, {flow.due} due to a validator, {flow.discuss} in discussion, {flow.discarded} "
            f"discarded by a validator, {flow.validated} validated"
        )
        console.print(Text("Annotation flow (Fig. 2)", "dim"))
        console.print(Text(message), soft_wrap=True)
        console.print()
    for section in report.sections:
        print_section(console, section)


def _plain(report: Report) -> dict[str, object]:
    endings: dict[str, object] = (
        {"statuses": dict(report.statuses), "failures": dict(report.failures)} if report.runs else {}
    )
    if report.aborted:
        endings |= {"aborted": dict(report.aborted), "exclude_aborted": report.exclude_aborted}
    return {
        **endings,
        **sections_json(report.sections),
        "flow": {
            run: {name: getattr(flow, name) for name in flow.__slots__} for run, flow in report.flows.items()
        },
        "faults": [fault_text(fault) for fault in report.scored.faults],
        "unreadable": report.scored.unreadable,
    }


def _write(folder: Path, report: Report, drawn: Iterable[Figure]) -> list[str]:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--out {folder}: is a file; name a folder")
    written = write_out(folder, report.sections)
    for name, table in report.tables.items():
        written += write_table(folder / name, table, report.exact.get(name))
    for figure in (*report.figures, *drawn):
        written += [save(figure, folder / f"{figure.name}.{suffix}") for suffix in DRAWN_AS]
    for number, venn in enumerate(report.venns):
        name = venn.name if not number else f"{venn.name}-{number + 1}"
        written += [venn.save(folder / f"{name}.{suffix}") for suffix in DRAWN_AS]
    for number, flow in enumerate(report.flows.values()):
        name = "figure-2" if not number else f"figure-2-{number + 1}"
        written += [save_flow(flow, folder / f"{name}.{suffix}") for suffix in DRAWN_AS]
    return list(map(str, written))
