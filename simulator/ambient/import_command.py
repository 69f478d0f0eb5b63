"""`askback import ambient-results`: published files of answers into the log, as runs (spec 11)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from logs import LogWriter
from logs.cli import LogOption
from logs.paths import default_path
from simulator.ambient.importing.runs import Imported, import_file
from simulator.duplicates import DuplicatesOption, left_out
from simulator.errors import InputError
from simulator.runner.telling import fault_text

_TOLD: Final = 20


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
                _tell(import_file(file, writer, data=data, name=run, duplicates=duplicates), path)
            except InputError as error:
                failed.append(str(error))
    errors = Console(stderr=True)
    for reason in failed:
        errors.print(reason, style="red", highlight=False, markup=False, soft_wrap=True)
    if failed:
        raise typer.Exit(1)


def _tell(found: Imported, log: Path) -> None:
    console, errors = Console(), Console(stderr=True)
    state = f"{found.added} episodes added" if found.added else "nothing new"
    if found.added and not found.new:
        state += ", which an import had left out"
    line = f"run {found.run.id} in {log}: {found.task}, {found.rows} rows, {found.episodes} episodes; {state}"
    console.print(line, highlight=False, markup=False, soft_wrap=True)
    if found.differences:
        said = f"{len(found.differences)} stored values are not those recomputed:"
        console.print(said, highlight=False, markup=False, soft_wrap=True)
    for one in found.differences[:_TOLD]:
        console.print(f"  {one}", highlight=False, markup=False, soft_wrap=True)
    gone = left_out(found.faults)
    if gone:
        said = f"{gone} rows of {found.run.config['imported']} left out:"
        errors.print(said, highlight=False, markup=False, soft_wrap=True)
    if len(found.faults) > gone:
        said = f"{len(found.faults) - gone} rows tell what an earlier one told, and are counted again:"
        errors.print(said, highlight=False, markup=False, soft_wrap=True)
    for fault in found.faults[:_TOLD]:
        errors.print(f"  {fault_text(fault)}", style="yellow", highlight=False, markup=False, soft_wrap=True)
    if len(found.faults) > _TOLD:
        errors.print(f"  … and {len(found.faults) - _TOLD} more (askback check lists them)", highlight=False)
