"""Training of learned robots from the command line, and the learning curve beside each checkpoint."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from statistics import fmean

import torch
from rich.console import Console

from simulator.errors import InputError
from simulator.handmethat.env.scripts import expert_demo
from simulator.handmethat.learn.config import drrn_config, seq2seq_config
from simulator.handmethat.learn.drrn import Drrn, train_drrn, words_of
from simulator.handmethat.learn.policy import save_checkpoint
from simulator.handmethat.learn.seen import Oracle
from simulator.handmethat.learn.seq2seq import Seq2Seq, examples_of, number, train_seq2seq
from simulator.handmethat.learn.seq2seq import words_of as words_of_examples
from simulator.handmethat.task import Task
from simulator.handmethat.views import Mode
from simulator.runner.progress import updates_bar
from simulator.seeds import derive_seed


def write_curve(checkpoint: Path, columns: Mapping[str, Sequence[float]]) -> None:
    """``<checkpoint>.csv`` with a row per update or episode, and ``<checkpoint>.html`` with a plot of means.

    Raises:
        OSError: if they cannot be written.
    """
    with checkpoint.with_name(checkpoint.name + ".csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["number", *columns])
        for number, row in enumerate(zip_longest(*columns.values(), fillvalue=""), start=1):
            table.writerow([number, *row])
    _plot(checkpoint.with_name(checkpoint.name + ".html"), checkpoint.name, columns)


def moving_means(values: Sequence[float], window: int) -> list[float]:
    """Return the mean of each value and the `window` - 1 before it."""
    return [fmean(values[max(0, i + 1 - window) : i + 1]) for i in range(len(values))]


def _plot(path: Path, title: str, columns: Mapping[str, Sequence[float]]) -> None:
    # plotly takes half a second to import; nothing but a finished training needs it.
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    figure = make_subplots(rows=len(columns), cols=1, subplot_titles=tuple(columns))
    for row, (name, values) in enumerate(columns.items(), start=1):
        window = max(1, len(values) // 50)
        numbers = list(range(1, len(values) + 1))
        figure.add_trace(go.Scatter(x=numbers, y=moving_means(values, window), name=name), row=row, col=1)
    figure.update_layout(title=title, template="simple_white", showlegend=False)
    figure.write_html(path, include_plotlyjs=True)


def train_behaviour(
    tasks: Sequence[Task],
    mode: Mode,
    config_name: str,
    out: Path,
    *,
    seed: int,
    oracle: Oracle = "none",
    updates: int | None = None,
    console: Console | None = None,
) -> list[float]:
    """Clone the experts of `tasks` into the checkpoint `out`; its curve is written beside it.

    Returns:
        The loss of each update.

    Raises:
        InputError: if the configuration is not known, or no task has a demonstration.
    """
    config = seq2seq_config(config_name, updates=updates)
    examples = examples_of(with_demos(tasks, seed), mode, oracle)
    vocabulary = words_of_examples(examples)
    torch.manual_seed(seed)
    network = Seq2Seq(config, len(vocabulary))
    with updates_bar(console, config.updates) as tell:
        losses = train_seq2seq(network, number(examples, vocabulary, config), config, seed, tell)
    told = {"oracle": oracle, "mode": mode, "seed": seed, "examples": len(examples), "config": config_name}
    save_checkpoint(out, "seq2seq", config, vocabulary, network, told)
    write_curve(out, {"loss": losses})
    return losses


def train_by_playing(
    tasks: Sequence[Task],
    mode: Mode,
    config_name: str,
    out: Path,
    *,
    seed: int,
    offline: bool = False,
    steps: int | None = None,
    console: Console | None = None,
) -> list[int]:
    """Train a DRRN on `tasks` into the checkpoint `out`; its curve is written beside it.

    Returns:
        The score of each episode that was played.

    Raises:
        InputError: if the configuration is not known, or (offline) no task has a demonstration.
    """
    config = drrn_config(config_name, steps=steps)
    tasks = with_demos(tasks, seed)
    vocabulary = words_of(tasks, mode, config.limit)
    torch.manual_seed(seed)
    network = Drrn(config, len(vocabulary))
    with updates_bar(console, config.steps, title="steps") as tell:
        progress = train_drrn(network, vocabulary, tasks, mode, config, seed, offline=offline, tell=tell)
    told = {"offline": offline, "mode": mode, "seed": seed, "config": config_name}
    save_checkpoint(out, "drrn", config, vocabulary, network, told)
    write_curve(out, {"loss": progress.losses, "score": [float(score) for score in progress.scores]})
    return progress.scores


def with_demos(tasks: Sequence[Task], seed: int) -> list[Task]:
    """Return the tasks that have a demonstration or that the expert's script can show.

    Raises:
        InputError: if there are none.
    """
    found = []
    for task in tasks:
        demo = None if task.demo else expert_demo(task, derive_seed(seed, task.id))
        if task.demo:
            found.append(task)
        elif demo is not None:
            found.append(replace(task, demo=demo.commands))
    if not found:
        raise InputError("None of these episodes can be demonstrated; generate some with --demos.")
    return found
