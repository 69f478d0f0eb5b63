"""`askback audit provider`: a provider's decisions beside logged ones (`audit`)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from logs.cli import LogOption
from logs.paths import default_path
from simulator.clarq.audit import CONCURRENCY, audit, replay_success
from simulator.clarq.audited import AuditDialogue, load_dialogues
from simulator.clarq.graph import PROVIDER, ProviderAgent
from simulator.clarq.labelled import training_questions
from simulator.clarq.left_out import audit_left_out
from simulator.clarq.players.experts_offline import OfflineExperts
from simulator.clarq.reporting.audit_report import AuditReport, ReplayRow, audit_section
from simulator.clarq.reporting.sections import tell_left_out
from simulator.clarq.results import read_results
from simulator.clarq.seating import models_of, seat_for
from simulator.duplicates import Duplicates, DuplicatesOption
from simulator.errors import InputError
from simulator.models import ModelOptions, Needs
from simulator.reporting import Report, Section, json_text, print_report
from simulator.runner.build import Models
from simulator.runner.command import asked_how, refuse_idle_options
from simulator.runner.model_flags import NO_FLAGS, ModelFlags, asks_models
from simulator.runner.options import JsonOption


@asks_models
def audit_provider(
    sources: Annotated[list[str], typer.Argument(help="published results files, or names of runs")],
    provider: Annotated[
        str, typer.Option(help="whose decisions: offline/experts, provider/model or experts:…")
    ] = "offline/experts",
    multi: Annotated[bool, typer.Option("--multi", help="ask it as the multi-info provider")] = False,
    replay: Annotated[bool, typer.Option(help="also replay the logged seeker lines")] = True,
    show: Annotated[int, typer.Option(min=0, help="print so many disagreements")] = 0,
    leave_types_out: Annotated[
        bool,
        typer.Option(
            "--leave-types-out", help="offline/experts on types they are not trained on, from files"
        ),
    ] = False,
    as_json: JsonOption = False,
    concurrency: Annotated[int, typer.Option(min=1, help="decisions at a time")] = CONCURRENCY,
    flags: ModelFlags = NO_FLAGS,
    duplicates: DuplicatesOption = "refuse",
    log: LogOption = None,
) -> None:
    """Compare a provider's decisions with those in published results or in a run.

    With --leave-types-out, the built-in provider is trained anew for each part of the task types, on all the
    others, and compared on that part: with single- and multi-info dialogues, and with labelled questions.
    """
    path = log or default_path()
    options = replace(flags.options(path), concurrency=concurrency)
    if leave_types_out:
        refuse_idle_options(options, asked=False)
        _audit_left_out(sources, provider, duplicates, replay=replay, show=show, as_json=as_json)
        return
    dialogues, erased = load_dialogues(sources, path, tell_left_out, duplicates)
    report, replayed = asyncio.run(
        _audit_named(provider, dialogues, options, multi=multi, replay=replay, concurrency=concurrency)
    )
    section = audit_section(report, replayed, show=show, erased=erased, asked=asked_how(options))
    _tell(provider, [section], as_json=as_json)


def _tell(provider: str, sections: Sequence[Section], *, as_json: bool) -> None:
    report = Report(title=f"Audit of {provider}", sections=sections)
    if as_json:
        typer.echo(json_text(report))
    else:
        print_report(Console(), report)


def _audit_left_out(
    sources: Sequence[str],
    provider: str,
    duplicates: Duplicates,
    *,
    replay: bool,
    show: int,
    as_json: bool,
) -> None:
    if provider != OfflineExperts().name:
        raise InputError(
            f"--leave-types-out trains {OfflineExperts().name}; {provider} cannot be trained here."
        )
    if missing := [source for source in sources if not Path(source).is_file()]:
        raise InputError(f"--leave-types-out needs published results files; {missing[0]} is not a file.")
    files = {Path(source): read_results(source, duplicates) for source in sources}
    for path, file in files.items():
        tell_left_out(path, file)
    runs = [file.dialogues for file in files.values()]
    parts = asyncio.run(audit_left_out(runs, training_questions(), replays=replay))
    sections = [
        audit_section(part.report, part.replay, name=part.name, source=part.source, show=show)
        for part in parts
    ]
    _tell(provider, sections, as_json=as_json)


async def _audit_named(
    name: str,
    dialogues: Sequence[AuditDialogue],
    options: ModelOptions,
    *,
    multi: bool,
    replay: bool,
    concurrency: int,
) -> tuple[AuditReport, tuple[ReplayRow, ...]]:
    models = Models(options=options)
    try:
        seat = seat_for(PROVIDER, name, models, {})
        if not isinstance(seat, ProviderAgent):
            raise InputError(f"{name} does not decide through experts; nothing to audit.")
        refuse_idle_options(options, asked=bool(models.loaded))
        await models.preflight(dict.fromkeys(models_of(name), Needs(schema=True)))
        report = await audit(seat.experts, dialogues, multi=multi, concurrency=concurrency)
        if not replay:
            return report, ()
        return report, await replay_success(seat.experts, dialogues, multi=multi, concurrency=concurrency)
    finally:
        await models.close()
