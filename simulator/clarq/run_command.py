"""`askback run clarq`, and ClarQ's part of `askback score`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from logs import LogReader, LogWriter
from logs.cli import LogOption
from logs.paths import default_path
from simulator.clarq.data import load_items
from simulator.clarq.graph import PROVIDER, SEEKER, TURN_LIMIT
from simulator.clarq.judge import judge_run
from simulator.clarq.prompts import Personas
from simulator.clarq.reporting.report import report
from simulator.clarq.reporting.scored import score_run
from simulator.clarq.reporting.terminal import print_report, report_json
from simulator.clarq.room import ROOM
from simulator.clarq.score import score_rows
from simulator.clarq.seating import models_of
from simulator.home import home
from simulator.models import Budget, ChatModel, Decoding, Malformed, ModelOptions, Needs, run_preflight
from simulator.runner.build import Models
from simulator.runner.command import Afterwards, Wanted, play, read_manner, read_ranges
from simulator.runner.options import (
    BaseUrlOption,
    BudgetOption,
    CacheOption,
    ConcurrencyOption,
    ExcludeAbortedOption,
    MaxTokensOption,
    PricesOption,
    ReasoningEffortOption,
    RepeatOption,
    RunOption,
    SeedOption,
    SetOption,
    TemperatureOption,
    TimeoutOption,
    TopPOption,
    WorkersOption,
)
from simulator.runner.telling import has_gone_wrong, say
from simulator.sampling import balanced
from trees import Task
from trees.types import Split

SHOWN = {"success": "S", "aqd": "D", "aql": "L"}
SEEKERS = "offline/seeker[:careful|hasty|verbose], provider/model or script:FILE"
PROVIDERS = "offline/experts, provider/model, experts:type=A,walk=B,respond=C or script:FILE"
Lang = Literal["en", "zh", "both"]
Mode = Literal["completion", "chat"]


def run_clarq(
    seeker: Annotated[str, typer.Option(help="who seeks: " + SEEKERS)] = "offline/seeker",
    provider: Annotated[str, typer.Option(help="who provides: " + PROVIDERS)] = "offline/experts",
    data: Annotated[str, typer.Option(help="builtin, the name of added data (clarq), or a path")] = "builtin",
    lang: Annotated[Lang, typer.Option(help="language of the items")] = "en",
    types: Annotated[str | None, typer.Option(help="task types, such as 1-10 or 3,7,12")] = None,
    split: Annotated[Split | None, typer.Option(help="test (types 1-26) or development (27-31)")] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="so many items, equally many of each language and task type")
    ] = None,
    repeat: RepeatOption = 1,
    seed: SeedOption = 0,
    concurrency: ConcurrencyOption = 8,
    workers: WorkersOption = None,
    mode: Annotated[Mode, typer.Option(help="a model seeker's mode: completion or chat")] = "completion",
    personas: Annotated[
        Personas, typer.Option(help="greeting and seeker's prompts: our own, or those of the paper")
    ] = "default",
    multi: Annotated[bool, typer.Option("--multi", help="the multi-info provider")] = False,
    turn_limit: Annotated[int, typer.Option(min=1, help="seeker turns per dialogue")] = TURN_LIMIT,
    judge: Annotated[str | None, typer.Option(help="a model that settles open successes")] = None,
    budget: BudgetOption = None,
    base_url: BaseUrlOption = None,
    temperature: TemperatureOption = None,
    top_p: TopPOption = None,
    max_tokens: MaxTokensOption = None,
    reasoning_effort: ReasoningEffortOption = None,
    settings: SetOption = None,
    timeout: TimeoutOption = None,
    cache: CacheOption = True,
    prices: PricesOption = None,
    run: RunOption = None,
    exclude_aborted: ExcludeAbortedOption = False,
    log: LogOption = None,
) -> None:
    """Play ClarQ-LLM dialogues and score them. The same command again continues where it stopped."""
    languages = ("en", "zh") if lang == "both" else (lang,)
    wanted_types = None if types is None else read_ranges("--types", types, "1-10 or 3,7,12")
    manner = read_manner(
        log,
        seed=seed,
        repeat=repeat,
        concurrency=concurrency,
        workers=workers,
        budget=budget,
        base_url=base_url,
        cache=cache,
        prices=prices,
        run=run,
        decoding=Decoding(temperature=temperature, top_p=top_p, max_tokens=max_tokens),
        reasoning_effort=reasoning_effort,
        settings=settings,
        timeout=timeout,
    )
    items = tuple(
        task for language in languages for task in load_items(data, language, types=wanted_types, split=split)
    )
    if limit is not None:
        items = limited(items, limit, seed)
    wanted = Wanted(
        room=ROOM,
        seats={SEEKER: seeker, PROVIDER: provider},
        items=items,
        manner=manner,
        options={
            "turn_limit": turn_limit,
            "multi": multi,
            "mode": mode,
            # Left out otherwise, so that older runs can be continued.
            **({} if personas == "default" else {"personas": personas}),
        },
        config={"data": data, "languages": list(languages)},
        needs=_needs(provider, judge),
        title="dialogues",
        shown=SHOWN,
        # Decoding options are the players': who judges does so as ever.
        afterwards=partial(_judged, judge, replace(manner.models, decoding=Decoding(), extra={})),
    )
    console = Console()
    run_id = play(wanted, console)
    with LogReader(manner.log) as reader:
        told = report(reader, run_id, exclude_aborted=exclude_aborted)
        print_report(console, told, reader.usage(run_id))
    if has_gone_wrong(told.statuses):
        raise typer.Exit(1)


def limited(tasks: Sequence[Task], limit: int, seed: int) -> tuple[Task, ...]:
    """Draw so many tasks: equally many of each language, and of each type in it."""
    return balanced(tasks, limit, lambda task: task.language, lambda task: (task.type,), seed)


def _needs(provider: str, judge: str | None) -> dict[str, Needs]:
    """What is asked of models beside text: experts and judges fill in forms."""
    return dict.fromkeys((*models_of(provider), *([judge] if judge else [])), Needs(schema=True))


@asynccontextmanager
async def _judged(
    name: str | None, options: ModelOptions, reader: LogReader, log: LogWriter
) -> AsyncIterator[Afterwards]:
    """Lets the judge, if one is named, settle what is open when a run has been played."""
    async with _judge_called(name, replace(options, recorder=log.put)) as judge:

        async def settle(run_id: str) -> None:
            if judge:
                await judge_run(reader, log, run_id, judge, lost=_tell_lost)
                _rescore(run_id, reader, log)

        yield settle


def score_command(
    run: str,
    judge: str | None,
    base_url: str | None,
    budget: float | None,
    as_json: bool,
    log: Path | None,
    *,
    exclude_aborted: bool = False,
) -> None:
    """See `simulator.runner.scoring.Scorer`; here a judge may be named."""
    path = log or default_path()
    console = Console()
    with LogReader(path) as reader:
        reader.run(run)
        with LogWriter(path, durable=False) as writer:
            if judge:
                options = ModelOptions(
                    base_url=base_url,
                    cache_path=home() / "cache.sqlite",
                    budget=None if budget is None else Budget(budget),
                    recorder=writer.put,
                )
                asyncio.run(_judge(run, judge, options, reader, writer))
            _rescore(run, reader, writer)
        told = report(reader, run, exclude_aborted=exclude_aborted)
        if as_json:
            console.print_json(data=report_json(told))
        else:
            print_report(console, told, reader.usage(run))


def _rescore(run_id: str, reader: LogReader, log: LogWriter) -> None:
    """Append the scores of a run as they follow from its turns and judgments now."""
    for one in score_run(reader, run_id, exclude_aborted=True):
        for row in score_rows(one.episode.id, one.scores):
            log.put(row)


def _tell_lost(episode_id: str, error: Malformed) -> None:
    said = f"{episode_id}: no verdict, for the judge's answer has the wrong form ({error}); "
    said += "askback score --judge asks again."
    say(Console(stderr=True), said, "yellow")


async def _judge(run_id: str, name: str, options: ModelOptions, reader: LogReader, log: LogWriter) -> None:
    async with _judge_called(name, options) as judge:
        if judge:
            await run_preflight(judge, Needs(schema=True))
            await judge_run(reader, log, run_id, judge, lost=_tell_lost)


@asynccontextmanager
async def _judge_called(name: str | None, options: ModelOptions) -> AsyncIterator[ChatModel | None]:
    """The judge, if one is named. It is loaded first: a wrong name is told before anything is played."""
    models = Models(options=options)
    try:
        yield models(name) if name else None
    finally:
        await models.close()
