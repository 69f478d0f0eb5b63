"""`askback audit provider`: a provider's decisions beside logged ones (`audit`)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
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
from simulator.clarq.reporting.audit_report import (
    AuditReport,
    ReplayRow,
    audit_json,
    print_audit,
    sections_json,
)
from simulator.clarq.reporting.terminal import tell_left_out
from simulator.clarq.results import read_results
from simulator.clarq.seating import models_of, seat_for
from simulator.errors import InputError
from simulator.home import home
from simulator.models import Budget, ModelOptions, Needs
from simulator.runner.build import Models
from simulator.runner.options import BaseUrlOption, BudgetOption, JsonOption


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
    budget: BudgetOption = None,
    base_url: BaseUrlOption = None,
    log: LogOption = None,
) -> None:
    """Compare a provider's decisions with those in published results or in a run.

    With --leave-types-out, the built-in provider is trained anew for each part of the task types, on all the
    others, and compared on that part: with single- and multi-info dialogues, and with labelled questions.
    """
    if leave_types_out:
        _audit_left_out(sources, provider, replay=replay, show=show, as_json=as_json)
        return
    dialogues, erased = load_dialogues(sources, log or default_path(), tell_left_out)
    options = ModelOptions(
        base_url=base_url,
        cache_path=home() / "cache.sqlite",
        budget=None if budget is None else Budget(budget),
        concurrency=concurrency,
    )
    report, replayed = asyncio.run(
        _audit_named(provider, dialogues, options, multi=multi, replay=replay, concurrency=concurrency)
    )
    console = Console()
    if as_json:
        console.print_json(data=audit_json(report, replayed, erased))
    else:
        print_audit(console, report, replayed, show=show, erased=erased)


def _audit_left_out(sources: Sequence[str], provider: str, *, replay: bool, show: int, as_json: bool) -> None:
    if provider != OfflineExperts().name:
        raise InputError(
            f"--leave-types-out trains {OfflineExperts().name}; {provider} cannot be trained here."
        )
    if missing := [source for source in sources if not Path(source).is_file()]:
        raise InputError(f"--leave-types-out needs published results files; {missing[0]} is not a file.")
    files = {Path(source): read_results(source) for source in sources}
    for path, file in files.items():
        tell_left_out(path, file)
    runs = [file.dialogues for file in files.values()]
    sections = asyncio.run(audit_left_out(runs, training_questions(), replays=replay))
    console = Console()
    if as_json:
        console.print_json(data=sections_json(sections))
        return
    for part in sections:
        print_audit(console, part.report, part.replay, show=show, title=part.title)


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
        await models.preflight(dict.fromkeys(models_of(name), Needs(schema=True)))
        report = await audit(seat.experts, dialogues, multi=multi, concurrency=concurrency)
        if not replay:
            return report, ()
        return report, await replay_success(seat.experts, dialogues, multi=multi, concurrency=concurrency)
    finally:
        await models.close()
