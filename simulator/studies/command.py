"""`askback study`: create, open, watch, reconcile and close studies with people."""

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
from simulator.output_files import write_atomically
from simulator.runner.options import BaseUrlOption, ModelFlags, TimeoutOption
from simulator.studies.admission import erase_due, pending_erasures
from simulator.studies.desk import StudyDesk
from simulator.studies.files import Study, read_study
from simulator.studies.known import (
    absent_opposite,
    check_studies,
    find_study,
    require_unchanged,
    study_file,
    why_absent,
)
from simulator.studies.ledger import format_time
from simulator.studies.people import personal_link, preview_link, study_link
from simulator.studies.places import COMMAND
from simulator.studies.progress import StudyProgress
from simulator.studies.quota import STATES, Place, cell_name
from simulator.studies.reconcile import reconcile
from simulator.studies.steering import admit_as, close, desk_of, plan_of, study_statuses

study_app = typer.Typer(
    no_args_is_help=True, help="Run studies with people: links, progress, participants, data."
)
# States that are shown even if their count is 0.
_ALWAYS: Final = ("started", "completed")
_ResultT = TypeVar("_ResultT")
_PersonArgument = Annotated[str, typer.Argument(help="participant, by platform id or pseudonym")]
_ReasonOption = Annotated[str, typer.Option(help="reason, kept in the log")]
_ACTS: Final = {"bonus": "researcher.payment", "erase": "researcher.erase"}
_SITE: Final = "http://127.0.0.1:7860"
_SiteOption = Annotated[str, typer.Option(help="URL at which people reach the app")]
StudyArgument = Annotated[str, typer.Argument(help="study file, or id of a study")]


@study_app.command("list")
def list_studies(log: LogOption = None) -> None:
    """List the built-in studies and those of the log, with the number of people who completed each."""
    path = log or default_path()
    with LogWriter(path, durable=True) as writer, LogReader(path) as reader:
        known = study_statuses(writer, reader)
    # Names are typed next, so they are not wrapped; titles get the remaining width.
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
    """Show places by condition and state, time on task, and pay."""
    chosen = find_study(study, log)
    _print_progress(Console(), chosen, with_desk(chosen, log, lambda desk, reader: desk.progress()))


@study_app.command("reconcile")
def show_balance(
    study: StudyArgument,
    export: Annotated[
        Path | None, typer.Option(help="CSV file of submissions exported from Prolific", exists=True)
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
        mark = "[dim]explained[/dim]" if finding.explained else "[yellow]check[/yellow]"
        console.print(f"{mark}  {finding.sentence}", highlight=False)
    console.print("The books balance." if balance.balanced else "The books do not balance.")
    if not balance.balanced:
        raise typer.Exit(1)


@study_app.command("new")
def write_study(
    source: StudyArgument,
    file: Annotated[
        Path, typer.Argument(help="file to write, such as my-study.yaml; its name becomes the id")
    ],
) -> None:
    """Create a study file from another one: a copy with its comments, under a new id."""
    if file.exists():
        raise InputError(f"{file} already exists; choose another name.")
    text = study_file(source).read_text(encoding="utf-8")
    write_atomically(file, re.sub(r"(?m)^id:.*$", f"id: {file.stem}", text, count=1))
    try:
        study = read_study(file)
    except InputError:
        file.unlink()
        raise
    print(f"{file} is study {study.id}. Adapt its title, numbers, pay, codes and texts.")
    print(f"Then run: askback study check {file}")


@study_app.command("check")
def check_study(study: StudyArgument, base_url: BaseUrlOption = None, timeout: TimeoutOption = None) -> None:
    """Show a study's faults, or its places, time and pay, and test its models; exit code 1 if any fails."""
    if Path(study).is_file() and (faults := check_studies([Path(study)])):
        raise InputError("\n".join(map(str, faults)))
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
        typer.Option("--id", help="platform id of a person to print a personal link for (repeatable)"),
    ] = None,
    log: LogOption = None,
) -> None:
    """Print the study's link, for a recruitment platform, and personal links, which work in any browser.

    With `signed_links: true` in its file, the study admits nobody who comes by any other link.
    """
    chosen, key = find_study(study, log), _key(log)
    print(study_link(chosen, key, site))
    for name in person or ():
        print(personal_link(chosen, key, site, name))


@study_app.command("preview")
def print_preview(study: StudyArgument, site: _SiteOption = _SITE, log: LogOption = None) -> None:
    """Print a link to try the study as a participant; nothing done there counts."""
    print(preview_link(find_study(study, log), _key(log), site))


@study_app.command("erase")
def erase_withdrawn(
    study: StudyArgument,
    person: Annotated[
        str | None,
        typer.Argument(help="participant who has not withdrawn, by platform id or pseudonym"),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="erase the person without confirmation")] = False,
    log: LogOption = None,
) -> None:
    """Erase now everyone who has withdrawn from the study, or one person on request; leaves receipts."""
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
        print("There is nobody left to erase.")


@study_app.command("close")
def close_study(
    study: StudyArgument,
    yes: Annotated[bool, typer.Option("--yes", help="erase withdrawn people without confirmation")] = False,
    log: LogOption = None,
) -> None:
    """Close the study: admit nobody new, erase everyone who withdrew; people under way may finish."""
    chosen = find_study(study, log)
    leaving = with_desk(chosen, log, lambda desk, reader: pending_erasures(reader, chosen.run_id))
    if leaving and not yes:
        typer.confirm(
            f"Close {chosen.id} and erase the participants who have withdrawn ({', '.join(leaving)})? "
            "Erasing cannot be undone.",
            abort=True,
        )
    (changed, erased), progress = with_desk(
        chosen, log, lambda desk, reader: (close(desk, reader), desk.progress()), did="close"
    )
    print(f"{chosen.id} is {'' if changed else 'already '}closed; {progress.under_way} under way may finish.")
    _print_erased(erased)


@study_app.command("pause")
def pause_study(study: StudyArgument, log: LogOption = None) -> None:
    """Admit nobody new until the study is opened again; people under way may finish."""
    chosen = find_study(study, log)
    changed, progress = with_desk(
        chosen, log, lambda desk, reader: (admit_as(desk, "paused"), desk.progress()), did="pause"
    )
    print(f"{chosen.id} is {'' if changed else 'already '}paused; {progress.under_way} under way may finish.")


@study_app.command("open")
def open_study(
    study: StudyArgument,
    site: _SiteOption = _SITE,
    base_url: BaseUrlOption = None,
    timeout: TimeoutOption = None,
    log: LogOption = None,
) -> None:
    """Open or reopen a study, and print its links. From now on its content is fixed.

    Models that play with people are tested first. Servers on the same log admit people immediately.
    """
    chosen = find_study(study, log)
    if not _models_answer(chosen, base_url, timeout):
        raise typer.Exit(1)
    changed = with_desk(chosen, log, lambda desk, reader: admit_as(desk, "open"), did="open")
    key = _key(log)
    print(f"{chosen.id} is open{' again' if changed else ''}.")
    print(f"for participants  {study_link(chosen, key, site)}")
    print(f"for a preview     {preview_link(chosen, key, site)}")


@study_app.command("restore")
def restore_participant(study: StudyArgument, person: _PersonArgument, log: LogOption = None) -> None:
    """Undo a withdrawal or an exclusion: completed sets count again."""
    chosen = find_study(study, log)
    who = _participant(chosen, person, log)

    def restore(desk: StudyDesk, reader: LogReader) -> tuple[Place, ...]:
        if who not in reader.withdrawals() and who in reader.exclusions(chosen.run_id):
            return asyncio.run(desk.include(who, by=COMMAND))
        return asyncio.run(desk.restore(who))

    places = with_desk(chosen, log, restore, did="restore")
    print(f"{who} is back: {', '.join(place.state for place in places)}.")


@study_app.command("release")
def release_places(study: StudyArgument, person: _PersonArgument, log: LogOption = None) -> None:
    """Let a participant continue in a different browser."""
    chosen = find_study(study, log)
    who = _participant(chosen, person, log)
    with_desk(chosen, log, lambda desk, reader: asyncio.run(desk.release(who)), did="release")
    print(f"{who} may continue in the next browser that opens the study.")


@study_app.command("exclude")
def exclude_participant(
    study: StudyArgument, person: _PersonArgument, reason: _ReasonOption, log: LogOption = None
) -> None:
    """Exclude a participant: their places are freed; reports include them only with --with-excluded."""
    chosen = find_study(study, log)
    who = _participant(chosen, person, log)
    places = with_desk(chosen, log, lambda desk, reader: asyncio.run(desk.exclude(who, reason, by=COMMAND)))
    print(f"{who} is excluded; places freed: {len(places)}. `askback study restore` undoes this.")


@study_app.command("return")
def return_place(
    study: StudyArgument, person: _PersonArgument, reason: _ReasonOption, log: LogOption = None
) -> None:
    """Free the place of a participant who is under way; what they did is kept."""
    chosen = find_study(study, log)
    who = _participant(chosen, person, log)
    with_desk(chosen, log, lambda desk, reader: asyncio.run(desk.free(who, reason, by=COMMAND)))
    print(f"{who} has left, and the place is free.")


@study_app.command("message")
def write_to_participant(
    study: StudyArgument,
    person: _PersonArgument,
    text: Annotated[str, typer.Argument(help="message, shown on their page until they acknowledge it")],
    log: LogOption = None,
) -> None:
    """Write to a participant; the log records when they have read the message."""
    chosen = find_study(study, log)
    who = _participant(chosen, person, log)
    with_desk(chosen, log, lambda desk, reader: asyncio.run(desk.send_message(who, text, by=COMMAND)))
    print(f"{who} will see it when their page next updates or becomes visible.")


def _print_erased(erased: Sequence[Erasure]) -> None:
    for erasure in erased:
        print(f"{erasure.participant_id} is erased. {erasure.recognition_note}")


def _participant(study: Study, person: str, log: Path | None) -> str:
    """Return the pseudonym of a participant, given the pseudonym or the platform id."""
    path = log or default_path()
    with LogReader(path) as reader:
        known = {participant.id for participant in reader.participants()}
    named = pseudonym_of(load_key(path), study.identity[0].lower(), person)
    who = next((name for name in (person, named) if name in known), None)
    if who is None:
        raise InputError(f"{person}: no participant in {path} has this {study.identity[0]} or pseudonym.")
    return who


def with_desk(
    study: Study, log: Path | None, do: Callable[[StudyDesk, LogReader], _ResultT], did: str = ""
) -> _ResultT:
    """Return the result of `do` on the desk of a study on a log.

    `did`: the action to log as a researcher's, as for actions in the browser; empty for none.

    Raises:
        InputError: if the study was changed after it was opened.
    """
    path = log or default_path()
    with LogWriter(path, durable=True) as writer, LogReader(path) as reader:
        require_unchanged(study, reader)
        result = do(desk_of(study, writer, reader), reader)
        if did:
            details = {"by": COMMAND, "did": did, "study": study.id}
            writer.put(Event(kind=_ACTS.get(did, "researcher.study"), details=details)).result()
        return result


def _print_progress(console: Console, study: Study, progress: StudyProgress) -> None:
    shown = [state for state in STATES if state in _ALWAYS or progress.states[state]]
    heads = [Column(name, overflow="fold") for name in ("condition", "wanted", *shown, "open")]
    table = Table(*heads, title=study.title_in(study.language), title_justify="left")
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
        table.add_row("total", *map(str, total))
    console.print(table)
    if progress.pairs:
        console.print(f"pairs  {_counts(progress.pairs)}", highlight=False)
    if progress.median_minutes is not None and progress.hourly_pay is not None:
        console.print(f"median {progress.median_minutes:.1f} minutes, {progress.hourly_pay:.2f} per hour")
    if progress.failed_checks:
        console.print(f"completed with a missed attention check: {progress.failed_checks}")
    console.print(f"spent {progress.spent:.2f}, committed {progress.committed:.2f}")
    if study.model_budget is not None:
        console.print(f"models {progress.model_cost:.2f} of {study.model_budget:.2f} USD")
    if progress.closed_since is not None:
        console.print(
            f"closed for new participants since {format_time(progress.closed_since)}", highlight=False
        )
    if progress.refused:
        console.print(f"refused  {_counts(progress.refused)}", highlight=False)


def _print_plan(study: Study) -> None:
    """Print a study's places, conditions, time and pay."""
    plan, console = plan_of(study), Console()
    people = f" by at least {plan.people} people" if study.sets_per_participant > 1 else ""
    console.print(f"[bold]{study.id}[/bold]  {study.title_in(study.language)}", highlight=False)
    seats = ", ".join(f"{seat}: {who}" for seat, who in plan.seating.items())
    console.print(f"{plan.sets} sets in {plan.conditions} conditions{people}; {seats}", highlight=False)
    if study.pay:
        total = f"{plan.total:.2f} {study.pay.currency}"
        hourly = f"{plan.hourly:.2f}"
        leaving = "" if study.pay.paid_exit is None else f"; a paid exit {study.pay.paid_exit:.2f}"
        console.print(
            f"total pay {total}, {hourly} per hour if a set takes {study.pay.minutes:g} min{leaving}"
        )
    if plan.no_code:
        console.print(f"[yellow]no completion code for:[/yellow] {', '.join(plan.no_code)}", highlight=False)


def _models_answer(study: Study, base_url: list[str] | None, timeout: float | None) -> bool:
    """Print the models that play with people but do not answer; return True if all answer."""
    flags = ModelFlags(base_url=base_url, timeout=timeout)
    missing = absent_opposite(study, flags.options(default_path()))
    for name, error in missing.items():
        Console().print(
            f"[red]{name}[/red] cannot play with people: {why_absent(name, error)}", highlight=False
        )
    return not missing


def _key(log: Path | None) -> bytes:
    path = log or default_path()
    # The key is stored next to the log, which may not exist yet.
    with LogWriter(path, durable=True):
        return load_key(path)


def _counts(counts: Mapping[Any, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items() if count) or "none"
