"""`askback import clarq-results`: published results files into the log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from logs import LogReader, LogWriter
from logs.cli import LogOption
from logs.paths import default_path
from simulator.clarq.benchmark import BENCHMARK
from simulator.clarq.importing import import_file
from simulator.clarq.reporting.sections import tell_left_out
from simulator.clarq.results import read_results
from simulator.duplicates import DuplicatesOption
from simulator.errors import InputError
from simulator.reports import print_runs


def import_clarq(
    files: Annotated[list[Path], typer.Argument(help="published results files of ClarQ-LLM")],
    run: Annotated[str | None, typer.Option(help="the run's name; default: after the file")] = None,
    duplicates: DuplicatesOption = "refuse",
    log: LogOption = None,
) -> None:
    """Bring published results files into the log, and score them.

    Rows without a dialogue are counted; rows that cannot be read are left out and told.
    """
    if run and len(files) > 1:
        raise InputError("--run names one run; give one file, or leave it out.")
    path = log or default_path()
    console = Console()
    for file in files:
        read = read_results(file, duplicates)
        with LogWriter(path, durable=False) as writer:
            imported = import_file(read, file, writer, run)
        with LogReader(path) as reader:
            console.print(f"[dim]run[/dim] {imported.id} [dim]in[/dim] {path}")
            print_runs(console, reader, BENCHMARK, [imported.id])
        tell_left_out(file, read)
