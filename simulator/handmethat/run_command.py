"""`askback run handmethat`, `askback report handmethat` and HandMeThat's part of `askback score`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final, Literal

import typer
from rich.console import Console

from logs import LogReader
from logs.cli import LogOption
from logs.paths import default_path
from logs.rows import Score
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
from simulator.runner.command import (
    BaseUrlOption,
    BudgetOption,
    CacheOption,
    ConcurrencyOption,
    PricesOption,
    RepeatOption,
    RunOption,
    SeedOption,
    Wanted,
    WorkersOption,
    model_options,
    play,
)
from simulator.runner.scoring import scored_again
from trees import Language

SHOWN: Final = {"success": "success", "score": "score", "moves_of_success": "moves", "questions": "asked"}
ROBOTS: Final = (
    "offline/asker[:K], offline/heuristic[:changes], offline/random, offline/expert, provider/model, "
    "seq2seq:FILE, drrn:FILE or script:FILE"
)
HUMANS: Final = "offline/giver, provider/model or script:FILE"
Modes = Literal["full", "partial", "both"]
Format = Literal["text", "csv", "latex", "json"]


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
    repeat: RepeatOption = 1,
    seed: SeedOption = 0,
    concurrency: ConcurrencyOption = 8,
    workers: WorkersOption = None,
    budget: BudgetOption = None,
    base_url: BaseUrlOption = None,
    cache: CacheOption = True,
    prices: PricesOption = None,
    run: RunOption = None,
    log: LogOption = None,
) -> None:
    """Play HandMeThat episodes and score them. The same command again continues where it stopped."""
    path = log or default_path()
    models = model_options(path, base_url=base_url, cache=cache, budget=budget, prices=prices)
    tasks = load_items(data, None if levels is None else parse_levels(levels), per_level, split)
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
        wanted = Wanted(
            room=ROOM,
            seats={ROBOT: robot, HUMAN: human},
            items=tuple(Posed(task, lang) for task in tasks),
            options=options,
            models=models,
            config={"data": data, "language": lang},
            seed=seed,
            repeats=repeat,
            name=f"{run}-{one}" if run and mode == "both" else run,
            concurrency=concurrency,
            workers=workers,
            log=path,
            shown=SHOWN,
        )
        told.append(play(wanted, console))
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
    console = Console()
    with scored_again(run, judge, base_url, budget, log, _rows) as reader:
        found = report(reader, [run])
        if as_json:
            console.print_json(data=report_json(found))
        else:
            print_report(console, found, reader.usage(run))


def _rows(reader: LogReader, run: str) -> Iterator[Score]:
    for one in score_run(reader, run):
        yield from score_rows(one.episode.id, one.scores)


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
