"""`askback report handmethat`: tables of several runs side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from logs import LogReader
from logs.cli import LogOption
from logs.paths import default_path
from simulator.errors import InputError
from simulator.handmethat.reporting.report import Report, report
from simulator.handmethat.reporting.terminal import print_report, report_csv, report_json, report_latex
from simulator.runner.options import ExcludeAbortedOption

Format = Literal["text", "csv", "latex", "json"]


def report_handmethat(
    runs: Annotated[list[str], typer.Argument(help="names of runs (askback log list shows them)")],
    form: Annotated[Format, typer.Option("--format", help="text, csv, latex or json")] = "text",
    out: Annotated[Path | None, typer.Option(help="the file to write; default: the terminal")] = None,
    exclude_aborted: ExcludeAbortedOption = False,
    log: LogOption = None,
) -> None:
    """Tables of several runs side by side: by level, by questions asked, and the gain per question."""
    with LogReader(log or default_path()) as reader:
        found = report(reader, list(dict.fromkeys(runs)), exclude_aborted=exclude_aborted)
    if form == "text" and out is None:
        print_report(Console(), found)
        return
    text = _formatted(found, form)
    if out is None:
        typer.echo(text, nl=False)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror}).") from error


def _formatted(found: Report, form: Format) -> str:
    if form == "csv":
        return report_csv(found)
    if form == "latex":
        return report_latex(found)
    if form == "json":
        return json.dumps(report_json(found), ensure_ascii=False, indent=2) + "\n"
    console = Console(width=160)
    with console.capture() as capture:
        print_report(console, found)
    return capture.get()
