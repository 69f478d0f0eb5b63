"""`askback study`: how a study with people stands, and whether its books balance."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Column, Table

from logs import Erasure, LogReader, LogWriter, erase_participant, load_key, pseudonym_of
from logs.cli import LogOption
from logs.paths import default_path
from logs.rows import Event
from simulator.errors import InputError
from simulator.runner.options import BaseUrlOption, ModelFlags, TimeoutOption
from simulator.studies.admission import erase_due, pending
from simulator.studies.desk import StudyDesk
from simulator.studies.files import Study, read_study
from simulator.studies.known import absent_opposite, find_study, study_file, why_absent
from simulator.studies.ledger import written
from simulator.studies.people import personal_link, preview_link, study_link
from simulator.studies.places import COMMAND
from simulator.studies.progress import StudyProgress
from simulator.studies.quota import STATES, Place, cell_name
from simulator.studies.reconcile import reconcile
from simulator.studies.steering import admit_as, close, desk_of, plan_of, standings

study_app = typer.Typer(no_args_is_help=True, help="Studies with people: how they stand, who took part.")
# States that are shown even if nobody is in them.
_ALWAYS: Final = ("started", "completed")
_Found = TypeVar("_Found")
_PersonArgument = Annotated[str, typer.Argument(help="their id on the platform, or their pseudonym")]
_ReasonOption = Annotated[str, typer.Option(help="why; kept in the log")]
_ACTS: Final = {"bonus": "researcher.payment", "erase": "researcher.erase"}
_SITE: Final = "http://127.0.0.1:7860"
_SiteOption = Annotated[str, typer.Option(help="where people reach the app")]
StudyArgument = Annotated[str, typer.Argument(help="a study file, or the id of a study")]


@study_app.command("list")
def list_studies(log: LogOption = None) -> None:
    """The studies that come with Askback and those of the log, and how many people have completed each."""
    path = log or default_path()
    with LogWriter(path, durable=True) as writer, LogReader(path) as reader:
        known = standings(writer, reader)
    # A name is what one types next: it stands in one line. A title has what room is left.
    names = Column("study", no_wrap=True, min_width=max(len(each.study.id) for each in known))
    title = Column("title", overflow="fold", ratio=1)
    table = Table(names, title, box=SIMPLE, pad_edge=False, expand=True)
    for head in ("wanted", "completed", "under way", "state"):
        table.add_column(head, no_wrap=True, min_width=len(head))
    for study, state, progress in known:
        counts = (progress.wanted, progress.states["completed"], progress.under_way)
        table.add_row(study.id, study.title_in(study.language), *map(str, counts), state)
    Console().print(table)


@study_app.command("progress")
def show_progress(study: StudyArgument, log: LogOption = None) -> None:
    """Places by condition and state, time on task, pay."""
    chosen = find_study(study, log)
    _print_progress(Console(), chosen, with_desk(chosen, log, lambda desk, reader: desk.progress()))


@study_app.command("reconcile")
def show_balance(
    study: StudyArgument,
    export: Annotated[
        Path | None, typer.Option(help="submissions as Prolific exports them (CSV)", exists=True)
    ] = None,
    log: LogOption = None,
) -> None:
    """Compare places, episodes and, if given, the platform's submissions; exit code 1 if they differ."""
    console = Console()
    balance = with_desk(find_study(study, log), log, lambda desk, reader: reconcile(desk, reader, export))
    console.print(f"[bold]places[/bold]  {_counts(balance.places)}", highlight=False)
    console.print(f"[bold]episodes[/bold]  {_counts(balance.episodes)}", highlight=False)
    if balance.submissions is not None:
        console.print(f"[bold]submissions[/bold]  {_counts(balance.submissions)}", highlight=False)
    for finding in balance.findings:
        mark = "[dim]explained[/dim]" if finding.explained else "[yellow]look[/yellow]"
        console.print(f"{mark}  {finding.sentence}", highlight=False)
    console.print("The books balance." if balance.balanced else "The books do not balance.")
    if not balance.balanced:
        raise typer.Exit(1)


@study_app.command("new")
def write_study(
    source: StudyArgument,
    file: Annotated[
        Path, typer.Argument(help="the file to write, such as my-study.yaml; its name is the id")
    ],
) -> None:
    """Write a study file to begin with: a copy of another one, comments and all, under an id of its own."""
    if file.exists():
        raise InputError(f"{file}: exists already; choose another name.")
    text = study_file(source).read_text(encoding="utf-8")
    file.write_text(re.sub(r"(?m)^id:.*$", f"id: {file.stem}", text, count=1), encoding="utf-8")
    try:
        study = read_study(file)
    except InputError:
        file.unlink()
        raise
    print(f"{file} is study {study.id}. Change what is yours: title, numbers, pay, codes, texts.")
    print(f"Then: askback study check {file}")


@study_app.command("check")
def check_study(study: StudyArgument, base_url: BaseUrlOption = None, timeout: TimeoutOption = None) -> None:
    """Say what a study comes to, and ask its models for one answer each; exit code 1 if one gives none."""
    chosen = find_study(study)
    _print_plan(chosen)
    if not _models_answer(chosen, base_url, timeout):
        raise typer.Exit(1)


@study_app.command("links")
def print_links(
    study: StudyArgument,
    site: _SiteOption = _SITE,
    person: Annotated[
        list[str] | None,
        typer.Option("--id", help="a link for this one person, which works in any browser (several: again)"),
    ] = None,
    log: LogOption = None,
) -> None:
    """The study's link, to be given to a platform, and links for single people.

    With `signed_links: true` in its file, the study takes in nobody who comes by another one.
    """
    chosen, key = find_study(study, log), _key(log)
    print(study_link(chosen, key, site))
    for name in person or ():
        print(personal_link(chosen, key, site, name))


@study_app.command("preview")
def print_preview(study: StudyArgument, site: _SiteOption = _SITE, log: LogOption = None) -> None:
    """Print a link that plays the study once as a participant; nothing that is done there counts."""
    print(preview_link(find_study(study, log), _key(log), site))


@study_app.command("erase")
def erase_withdrawn(
    study: StudyArgument,
    person: Annotated[
        str | None,
        typer.Argument(help="somebody who has not withdrawn, by their id on the platform or their pseudonym"),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="erase that person without asking")] = False,
    log: LogOption = None,
) -> None:
    """Erase those who have withdrawn from the study now, or one person who asks for it; leaves receipts."""
    chosen, path = find_study(study, log), log or default_path()
    if person is not None:
        who = _participant(chosen, person, log)
        question = f"Erase {who}, in all studies of {path}? This cannot be undone."
        if not yes:
            typer.confirm(question, abort=True)
        erased: Sequence[Erasure] = [erase_participant(path, who, reason=f"asked for in {chosen.run_id}")]
    else:
        erased = erase_due(path, run_id=chosen.run_id)
    with_desk(chosen, log, lambda desk, reader: None, did="erase")
    _print_erased(erased)
    if not erased:
        print("Nobody who has withdrawn is left to be erased.")


@study_app.command("close")
def close_study(
    study: StudyArgument,
    yes: Annotated[bool, typer.Option("--yes", help="erase those who have withdrawn without asking")] = False,
    log: LogOption = None,
) -> None:
    """Take nobody new into the study, and erase now those who have withdrawn; who is under way may finish."""
    chosen = find_study(study, log)
    leaving = with_desk(chosen, log, lambda desk, reader: pending(reader, chosen.run_id))
    if leaving and not yes:
        typer.confirm(
            f"Close {chosen.id} and erase {len(leaving)} who have withdrawn ({', '.join(leaving)})? "
            "Erasing cannot be undone.",
            abort=True,
        )
    (changed, erased), progress = with_desk(
        chosen, log, lambda desk, reader: (close(desk, reader), desk.progress()), did="close"
    )
    print(f"{chosen.id} is closed{'' if changed else ' already'}; {progress.under_way} under way may finish.")
    _print_erased(erased)


@study_app.command("pause")
def pause_study(study: StudyArgument, log: LogOption = None) -> None:
    """Take nobody new into the study until it is opened again; who is under way may finish."""
    chosen = find_study(study, log)
    changed, progress = with_desk(
        chosen, log, lambda desk, reader: (admit_as(desk, "paused"), desk.progress()), did="pause"
    )
    print(f"{chosen.id} is paused{'' if changed else ' already'}; {progress.under_way} under way may finish.")


@study_app.command("open")
def open_study(
    study: StudyArgument,
    site: _SiteOption = _SITE,
    base_url: BaseUrlOption = None,
    timeout: TimeoutOption = None,
    log: LogOption = None,
) -> None:
    """Open a study, or open it again: from now on its content stays as it is. Prints its links.

    Models that sit opposite are asked for one answer first. A server on the same log lets people in at once.
    """
    chosen = find_study(study, log)
    if not _models_answer(chosen, base_url, timeout):
        raise typer.Exit(1)
    changed = with_desk(chosen, log, lambda desk, reader: admit_as(desk, "open"), did="open")
    key = _key(log)
    print(f"{chosen.id} is open{' again' if changed else ''}.")
    print(f"for participants  {study_link(chosen, key, site)}")
    print(f"to try it out     {preview_link(chosen, key, site)}")


@study_app.command("restore")
def restore_participant(study: StudyArgument, person: _PersonArgument, log: LogOption = None) -> None:
    """Take a withdrawal or an exclusion back: sets that were done count again."""
    chosen = find_study(study, log)
    who = _participant(chosen, person, log)

    def restored(desk: StudyDesk, reader: LogReader) -> tuple[Place, ...]:
        if who not in reader.withdrawals() and who in reader.exclusions(chosen.run_id):
            return asyncio.run(desk.included(who, by=COMMAND))
        return asyncio.run(desk.restored(who))

    places = with_desk(chosen, log, restored, did="restore")
    print(f"{who} is back: {', '.join(place.state for place in places)}.")


@study_app.command("release")
def release_places(study: StudyArgument, person: _PersonArgument, log: LogOption = None) -> None:
    """Let somebody go on in another browser than the one in which they began."""
    chosen = find_study(study, log)
    who = _participant(chosen, person, log)
    with_desk(chosen, log, lambda desk, reader: asyncio.run(desk.released(who)), did="release")
    print(f"{who} may go on in the browser that comes next.")


@study_app.command("exclude")
def exclude_participant(
    study: StudyArgument, person: _PersonArgument, reason: _ReasonOption, log: LogOption = None
) -> None:
    """Exclude somebody: their places are free again; reports count them with --with-excluded only."""
    chosen = find_study(study, log)
    who = _participant(chosen, person, log)
    places = with_desk(chosen, log, lambda desk, reader: asyncio.run(desk.excluded(who, reason, by=COMMAND)))
    print(f"{who} is excluded; places that are free again: {len(places)}. `askback study restore` undoes it.")


@study_app.command("return")
def return_place(
    study: StudyArgument, person: _PersonArgument, reason: _ReasonOption, log: LogOption = None
) -> None:
    """Take the place of somebody who is under way, so that it is free again; what they did is kept."""
    chosen = find_study(study, log)
    who = _participant(chosen, person, log)
    with_desk(chosen, log, lambda desk, reader: asyncio.run(desk.freed(who, reason, by=COMMAND)))
    print(f"{who} has left, and the place is free.")


@study_app.command("message")
def write_to_participant(
    study: StudyArgument,
    person: _PersonArgument,
    text: Annotated[str, typer.Argument(help="what their page shows them, until they have read it")],
    log: LogOption = None,
) -> None:
    """Write to somebody who takes part; the log says when they have read it."""
    chosen = find_study(study, log)
    who = _participant(chosen, person, log)
    with_desk(chosen, log, lambda desk, reader: asyncio.run(desk.messaged(who, text, by=COMMAND)))
    print(f"{who} sees it when their page next changes or comes into sight.")


def _print_erased(erased: Sequence[Erasure]) -> None:
    for erasure in erased:
        print(f"{erasure.participant_id} is erased. {erasure.recognised}")


def _participant(study: Study, person: str, log: Path | None) -> str:
    """Return the pseudonym of somebody named by it, or by their id on the platform.

    Raises:
        InputError: if nobody of that name is in the log.
    """
    path = log or default_path()
    with LogReader(path) as reader:
        known = {participant.id for participant in reader.participants()}
    named = pseudonym_of(load_key(path), study.identity[0].lower(), person)
    who = next((name for name in (person, named) if name in known), None)
    if who is None:
        raise InputError(f"{person}: nobody in {path} has this {study.identity[0]}, or this pseudonym.")
    return who


def with_desk(
    study: Study, log: Path | None, look: Callable[[StudyDesk, LogReader], _Found], did: str = ""
) -> _Found:
    """Return what somebody finds who looks at the desk of a study on a log.

    `did`: what was done, for the log, which says it of researchers in the browser, too.
    """
    path = log or default_path()
    with LogWriter(path, durable=True) as writer, LogReader(path) as reader:
        result = look(desk_of(study, writer, reader), reader)
        if did:
            details = {"by": COMMAND, "did": did, "study": study.id}
            writer.put(Event(kind=_ACTS.get(did, "researcher.study"), details=details)).result()
        return result


def _print_progress(console: Console, study: Study, progress: StudyProgress) -> None:
    shown = [state for state in STATES if state in _ALWAYS or progress.states[state]]
    table = Table(
        "condition", "wanted", *shown, "open", title=study.title_in(study.language), title_justify="left"
    )
    for cell in progress.cells:
        counts = (cell.wanted, *(cell.states[state] for state in shown), cell.open)
        table.add_row(cell_name(cell.cell) or "all", *map(str, counts))
    if len(progress.cells) > 1 or progress.states["withdrawn"]:
        total = (
            progress.wanted,
            *(progress.states[state] for state in shown),
            sum(cell.open for cell in progress.cells),
        )
        table.add_section()
        table.add_row("in all", *map(str, total))
    console.print(table)
    if progress.pairs:
        console.print(f"pairs  {_counts(progress.pairs)}", highlight=False)
    if progress.median_minutes is not None and progress.hourly_pay is not None:
        console.print(f"median {progress.median_minutes:.1f} minutes, {progress.hourly_pay:.2f} per hour")
    if progress.failed_checks:
        console.print(f"completed with a missed attention check: {progress.failed_checks}")
    console.print(f"spent {progress.spent:.2f}, committed {progress.committed:.2f}")
    if progress.closed_since is not None:
        console.print(f"closed for new participants since {written(progress.closed_since)}", highlight=False)
    if progress.refused:
        console.print(f"refused  {_counts(progress.refused)}", highlight=False)


def _print_plan(study: Study) -> None:
    """Print what a study asks for: places, conditions, time and money."""
    plan, console = plan_of(study), Console()
    several = f" by at least {plan.people} people" if study.sets_per_participant > 1 else ""
    console.print(f"[bold]{study.id}[/bold]  {study.title_in(study.language)}", highlight=False)
    seats = ", ".join(f"{seat}: {who}" for seat, who in plan.seating.items())
    console.print(f"{plan.sets} sets in {plan.conditions} conditions{several}; {seats}", highlight=False)
    if study.pay:
        total = f"{plan.total:.2f} {study.pay.currency}"
        hourly = f"{plan.hourly:.2f}"
        console.print(f"pay {total} in all, {hourly} per hour if a set takes {study.pay.minutes:g} min")
    if plan.no_code:
        console.print(f"[yellow]no completion code for:[/yellow] {', '.join(plan.no_code)}", highlight=False)


def _models_answer(study: Study, base_url: list[str] | None, timeout: float | None) -> bool:
    """Print which models that sit opposite people give no answer; return True if all do."""
    flags = ModelFlags(base_url=base_url, timeout=timeout)
    missing = absent_opposite(study, flags.options(default_path()))
    for name, error in missing.items():
        Console().print(
            f"[red]{name}[/red] cannot sit opposite people: {why_absent(name, error)}", highlight=False
        )
    return not missing


def _key(log: Path | None) -> bytes:
    path = log or default_path()
    # The key lies beside the log, which need not be there yet.
    with LogWriter(path, durable=True):
        return load_key(path)


def _counts(counts: Mapping[Any, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items() if count) or "none"
