"""`askback report ambibench`: tables and figures of runs, and of trials from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from logs import LogReader
from logs.cli import LogOption
from logs.paths import default_path
from simulator.ambibench.labels import Mode, Tie
from simulator.ambibench.reporting.figures import FIGURES, chosen_figures
from simulator.ambibench.reporting.report import Report, print_report, report
from simulator.ambibench.reporting.results import Results
from simulator.ambibench.reporting.tables import tables
from simulator.ambibench.reporting.terminal import SUFFIXES, Form, formatted, one_table
from simulator.ambibench.trial_log import write_trials
from simulator.duplicates import Duplicates, DuplicatesOption
from simulator.errors import InputError
from simulator.figures import Table, save
from simulator.runner.options import ExcludeAbortedOption
from simulator.runner.telling import tell_problems
from simulator.whole import write_whole

DRAWN_AS: Final = ("png", "svg", "html", "csv", "json")
_FORMS: Final[tuple[Form, ...]] = ("csv", "latex")


def report_ambibench(
    runs: Annotated[
        list[str] | None, typer.Argument(help="names of runs (askback log list shows them)")
    ] = None,
    files: Annotated[
        list[Path] | None, typer.Option("--from", help="trials from elsewhere, JSON lines")
    ] = None,
    figure: Annotated[
        list[str] | None,
        typer.Option(help=f"figures to draw: {', '.join(FIGURES)}, or all (default with --out)"),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="folder for figures and tables")] = None,
    suffix: Annotated[str, typer.Option(help=f"how figures are written: {', '.join(DRAWN_AS)}")] = "png,svg",
    table: Annotated[
        Form | None,
        typer.Option(help="form of tables; default: text here, csv and latex in files"),
    ] = None,
    trials: Annotated[Path | None, typer.Option(help="write every trial there, JSON lines")] = None,
    score_mode: Annotated[
        Mode | None, typer.Option(help="how tables of probabilities are read; default: as the run says")
    ] = None,
    tie: Annotated[
        Tie | None, typer.Option(help="what a tie for the first place counts; default: as the run says")
    ] = None,
    actor: Annotated[
        list[str] | None,
        typer.Option(help="NAME=LABEL: what an actor is called; NAME may hold *, LABELs may repeat"),
    ] = None,
    exclude_aborted: ExcludeAbortedOption = False,
    duplicates: DuplicatesOption = "refuse",
    log: LogOption = None,
) -> None:
    """Accuracy, validity and curves of people, models and the oracle: tables, and the paper's figures."""
    wanted = chosen_figures(figure or (["all"] if out else []))
    suffixes = _suffixes(suffix)
    if wanted and out is None:
        raise InputError("--figure needs --out FOLDER to draw into.")
    found = _report(
        runs or [], files or [], score_mode, tie, _labels(actor or []), log, exclude_aborted, duplicates
    )
    tell_problems("AmbiBench", found.duplicates, ())
    console = Console()
    if trials is not None:
        count = write_trials(trials, found.trials)
        # What another program is to read stands alone.
        notices = Console(stderr=True) if out is None and table not in (None, "text") else console
        notices.print(f"{count} trials -> {trials}", highlight=False, soft_wrap=True)
    if out is None:
        _show(console, found, table, quiet=trials is not None)
        return
    written = _write_tables(out, tables(found.results, found.agreements), (table,) if table else _FORMS)
    drawn, missing = _draw(out, found.results, wanted, suffixes)
    for path in (*written, *drawn):
        console.print(f"wrote {path}", highlight=False, soft_wrap=True)
    for number, lacks in missing:
        console.print(
            f"figure {number}: {lacks}", highlight=False, markup=False, style="yellow", soft_wrap=True
        )


def _report(
    runs: Sequence[str],
    files: Sequence[Path],
    mode: Mode | None,
    tie: Tie | None,
    labels: Mapping[str, str],
    log: Path | None,
    exclude_aborted: bool,
    duplicates: Duplicates,
) -> Report:
    if not runs and not files:
        raise InputError("Name runs (askback log list shows them), or files with --from.")
    if not runs:
        return report(None, (), files, mode=mode, tie=tie, labels=labels, duplicates=duplicates)
    with LogReader(log or default_path()) as reader:
        return report(
            reader,
            runs,
            files,
            mode=mode,
            tie=tie,
            labels=labels,
            exclude_aborted=exclude_aborted,
            duplicates=duplicates,
        )


def _show(console: Console, found: Report, form: Form | None, *, quiet: bool) -> None:
    if form not in (None, "text"):
        typer.echo(formatted(tables(found.results, found.agreements), form), nl=False)
    elif form == "text" or not quiet:
        print_report(console, found)


def _write_tables(folder: Path, found: Mapping[str, Table], forms: Iterable[Form]) -> list[Path]:
    return [
        write_whole(folder / f"{name}{SUFFIXES[form]}", one_table(table, form))
        for name, table in found.items()
        for form in forms
    ]


def _draw(
    folder: Path, found: Results, numbers: Iterable[str], suffixes: Iterable[str]
) -> tuple[list[Path], list[tuple[str, str]]]:
    """The files that were drawn, and what each figure lacks."""
    written: list[Path] = []
    missing: list[tuple[str, str]] = []
    for number in numbers:
        figure, lacks = FIGURES[number](found)
        missing += [(number, one) for one in lacks]
        if figure is not None:
            written += [save(figure, folder / f"{figure.name}.{suffix}") for suffix in suffixes]
    return written, missing


def _suffixes(text: str) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(part.strip().removeprefix(".") for part in text.split(",") if part.strip()))
    if unknown := [one for one in found if one not in DRAWN_AS]:
        raise InputError(f"--suffix {unknown[0]}: figures are written as {', '.join(DRAWN_AS)}.")
    return found


def _labels(given: Iterable[str]) -> dict[str, str]:
    found = {}
    for one in given:
        name, sign, label = one.partition("=")
        if not (name and sign and label.strip()):
            raise InputError(f"--actor {one!r}: write NAME=LABEL.")
        found[name] = label.strip()
    return found
