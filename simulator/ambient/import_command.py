"""`askback import ambient-results`: published files of answers into the log, as runs (spec 11)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from logs import LogWriter
from logs.cli import LogOption
from logs.paths import default_path
from simulator.ambient.importing.runs import import_file
from simulator.duplicates import DuplicatesOption
from simulator.errors import InputError
from simulator.tables.importing import print_failed, print_faults, print_imported


def import_ambient(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="results of models (generation, true/false, continuations, predictions, claims), "
            "crowdworkers' votes, linguists' annotations"
        ),
    ],
    data: Annotated[
        str | None,
        typer.Option(help="the dataset they are of, a name or a path; default: one beside the files"),
    ] = None,
    duplicates: DuplicatesOption = "refuse",
    run: Annotated[str | None, typer.Option(help="the run's name; default: after model and content")] = None,
    log: LogOption = None,
) -> None:
    """Bring published files into the log, a run each; the same file again adds nothing.

    Rows that are faulty are left out and told; stored scores are compared with recomputed ones. An import
    that was cut off is completed by the same command. The exit code is 1 if a file could not be imported.
    """
    if run and len(files) > 1:
        raise InputError("--run names one run; give one file, or leave it out.")
    path, failed = log or default_path(), list[str]()
    with LogWriter(path, durable=False) as writer:
        for file in files:
            try:
                imported = import_file(file, writer, data=data, name=run, duplicates=duplicates)
            except InputError as error:
                failed.append(str(error))
                continue
            print_imported(imported, path)
            print_faults(file.name, imported.faults)
    print_failed(failed)
    if failed:
        raise typer.Exit(1)
