"""`askback study`: how a study with people stands, and whether its books balance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import typer
from rich.console import Console
from rich.table import Column, Table

from logs import LogReader, LogWriter
from logs.cli import LogOption
from logs.paths import default_path
from simulator.errors import InputError
from simulator.registry import ROOMS
from simulator.studies.desk import StudyDesk
from simulator.studies.files import Study, read_study
from simulator.studies.progress import StudyProgress
from simulator.studies.quota import STATES, cell_name
from simulator.studies.reconcile import reconcile

study_app = typer.Typer(no_args_is_help=True, help="Studies with people: how they stand, who took part.")
# States that are shown even if nobody is in them.
_ALWAYS: Final = ("started", "completed")
_Found = TypeVar("_Found")
_StudyArgument = Annotated[str, typer.Argument(help="a study file, or the id of a built-in study")]


@study_app.command("list")
def list_studies(log: LogOption = None) -> None:
    """The built-in studies, and how many people have completed each."""
    # A name is what one types next: it is never cut.
    table = Table(
        Column("study", no_wrap=True, min_width=_widest()), "title", "wanted", "completed", "under way"
    )
    for room in ROOMS.values():
        for study in room.builtin():
            found = _with_desk(study, log, lambda desk, reader: desk.progress())
            going = found.states["reserved"] + found.states["started"]
            counts = (found.wanted, found.states["completed"], going)
            table.add_row(study.id, study.title_in(study.language), *map(str, counts))
    Console().print(table)


@study_app.command("progress")
def show_progress(study: _StudyArgument, log: LogOption = None) -> None:
    """Places by condition and state, time on task, pay."""
    chosen = find_study(study)
    _print_progress(Console(), chosen, _with_desk(chosen, log, lambda desk, reader: desk.progress()))


@study_app.command("reconcile")
def show_balance(
    study: _StudyArgument,
    export: Annotated[
        Path | None, typer.Option(help="submissions as Prolific exports them (CSV)", exists=True)
    ] = None,
    log: LogOption = None,
) -> None:
    """Compare places, episodes and, if given, the platform's submissions; exit code 1 if they differ."""
    console = Console()
    found = _with_desk(find_study(study), log, lambda desk, reader: reconcile(desk, reader, export))
    console.print(f"[bold]places[/bold]  {_counts(found.places)}", highlight=False)
    console.print(f"[bold]episodes[/bold]  {_counts(found.episodes)}", highlight=False)
    if found.submissions is not None:
        console.print(f"[bold]submissions[/bold]  {_counts(found.submissions)}", highlight=False)
    for finding in found.findings:
        mark = "[dim]explained[/dim]" if finding.explained else "[yellow]look[/yellow]"
        console.print(f"{mark}  {finding.sentence}", highlight=False)
    console.print("The books balance." if found.balanced else "The books do not balance.")
    if not found.balanced:
        raise typer.Exit(1)


def find_study(name: str) -> Study:
    """A built-in study by its id, or a study file.

    Raises:
        InputError: if there is neither, or the file is wrong.
    """
    known = {study.id: study for room in ROOMS.values() for study in room.builtin()}
    if name in known:
        return known[name]
    if not Path(name).is_file():
        raise InputError(f"{name}: no file, and no built-in study; those are {', '.join(known)}.")
    study = read_study(name)
    if study.benchmark not in ROOMS:
        raise InputError(f"{name}: {study.benchmark} holds no studies; {', '.join(ROOMS)} does.")
    return study


def _widest() -> int:
    return max(len(study.id) for room in ROOMS.values() for study in room.builtin())


def _with_desk(study: Study, log: Path | None, look: Callable[[StudyDesk, LogReader], _Found]) -> _Found:
    path = log or default_path()
    with LogWriter(path, durable=True) as writer, LogReader(path) as reader:
        return look(StudyDesk(writer, reader, study, ROOMS[study.benchmark].cells(study)), reader)


def _print_progress(console: Console, study: Study, found: StudyProgress) -> None:
    shown = [state for state in STATES if state in _ALWAYS or found.states[state]]
    table = Table(
        "condition", "wanted", *shown, "open", title=study.title_in(study.language), title_justify="left"
    )
    for one in found.cells:
        counts = (one.wanted, *(one.states[state] for state in shown), one.open)
        table.add_row(cell_name(one.cell) or "all", *map(str, counts))
    console.print(table)
    if found.median_minutes is not None and found.hourly_pay is not None:
        console.print(f"median {found.median_minutes:.1f} minutes, {found.hourly_pay:.2f} per hour")
    console.print(f"spent {found.spent:.2f}, committed {found.committed:.2f}")
    if found.refused:
        console.print(f"refused  {_counts(found.refused)}", highlight=False)


def _counts(counts: Mapping[Any, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items() if count) or "none"
