"""`askback stats ambibench`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Annotated, Final

import typer
from rich.console import Console

from simulator.ambibench.aws import AwsPrompt
from simulator.ambibench.data import Draw, generate_items, load_items
from simulator.ambibench.features import FEATURES, FORMATS, Kind, Setting
from simulator.ambibench.generation import LENGTH
from simulator.ambibench.prompt import Prompt
from simulator.ambibench.statistics import ALPHA, Statistics, statistics
from simulator.ambibench.stats_table import statistics_report
from simulator.errors import InputError
from simulator.reporting import print_report
from simulator.runner.options import JsonOption, RootSeedOption

_CELLS: Final = len(FEATURES) * len(FORMATS)
# Work that is done sooner needs no sign of life.
_PATIENCE: Final = 1.0


def stats_command(
    sentences: Annotated[int, typer.Option(min=1, help="how many are drawn, in episodes of 20")] = 60_000,
    seed: RootSeedOption = 0,
    data: Annotated[
        str | None, typer.Option(help="of these instead: the name of added data, or a path")
    ] = None,
    alpha: Annotated[
        float, typer.Option(min=0, max=1, help="how likely a faultless sample is found faulty")
    ] = ALPHA,
    as_json: JsonOption = False,
) -> None:
    """Are AmbiBench prompts what they should be? Words, coins, repetitions; the exit code is 1 if not."""
    with patience(Console(stderr=True), "Drawing and counting"):
        found = of_data(data, alpha) if data is not None else of_drawn(sentences, seed, alpha)
    if as_json:
        typer.echo(json.dumps({title: one.to_json() for title, one in found.items()}, indent=1))
    else:
        print_report(Console(), statistics_report(found))
    if not all(one.passed for one in found.values()):
        raise typer.Exit(1)


def of_drawn(sentences: int, seed: int, alpha: float = ALPHA) -> dict[str, Statistics]:
    """Statistics of prompts drawn for this: so many sentences in episodes or a few more, and prompts of 4.2.

    Returns:
        Statistics by title.
    """
    per_cell = -(-sentences // (_CELLS * LENGTH))
    episodes = _drawn("multiple", None, seed, per_cell)
    half = -(-per_cell // 2)
    queries = [
        prompt
        for kind in ("uninformative", "informative")
        for prompt in _drawn("instruction", kind, seed, half)
    ]
    return {
        f"Setting 4.3, multiple examples, seed {seed}": statistics(episodes, alpha=alpha, whole=True),
        f"Setting 4.2, instruction, seed {seed}": statistics(queries, alpha=alpha, whole=True),
    }


def of_data(data: str | Path, alpha: float = ALPHA) -> dict[str, Statistics]:
    """Statistics of prompts that are there already, by title.

    Raises:
        InputError: if there are none.
    """
    prompts = [item for item in load_items(data, setting=None) if not isinstance(item, AwsPrompt)]
    if not prompts:
        raise InputError(f"data {str(data)!r} hold no prompt with labels")
    return {str(data): statistics(prompts, alpha=alpha)}


@contextmanager
def patience(console: Console, what: str) -> Iterator[None]:
    """Shows that something is going on, if it takes longer than a second."""
    status = console.status(f"{what} …")
    timer = Timer(_PATIENCE, status.start)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()


def _drawn(setting: Setting, kind: Kind | None, seed: int, per_cell: int) -> list[Prompt]:
    items = generate_items(setting, kind=kind, draw=Draw(seed=seed, per_cell=per_cell))
    return [item for item in items if isinstance(item, Prompt)]
