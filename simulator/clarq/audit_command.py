"""`askback audit provider`: a provider's decisions beside logged ones (`audit`)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console

from logs.cli import LogOption
from logs.paths import default_path
from simulator.clarq.audit import CONCURRENCY, audit, replay_success
from simulator.clarq.audited import AuditDialogue, load_dialogues
from simulator.clarq.graph import PROVIDER, ProviderAgent
from simulator.clarq.reporting.audit_report import AuditReport, ReplayRow, audit_json, print_audit
from simulator.clarq.reporting.terminal import tell_left_out
from simulator.clarq.seating import seat_for
from simulator.errors import InputError
from simulator.home import home
from simulator.models import Budget, ModelOptions
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
    as_json: JsonOption = False,
    concurrency: Annotated[int, typer.Option(min=1, help="decisions at a time")] = CONCURRENCY,
    budget: BudgetOption = None,
    base_url: BaseUrlOption = None,
    log: LogOption = None,
) -> None:
    """Compare a provider's decisions with those in published results or in a run."""
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
        report = await audit(seat.experts, dialogues, multi=multi, concurrency=concurrency)
        if not replay:
            return report, ()
        return report, await replay_success(seat.experts, dialogues, multi=multi, concurrency=concurrency)
    finally:
        await models.close()
