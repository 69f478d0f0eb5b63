"""`askback import ambik-results`: published and foreign results into the log, as runs (spec 9, 13)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from logs import LogWriter
from logs.cli import LogOption
from logs.paths import default_path
from simulator.ambik.importing.runs import import_sources
from simulator.ambik.importing.sources import Source, read_sources
from simulator.duplicates import DuplicatesOption
from simulator.runner.run_summary import say
from simulator.tables.importing import print_failed, print_faults, print_imported


def import_ambik(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="logs of decisions (JSON lines or a JSON list), the published KnowNo run with "
            "log-probabilities, folders with such files; pairs and scenarios beside them serve texts"
        ),
    ],
    data: Annotated[
        str | None,
        typer.Option(help="what decisions without their task are of, a name or a path; default: added data"),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(help="the run's name, or what several begin with; default: as the file has it"),
    ] = None,
    duplicates: DuplicatesOption = "refuse",
    log: LogOption = None,
) -> None:
    """Bring results into the log, a run for each robot, method and configuration; again it adds nothing.

    Calibrations become runs of their own. Lines that are no decisions are left out and told; stored sets and
    scores are compared with recomputed ones. The exit code is 1 if a file could not be imported.
    """
    sources = read_sources(paths, data=data, duplicates=duplicates)
    path = log or default_path()
    if sources.files:
        with LogWriter(path, durable=False) as writer:
            import_sources(sources.files, writer, name=run)
    for file in sources.passed_over:
        say(Console(stderr=True), f"{file}: no decisions; passed over", "dim")
    for source in sources.files:
        _print_file(source, path)
    failed = list(sources.unreadable)
    for source in sources.files:
        nothing = () if source.runs else (f"{source.path}: nothing of it was imported",)
        failed += source.refused or nothing
    print_failed(failed)
    if tests := [test.run.id for source in sources.files for test in source.tests]:
        say(Console(), f"More of them: askback report ambik {' '.join(tests)}")
    if failed:
        raise typer.Exit(1)


def _print_file(source: Source, log: Path) -> None:
    for run in source.runs:
        print_imported(run, log)
    if source.bare:
        count = f"{source.bare} of {sum(len(batch.episodes) for batch in source.batches)}"
        say(
            Console(),
            f"of {count} decisions the scenario is known by its number alone (name the file of scenarios, or "
            "the data with --data)",
        )
    if source.forms:
        errors = Console(stderr=True)
        say(errors, f"{source.path}: {source.forms} lines are annotators' forms; left out", "yellow")
    print_faults(source.path, source.faults, "lines")
