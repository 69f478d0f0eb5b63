"""`askback run clarq`, `askback score` and `askback import clarq-results`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from logs import LogReader, LogWriter
from logs.cli import LogOption
from logs.paths import default_path
from personas.templates import versions_digest
from simulator.clarq.data import load_items
from simulator.clarq.graph import PROVIDER, SEEKER, TURN_LIMIT
from simulator.clarq.importer import import_results
from simulator.clarq.judge import judge_run
from simulator.clarq.report import report, score_run
from simulator.clarq.room import ROOM
from simulator.clarq.score import score_rows
from simulator.clarq.tables import print_report, report_json
from simulator.errors import InputError
from simulator.home import home
from simulator.models import Budget, ChatModel, LogRecordings, ModelOptions
from simulator.models.prices import read_prices
from simulator.runner.batch import run_batch
from simulator.runner.build import Models, NamedCrew, Plan, build_plan
from simulator.runner.progress import progress_bar
from simulator.runner.share import executor_for, workers_for
from simulator.seats import Seat
from trees import Task
from trees.types import Split

SHOWN = {"success": "S", "aqd": "D", "aql": "L"}
SEEKERS = "offline/seeker[:careful|hasty|verbose], provider/model or script:FILE"
PROVIDERS = "offline/experts, provider/model or script:FILE"
Lang = Literal["en", "zh", "both"]
Mode = Literal["completion", "chat"]


@dataclass(frozen=True, kw_only=True)
class _Wanted:
    """The command line of a run, checked."""

    crew: NamedCrew
    items: tuple[Task, ...]
    config: dict[str, Any]
    options: dict[str, Any]
    seed: int
    repeats: int
    name: str | None
    concurrency: int
    workers: int
    log: Path
    judge: str | None


def run_clarq(
    seeker: Annotated[str, typer.Option(help="who seeks: " + SEEKERS)] = "offline/seeker",
    provider: Annotated[str, typer.Option(help="who provides: " + PROVIDERS)] = "offline/experts",
    data: Annotated[str, typer.Option(help="builtin, the name of added data (clarq), or a path")] = "builtin",
    lang: Annotated[Lang, typer.Option(help="language of the items")] = "en",
    types: Annotated[str | None, typer.Option(help="task types, such as 1-10 or 3,7,12")] = None,
    split: Annotated[Split | None, typer.Option(help="test (types 1-26) or development (27-31)")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="the first so many items of a language")] = None,
    repeat: Annotated[int, typer.Option(min=1, help="how often each item is played")] = 1,
    seed: Annotated[int, typer.Option(help="seed of the run")] = 0,
    concurrency: Annotated[int, typer.Option(min=1, help="dialogues at a time")] = 8,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="processes that share them; default: 1, or more for a long offline run"),
    ] = None,
    mode: Annotated[Mode, typer.Option(help="a model seeker's mode: completion or chat")] = "completion",
    multi: Annotated[bool, typer.Option("--multi", help="the multi-info provider")] = False,
    turn_limit: Annotated[int, typer.Option(min=1, help="seeker turns per dialogue")] = TURN_LIMIT,
    judge: Annotated[str | None, typer.Option(help="a model that settles open successes")] = None,
    budget: Annotated[float | None, typer.Option(min=0, help="US dollars the models may cost")] = None,
    base_url: Annotated[str | None, typer.Option(help="an OpenAI-compatible server")] = None,
    cache: Annotated[bool, typer.Option(help="answer repeated requests from the cache")] = True,
    prices: Annotated[Path | None, typer.Option(help="your price table (YAML)")] = None,
    run: Annotated[str | None, typer.Option(help="the run's name; default: after its setup")] = None,
    log: LogOption = None,
) -> None:
    """Play ClarQ-LLM dialogues and score them. The same command again continues where it stopped."""
    languages = ("en", "zh") if lang == "both" else (lang,)
    wanted_types = None if types is None else parse_types(types)
    if prices is not None:
        read_prices(prices)  # a mistake in it should not wait for the first model
    items = [
        task
        for language in languages
        for task in load_items(data, language, types=wanted_types, split=split, limit=limit)
    ]
    path = log or default_path()
    seats = {SEEKER: seeker, PROVIDER: provider}
    if "person" in seats.values():
        raise InputError("People play in the browser: start the app with `askback app`.")
    options = {"turn_limit": turn_limit, "multi": multi, "mode": mode}
    models = ModelOptions(
        base_url=base_url,
        cache_path=home() / "cache.sqlite" if cache else None,
        budget=None if budget is None else Budget(budget),
        prices_path=prices,
        recordings=LogRecordings(path),
    )
    wanted = _Wanted(
        crew=NamedCrew(benchmark=ROOM.name, names=seats, options=options, models=models),
        items=tuple(items),
        config={
            "data": data,
            "languages": list(languages),
            "base_url": base_url,
            "prompts": versions_digest(ROOM.name),
        },
        options=options,
        seed=seed,
        repeats=repeat,
        name=run,
        concurrency=concurrency,
        workers=workers_for(workers, seats, len(items) * repeat, budget),
        log=path,
        judge=judge,
    )
    console = Console()
    try:
        run_id = asyncio.run(_run(wanted, console))
    except KeyboardInterrupt:
        console.print("\nStopped; everything played so far is in the log. The same command continues.")
        raise typer.Exit(130) from None
    with LogReader(path) as reader:
        told = report(reader, run_id)
        print_report(console, told, reader.usage(run_id))
    if told.failures:
        raise typer.Exit(1)


async def _run(wanted: _Wanted, console: Console) -> str:
    async with LogWriter(wanted.log, durable=False) as log:
        with LogReader(wanted.log) as reader:
            async with (
                wanted.crew(log, wanted.concurrency) as seats,
                _judge_called(wanted.judge, replace(wanted.crew.models, recorder=log.put)) as judge,
            ):
                plan = _plan(wanted, seats)
                console.print(f"[dim]run[/dim] {plan.run.id} [dim]in[/dim] {wanted.log}")
                with progress_bar(console, "dialogues", SHOWN) as show:
                    await run_batch(
                        plan,
                        log,
                        reader,
                        concurrency=wanted.concurrency,
                        executor=executor_for(wanted.crew, wanted.log, wanted.workers, wanted.concurrency),
                        on_progress=show,
                    )
                if judge:
                    await judge_run(reader, log, plan.run.id, judge)
                    _rescore(plan.run.id, reader, log)
    return plan.run.id


def _plan(wanted: _Wanted, seats: Mapping[str, Seat]) -> Plan:
    return build_plan(
        room=ROOM,
        items=wanted.items,
        seats=seats,
        config=wanted.config,
        seed=wanted.seed,
        repeats=wanted.repeats,
        options=wanted.options,
        name=wanted.name,
    )


def score_command(
    run: Annotated[str, typer.Argument(help="the run's name (askback log list shows them)")],
    judge: Annotated[str | None, typer.Option(help="a model that settles open successes")] = None,
    base_url: Annotated[str | None, typer.Option(help="an OpenAI-compatible server")] = None,
    budget: Annotated[float | None, typer.Option(min=0, help="US dollars the judge may cost")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
    log: LogOption = None,
) -> None:
    """Score a run again from its logged turns; the new scores are appended to the log."""
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
        if as_json:
            console.print_json(data=report_json(report(reader, run)))
        else:
            print_report(console, report(reader, run), reader.usage(run))


def _rescore(run_id: str, reader: LogReader, log: LogWriter) -> None:
    """Append the scores of a run as they follow from its turns and judgments now."""
    for one in score_run(reader, run_id):
        for row in score_rows(one.episode.id, one.scores):
            log.put(row)


async def _judge(run_id: str, name: str, options: ModelOptions, reader: LogReader, log: LogWriter) -> None:
    async with _judge_called(name, options) as judge:
        if judge:
            await judge_run(reader, log, run_id, judge)


@asynccontextmanager
async def _judge_called(name: str | None, options: ModelOptions) -> AsyncIterator[ChatModel | None]:
    """The judge, if one is named. It is loaded first: a wrong name is told before anything is played."""
    models = Models(options=options)
    try:
        yield models(name) if name else None
    finally:
        await models.close()


def import_results_command(
    files: Annotated[list[Path], typer.Argument(help="published results files of ClarQ-LLM")],
    run: Annotated[str | None, typer.Option(help="the run's name; default: after the file")] = None,
    log: LogOption = None,
) -> None:
    """Bring published results files into the log, and score them."""
    if run and len(files) > 1:
        raise InputError("--run names one run; give one file, or leave it out.")
    path = log or default_path()
    console = Console()
    for file in files:
        with LogWriter(path, durable=False) as writer:
            imported = import_results(file, writer, run)
        with LogReader(path) as reader:
            console.print(f"[dim]run[/dim] {imported.id} [dim]in[/dim] {path}")
            print_report(console, report(reader, imported.id), [])


def parse_types(text: str) -> list[int]:
    """``1-3,7`` as ``[1, 2, 3, 7]``.

    Raises:
        InputError: if it is not of that form.
    """
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()) or int(first) > int(last or first):
            raise InputError(f"--types {text!r}: write numbers and ranges, such as 1-10 or 3,7,12.")
        found.extend(range(int(first), int(last or first) + 1))
    return found
