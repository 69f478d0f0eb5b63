"""`askback run handmethat`, `askback report handmethat` and HandMeThat's part of `askback score`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer
from rich.console import Console

from logs import LogReader, LogWriter
from logs.cli import LogOption
from logs.paths import default_path
from personas.templates import versions_digest
from simulator.errors import InputError
from simulator.handmethat.data import NoEpisodeError, load_tasks
from simulator.handmethat.env.game import LIMIT, CommandList
from simulator.handmethat.graph import HUMAN, ROBOT
from simulator.handmethat.playing import Options
from simulator.handmethat.report import Report, report, score_run
from simulator.handmethat.report_tables import print_report, report_csv, report_json, report_latex
from simulator.handmethat.room import ROOM, Posed
from simulator.handmethat.score import score_rows
from simulator.handmethat.task import LEVELS, Task
from simulator.handmethat.views import Protocol
from simulator.home import home
from simulator.models import Budget, LogRecordings, ModelOptions
from simulator.models.prices import read_prices
from simulator.runner.batch import run_batch
from simulator.runner.build import NamedCrew, Plan, build_plan
from simulator.runner.progress import progress_bar
from simulator.runner.share import executor_for, workers_for
from simulator.seats import Seat
from trees import Language

SHOWN: Final = {"success": "success", "score": "score", "moves_of_success": "moves", "questions": "asked"}
ROBOTS: Final = (
    "offline/asker[:K], offline/heuristic[:changes], offline/random, offline/expert, provider/model, "
    "seq2seq:FILE, drrn:FILE or script:FILE"
)
HUMANS: Final = "offline/giver, provider/model or script:FILE"
Modes = Literal["full", "partial", "both"]
Format = Literal["text", "csv", "latex", "json"]


@dataclass(frozen=True, kw_only=True)
class _Wanted:
    """One run of the command line, checked."""

    crew: NamedCrew
    items: tuple[Posed, ...]
    config: dict[str, Any]
    options: dict[str, Any]
    seed: int
    repeats: int
    name: str | None
    concurrency: int
    workers: int
    log: Path


def run_handmethat(
    robot: Annotated[str, typer.Option(help="who is the robot: " + ROBOTS)] = "offline/asker",
    human: Annotated[str, typer.Option(help="who is the human: " + HUMANS)] = "offline/giver",
    data: Annotated[str, typer.Option(help="builtin, the name of added data, or a path")] = "builtin",
    lang: Annotated[Language, typer.Option(help="language of everything that is said")] = "en",
    mode: Annotated[Modes, typer.Option(help="what the robot sees; both: a run for each")] = "partial",
    levels: Annotated[str | None, typer.Option(help="levels, such as 1-4 or 2,3")] = None,
    per_level: Annotated[int | None, typer.Option(min=1, help="the first so many items of a level")] = None,
    split: Annotated[str | None, typer.Option(help="train, validate or test, as the split file says")] = None,
    limit: Annotated[int, typer.Option(min=1, help="commands and questions per episode")] = LIMIT,
    questions: Annotated[
        int | None, typer.Option(min=0, help="questions that are answered; default: any number")
    ] = None,
    protocol: Annotated[
        Protocol, typer.Option(help="free, or paper: one thing, no questions, one try")
    ] = "free",
    commands: Annotated[
        CommandList, typer.Option(help="commands that are offered: listed as published, or strict")
    ] = "listed",
    append_view: Annotated[
        bool, typer.Option("--append-view", help="tell what is seen after each command")
    ] = False,
    repeat: Annotated[int, typer.Option(min=1, help="how often each item is played")] = 1,
    seed: Annotated[int, typer.Option(help="seed of the run")] = 0,
    concurrency: Annotated[int, typer.Option(min=1, help="episodes at a time")] = 8,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="processes that share them; default: 1, or more for a long offline run"),
    ] = None,
    budget: Annotated[float | None, typer.Option(min=0, help="US dollars the models may cost")] = None,
    base_url: Annotated[str | None, typer.Option(help="an OpenAI-compatible server")] = None,
    cache: Annotated[bool, typer.Option(help="answer repeated requests from the cache")] = True,
    prices: Annotated[Path | None, typer.Option(help="your price table (YAML)")] = None,
    run: Annotated[str | None, typer.Option(help="the run's name; default: after its setup")] = None,
    log: LogOption = None,
) -> None:
    """Play HandMeThat episodes and score them. The same command again continues where it stopped."""
    if prices is not None:
        read_prices(prices)  # a mistake in it should not wait for the first model
    seats = {ROBOT: robot, HUMAN: human}
    if "person" in seats.values():
        raise InputError("People play in the browser: start the app with `askback app`.")
    tasks = load_items(data, None if levels is None else parse_levels(levels), per_level, split)
    path = log or default_path()
    models = ModelOptions(
        base_url=base_url,
        cache_path=home() / "cache.sqlite" if cache else None,
        budget=None if budget is None else Budget(budget),
        prices_path=prices,
        recordings=LogRecordings(path),
    )
    told: list[str] = []
    console = Console()
    for one in ("partial", "full") if mode == "both" else (mode,):
        options = {
            "mode": one,
            "limit": limit,
            "protocol": protocol,
            "max_questions": questions,
            "append_view": append_view,
            "commands": commands,
        }
        Options.read(options)
        wanted = _Wanted(
            crew=NamedCrew(benchmark=ROOM.name, names=seats, options=options, models=models),
            items=tuple(Posed(task, lang) for task in tasks),
            config={
                "data": data,
                "language": lang,
                "base_url": base_url,
                "prompts": versions_digest(ROOM.name),
            },
            options=options,
            seed=seed,
            repeats=repeat,
            name=f"{run}-{one}" if run and mode == "both" else run,
            concurrency=concurrency,
            workers=workers_for(workers, seats, len(tasks) * repeat, budget),
            log=path,
        )
        told.append(_played(wanted, console))
    with LogReader(path) as reader:
        found = report(reader, told)
        print_report(console, found, [usage for one in told for usage in reader.usage(one)])
    if found.failures:
        raise typer.Exit(1)


def load_items(
    data: str, levels: tuple[int, ...] | None, per_level: int | None, split: str | None
) -> tuple[Task, ...]:
    """The tasks to play: all of some levels, or the first so many of each.

    Raises:
        InputError: if there are none.
    """
    if per_level is None:
        return load_tasks(data, levels=levels, split=split)
    found: list[Task] = []
    for level in levels or LEVELS:
        # Not every data set has every level.
        with suppress(NoEpisodeError):
            found += load_tasks(data, levels=[level], split=split, limit=per_level)
    return tuple(found) or load_tasks(data, levels=levels, split=split, limit=per_level)


def parse_levels(text: str) -> tuple[int, ...]:
    """``1-3`` or ``2,4`` as levels, each once, in order.

    Raises:
        InputError: if it is not of that form, or names a level that there is not.
    """
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()) or int(first) > int(last or first):
            raise InputError(f"--levels {text!r}: write numbers and ranges, such as 1-4 or 2,3.")
        found.update(range(int(first), int(last or first) + 1))
    if unknown := sorted(found - set(LEVELS)):
        raise InputError(f"--levels {text!r}: there is no level {unknown[0]}; they are 1 to 4.")
    return tuple(sorted(found))


def _played(wanted: _Wanted, console: Console) -> str:
    """Play a run; its name."""
    try:
        return asyncio.run(_run(wanted, console))
    except KeyboardInterrupt:
        console.print("\nStopped; everything played so far is in the log. The same command continues.")
        raise typer.Exit(130) from None


async def _run(wanted: _Wanted, console: Console) -> str:
    async with LogWriter(wanted.log, durable=False) as log:
        with LogReader(wanted.log) as reader:
            async with wanted.crew(log, wanted.concurrency) as seats:
                plan = _plan(wanted, seats)
                console.print(f"[dim]run[/dim] {plan.run.id} [dim]in[/dim] {wanted.log}")
                with progress_bar(console, "episodes", dict(SHOWN)) as show:
                    await run_batch(
                        plan,
                        log,
                        reader,
                        concurrency=wanted.concurrency,
                        executor=executor_for(wanted.crew, wanted.log, wanted.workers, wanted.concurrency),
                        on_progress=show,
                    )
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
    run: str,
    judge: str | None,
    base_url: str | None,
    budget: float | None,
    as_json: bool,
    log: Path | None,
) -> None:
    """Score a run again from its logged turns; the new scores are appended to the log.

    Raises:
        InputError: if a judge is named.
    """
    if judge or base_url or budget is not None:
        raise InputError(f"{run} is a run of HandMeThat, which is scored by its rules: there is no judge.")
    path = log or default_path()
    console = Console()
    with LogReader(path) as reader:
        with LogWriter(path, durable=False) as writer:
            for one in score_run(reader, run):
                for row in score_rows(one.episode.id, one.scores):
                    writer.put(row)
        found = report(reader, [run])
        if as_json:
            console.print_json(data=report_json(found))
        else:
            print_report(console, found, reader.usage(run))


def report_handmethat(
    runs: Annotated[list[str], typer.Argument(help="names of runs (askback log list shows them)")],
    form: Annotated[Format, typer.Option("--format", help="text, csv, latex or json")] = "text",
    out: Annotated[Path | None, typer.Option(help="the file to write; default: the terminal")] = None,
    log: LogOption = None,
) -> None:
    """Tables of several runs side by side: by level, by questions asked, and the gain per question."""
    with LogReader(log or default_path()) as reader:
        found = report(reader, list(dict.fromkeys(runs)))
    if form == "text" and out is None:
        print_report(Console(), found)
        return
    text = _formatted(found, form)
    if out is None:
        typer.echo(text, nl=False)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror}).") from error


def _formatted(found: Report, form: Format) -> str:
    if form == "csv":
        return report_csv(found)
    if form == "latex":
        return report_latex(found)
    if form == "json":
        return json.dumps(report_json(found), ensure_ascii=False, indent=2) + "\n"
    console = Console(width=160)
    with console.capture() as capture:
        print_report(console, found)
    return capture.get()
