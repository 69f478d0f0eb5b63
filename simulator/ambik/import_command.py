"""`askback import ambik-results`: published and foreign results into the log, as runs (spec 9, 13)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.text import Text

from logs import LogWriter
from logs.cli import LogOption
from logs.paths import default_path
from simulator.ambik.importing.runs import Imported, ImportedFile, import_sources
from simulator.ambik.importing.sources import read_sources
from simulator.ambik.playing import ROBOT
from simulator.ambik.terms import NAMES
from simulator.runner.telling import fault_text

_TOLD: Final = 20


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
    log: LogOption = None,
) -> None:
    """Bring results into the log, a run for each robot, method and configuration; again it adds nothing.

    Calibrations become runs of their own. Lines that are no decisions are left out and told; stored sets and
    scores are compared with recomputed ones. The exit code is 1 if a file could not be imported.
    """
    sources = read_sources(paths, data=data)
    path = log or default_path()
    done: tuple[ImportedFile, ...] = ()
    if sources.files:
        with LogWriter(path, durable=False) as writer:
            done = import_sources(sources.files, writer, name=run)
    errors = Console(stderr=True)
    for file in sources.passed_over:
        _say(errors, f"{file}: no decisions; passed over", "dim")
    for one in done:
        _tell(one, path)
    failed = [*sources.unreadable, *(reason for one in done for reason in _refused(one))]
    for reason in failed:
        _say(errors, reason, "red")
    runs = [each.run.id for one in done for each in one.runs if not each.calibrates]
    if runs:
        _say(Console(), f"More of them: askback report ambik {' '.join(runs)}")
    if failed:
        raise typer.Exit(1)


def _refused(one: ImportedFile) -> tuple[str, ...]:
    if one.refused or one.runs:
        return one.refused
    return (f"{one.source.path}: nothing of it was imported",)


def _tell(one: ImportedFile, log: Path) -> None:
    console, errors = Console(), Console(stderr=True)
    for each in one.runs:
        _say(console, _line(each, log))
        if each.differences:
            _say(console, f"{len(each.differences)} stored values of {each.run.id} are not those recomputed:")
            _some(console, each.differences)
    if one.source.bare:
        count = f"{one.source.bare} of {sum(len(each.sittings) for each in one.source.batches)}"
        _say(
            console,
            f"of {count} decisions the scenario is known by its number alone (name the file of scenarios, or "
            "the data with --data)",
        )
    if one.source.forms:
        _say(errors, f"{one.source.path}: {one.source.forms} lines are annotators' forms; left out", "yellow")
    if one.faults:
        _say(errors, f"{len(one.faults)} lines of {one.source.path} left out:")
        _some(errors, [fault_text(fault) for fault in one.faults], "yellow")


def _line(one: Imported, log: Path) -> str:
    config = one.run.config
    method = config["options"]["method"]
    who = ", ".join(filter(None, (NAMES.get(method, ""), config["seats"][ROBOT])))
    what = "calibration, " if one.calibrates else ""
    state = f"{one.added} episodes added" if one.added else "nothing new"
    if one.added and not one.new:
        state += ", which an import had left out"
    return f"run {one.run.id} in {log}: {what}{who}, {one.lines} lines, {one.episodes} episodes; {state}"


def _some(console: Console, lines: Sequence[str], style: str = "") -> None:
    for line in lines[:_TOLD]:
        _say(console, f"  {line}", style)
    if len(lines) > _TOLD:
        _say(console, f"  … and {len(lines) - _TOLD} more", style)


def _say(console: Console, line: str, style: str = "") -> None:
    console.print(Text(line, style), highlight=False, soft_wrap=True)
