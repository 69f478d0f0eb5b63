"""`askback run handmethat`, and HandMeThat's part of `askback score`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Final, Literal

import typer
from rich.console import Console

from logs import LogReader, ModelUsage
from logs.cli import LogOption
from logs.rows import Score
from simulator.errors import InputError
from simulator.handmethat.data import Drawn, draw_tasks
from simulator.handmethat.env.game import LIMIT, CommandList
from simulator.handmethat.graph import HUMAN, ROBOT
from simulator.handmethat.playing import Options
from simulator.handmethat.reporting.report import Report, report
from simulator.handmethat.reporting.scored import score_run
from simulator.handmethat.reporting.terminal import print_report, report_json
from simulator.handmethat.room import ROOM, Posed
from simulator.handmethat.sample import Sample
from simulator.handmethat.score import score_rows
from simulator.handmethat.task import LEVELS
from simulator.handmethat.views import Protocol
from simulator.models import Decoding
from simulator.runner.command import Wanted, play, read_manner, read_ranges
from simulator.runner.logged import endings_of
from simulator.runner.options import (
    BaseUrlOption,
    BudgetOption,
    CacheOption,
    ConcurrencyOption,
    DataOption,
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
from simulator.runner.scoring import by_rules
from simulator.runner.telling import has_gone_wrong
from trees import Language

SHOWN: Final = {"success": "success", "score": "score", "moves_of_success": "moves", "questions": "asked"}
ROBOTS: Final = (
    "offline/asker[:K], offline/heuristic[:changes], offline/random, offline/expert, provider/model, "
    "seq2seq:FILE, drrn:FILE or script:FILE"
)
HUMANS: Final = "offline/giver, provider/model or script:FILE"
Modes = Literal["full", "partial", "both"]


def run_handmethat(
    robot: Annotated[str, typer.Option(help="who is the robot: " + ROBOTS)] = "offline/asker",
    human: Annotated[str, typer.Option(help="who is the human: " + HUMANS)] = "offline/giver",
    data: DataOption = "builtin",
    lang: Annotated[Language, typer.Option(help="language of everything that is said")] = "en",
    mode: Annotated[Modes, typer.Option(help="what the robot sees; both: a run for each")] = "partial",
    levels: Annotated[str | None, typer.Option(help="levels, such as 1-4 or 2,3")] = None,
    per_level: Annotated[
        int | None, typer.Option(min=1, help="a sample of so many items of each level, stratified")
    ] = None,
    split: Annotated[str | None, typer.Option(help="train, validate or test, as the split file says")] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="a sample of so many items, balanced over levels")
    ] = None,
    turn_limit: Annotated[int, typer.Option(min=1, help="commands and questions per episode")] = LIMIT,
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
    """Play HandMeThat episodes and score them. The same command again continues where it stopped."""
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
    chosen = None if levels is None else parse_levels(levels)
    drawn = load_items(data, chosen, per_level, split, limit=limit, seed=seed)
    told: list[str] = []
    console = Console()
    for one in ("partial", "full") if mode == "both" else (mode,):
        options = {
            "mode": one,
            "limit": turn_limit,
            "protocol": protocol,
            "max_questions": questions,
            "append_view": append_view,
            "commands": commands,
        }
        Options.read(options)
        wanted = Wanted(
            room=ROOM,
            seats={ROBOT: robot, HUMAN: human},
            items=tuple(Posed(task, lang) for task in drawn),
            manner=manner.called(f"{run}-{one}" if run and mode == "both" else run),
            options=options,
            config={"data": data, "language": lang, **({"sample": drawn.to_json()} if drawn.sample else {})},
            shown=SHOWN,
        )
        told.append(play(wanted, console))
    with LogReader(manner.log) as reader:
        found = report(reader, told, exclude_aborted=exclude_aborted)
        wrong = any(has_gone_wrong(endings_of(reader, one).statuses) for one in told)
        print_report(console, found, [usage for one in told for usage in reader.usage(one)])
    if wrong:
        raise typer.Exit(1)


def load_items(
    data: str,
    levels: tuple[int, ...] | None,
    per_level: int | None,
    split: str | None,
    *,
    limit: int | None = None,
    seed: int = 0,
) -> Drawn:
    """The tasks to play: all of some levels, or a sample of them.

    Raises:
        InputError: if there are none.
    """
    every = per_level is None and limit is None
    sample = None if every else Sample(limit=limit, per_level=per_level, seed=seed)
    return draw_tasks(data, sample, levels=levels, split=split)


def parse_levels(text: str) -> tuple[int, ...]:
    """``1-3`` or ``2,4`` as levels, each once, in order.

    Raises:
        InputError: if it is not of that form, or names a level that there is not.
    """
    found = set(read_ranges("--levels", text, "1-4 or 2,3"))
    if unknown := sorted(found - set(LEVELS)):
        raise InputError(f"--levels {text!r}: there is no level {unknown[0]}; they are 1 to 4.")
    return tuple(sorted(found))


def _rows(reader: LogReader, run: str) -> Iterator[Score]:
    for one in score_run(reader, run, exclude_aborted=True):
        yield from score_rows(one.episode.id, one.scores)


def _summary(
    reader: LogReader, run_id: str, *, exclude_aborted: bool = False
) -> tuple[Report, Sequence[ModelUsage]]:
    return report(reader, [run_id], exclude_aborted=exclude_aborted), reader.usage(run_id)


def _print(console: Console, found: Sequence[tuple[Report, Sequence[ModelUsage]]]) -> None:
    for told, usage in found:
        print_report(console, told, usage)


score_command = by_rules(_rows, _summary, lambda found: report_json(found[0]), _print)
"""See `simulator.runner.scoring.by_rules`."""
