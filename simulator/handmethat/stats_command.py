"""`askback stats handmethat`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from simulator.errors import InputError
from simulator.handmethat.data import draw_tasks
from simulator.handmethat.generate_command import (
    WORTH_WORKERS,
    MixOption,
    TemplatesOption,
    WorkersOption,
    make_plan,
    progress,
)
from simulator.handmethat.generation.attempts import FREE
from simulator.handmethat.generation.batch import run_batch
from simulator.handmethat.generation.journal import Tally
from simulator.handmethat.sample import Sample
from simulator.handmethat.statistics import facts_of, statistics, statistics_report, to_csv
from simulator.reporting import print_report
from simulator.runner.engine import LOCAL
from simulator.runner.options import ExecutorOption, JsonOption, RootSeedOption
from simulator.runner.spreading import engine_of


def stats_command(
    profile: Annotated[
        str | None, typer.Option(help="of episodes generated for this profile; default: v2")
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="of these instead: builtin, the name of added data, or a path")
    ] = None,
    episodes: Annotated[int, typer.Option(min=1, help="how many; of data a sample at most")] = 2000,
    levels: Annotated[
        str, typer.Option(help="balanced, free (as they come), or shares such as 1:2,2:1")
    ] = FREE,
    quest_mix: MixOption = None,
    templates: TemplatesOption = None,
    seed: RootSeedOption = 0,
    workers: WorkersOption = None,
    executor: ExecutorOption = LOCAL,
    as_json: JsonOption = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="print CSV")] = False,
    out: Annotated[Path | None, typer.Option(help="write JSON or CSV into this file instead")] = None,
) -> None:
    """Statistics of HandMeThat episodes: levels, lengths, objects, meanings, utterances, rejections."""
    if data is not None and profile is not None:
        raise InputError("--data and --profile: give one of them")
    if as_json and as_csv:
        raise InputError("--json and --csv: give one of them")
    if out is not None and not (as_json or as_csv):
        raise InputError("--out: say --json or --csv too")
    if data is not None:
        sample = Sample(limit=episodes, shares="proportional", seed=seed)
        numbers = statistics([facts_of(task) for task in draw_tasks(data, sample)])
    else:
        plan = make_plan(profile or "v2", episodes, levels, quest_mix, templates, seed, demos=False)
        engine = engine_of(executor, workers, worth=episodes >= WORTH_WORKERS)
        tally = Tally()
        with progress(Console(stderr=True), plan) as tell:
            for group in run_batch(plan, engine=engine, tell=tell, files=False):
                tally.add(group)
        numbers = statistics([facts for _, facts in tally.kept], tally.rejections)
    if not (as_json or as_csv):
        print_report(Console(), statistics_report(numbers))
        return
    text = json.dumps(numbers, indent=1) + "\n" if as_json else to_csv(numbers)
    if out is None:
        typer.echo(text, nl=False)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror})") from error
