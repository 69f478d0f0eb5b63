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
    MixOption,
    TemplatesOption,
    WorkersOption,
    default_workers,
    make_plan,
    progress,
)
from simulator.handmethat.generation.attempts import FREE
from simulator.handmethat.generation.batch import run_batch
from simulator.handmethat.generation.facts import facts_of
from simulator.handmethat.generation.journal import Tally
from simulator.handmethat.sample import Sample
from simulator.handmethat.statistics import Statistics, statistics, statistics_report, to_csv
from simulator.reporting import print_report
from simulator.runner.options import JsonOption, RootSeedOption


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
    as_json: JsonOption = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="print CSV")] = False,
    out: Annotated[Path | None, typer.Option(help="write JSON or CSV into this file instead")] = None,
) -> None:
    """Statistics of HandMeThat episodes: levels, lengths, objects, meanings, utterances, rejections."""
    if data is not None and profile is not None:
        raise InputError("--data and --profile: give one of them")
    if as_json and as_csv:
        raise InputError("--json and --csv: give one of them")
    if data is not None:
        found = of_data(data, episodes, seed)
    else:
        plan = make_plan(profile or "v2", episodes, levels, quest_mix, templates, seed, demos=False)
        tally = Tally()
        with progress(Console(stderr=True), plan) as tell:
            for group in run_batch(plan, workers=default_workers(workers, episodes), tell=tell, files=False):
                tally.add(group)
        found = statistics([facts for _, facts in tally.kept], tally.rejections)
    _print(found, as_json, as_csv, out)


def of_data(data: str | Path, episodes: int | None = None, seed: int = 0) -> Statistics:
    """The statistics of episodes that are there already, or of a sample with levels as they have them."""
    sample = None if episodes is None else Sample(limit=episodes, shares="proportional", seed=seed)
    return statistics([facts_of(task) for task in draw_tasks(data, sample).tasks])


def _print(statistics: Statistics, as_json: bool, as_csv: bool, out: Path | None) -> None:
    text = None
    if as_json:
        text = json.dumps(statistics.to_json(), indent=1) + "\n"
    elif as_csv:
        text = to_csv(statistics)
    if text is None:
        if out is not None:
            raise InputError("--out: say --json or --csv too")
        print_report(Console(), statistics_report(statistics))
    elif out is None:
        typer.echo(text, nl=False)
    else:
        try:
            out.write_text(text, encoding="utf-8")
        except OSError as error:
            raise InputError(f"{out}: cannot be written ({error.strerror})") from error
