"""`askback train handmethat`."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from typing import Annotated, Literal

import typer
from rich.console import Console

from simulator.errors import InputError
from simulator.handmethat.data import draw_tasks
from simulator.handmethat.items import Sample, describe_sample, makeup, stratum
from simulator.handmethat.learn.seen import Oracle
from simulator.runner.options import DataOption
from simulator.runner.run_summary import say

Learner = Literal["seq2seq", "drrn", "offline-drrn"]


def train_handmethat(
    learner: Annotated[Learner, typer.Argument(help="method of learning")] = "seq2seq",
    data: DataOption = "builtin",
    split: Annotated[str | None, typer.Option(help="part of the split file: train, validate or test")] = None,
    config: Annotated[
        str, typer.Option(help="size of the network: small, or paper (as published)")
    ] = "small",
    mode: Annotated[Literal["partial", "full"], typer.Option(help="what the robot sees")] = "partial",
    oracle: Annotated[Oracle, typer.Option(help="what seq2seq is given in addition to the task")] = "none",
    updates: Annotated[
        int | None, typer.Option(min=1, help="updates or steps; default: those of the configuration")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="number of items, balanced over levels")] = None,
    seed: Annotated[int, typer.Option(help="seed of the training and of the sample")] = 0,
    threads: Annotated[int, typer.Option(min=1, help="threads for torch")] = 1,
    out: Annotated[
        Path, typer.Option(help="the checkpoint; the learning curve is written next to it")
    ] = Path("robot.pt"),
) -> None:
    """Train a robot for HandMeThat; then `askback run handmethat --robot seq2seq:robot.pt`."""
    if find_spec("torch") is None:
        raise InputError("Learned robots need torch: pip install torch==2.13.0 'askback[local]'")
    import torch

    from simulator.handmethat.learn.train import train_behaviour, train_by_playing

    torch.set_num_threads(threads)
    console = Console()
    drawn = draw_tasks(data, None if limit is None else Sample(limit=limit, seed=seed), split=split)
    tasks = drawn.tasks
    say(console, describe_sample(makeup(map(stratum, tasks)), drawn.to_json()))
    if learner == "seq2seq":
        values = train_behaviour(
            tasks, mode, config, out, seed=seed, oracle=oracle, updates=updates, console=console
        )
        message = "loss"
    else:
        values = train_by_playing(
            tasks,
            mode,
            config,
            out,
            seed=seed,
            offline=learner.startswith("off"),
            steps=updates,
            console=console,
        )
        message = "score"
    tenth = max(1, len(values) // 10)
    console.print(
        f"{message}: {_mean(values[:tenth])} in the first tenth, {_mean(values[-tenth:])} in the last"
    )
    console.print(f"[dim]checkpoint[/dim] {out}  [dim]curve[/dim] {out}.html")


def _mean(values: list[float]) -> str:
    return f"{fmean(values):.3f}" if values else "none"
