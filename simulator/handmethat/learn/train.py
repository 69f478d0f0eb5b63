"""Training of learned robots from the command line, and the learning curve beside each checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
import torch
from rich.console import Console

from simulator.errors import InputError
from simulator.handmethat.env.observe import Mode, reference_text
from simulator.handmethat.env.scripts import expert_commands
from simulator.handmethat.learn.config import DrrnConfig, Seq2SeqConfig
from simulator.handmethat.learn.drrn import Drrn, train_drrn, words_of
from simulator.handmethat.learn.policy import save_checkpoint
from simulator.handmethat.learn.seen import Oracle
from simulator.handmethat.learn.seq2seq import Seq2Seq, examples_of, number, train_seq2seq
from simulator.handmethat.learn.seq2seq import words_of as words_of_examples
from simulator.handmethat.task import Task
from simulator.runner.progress import updates_bar
from simulator.seeds import derive_seed


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
    config = Seq2SeqConfig.named(config_name, updates=updates)
    examples = examples_of(with_demos(tasks, seed), mode, oracle)
    vocabulary = words_of_examples(examples)
    torch.manual_seed(seed)
    network = Seq2Seq(config, len(vocabulary))
    with updates_bar(console, config.updates) as tell:
        losses = train_seq2seq(network, number(examples, vocabulary, config), config, seed, tell)
    how_made = {
        "oracle": oracle,
        "mode": mode,
        "seed": seed,
        "examples": len(examples),
        "config": config_name,
    }
    save_checkpoint(out, config, vocabulary, network, how_made)
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
) -> list[float]:
    """Train a DRRN on `tasks` into the checkpoint `out`; its curve is written beside it.

    Returns:
        The score of each episode that was played.

    Raises:
        InputError: if the configuration is not known, or (offline) no task has a demonstration.
    """
    config = DrrnConfig.named(config_name, steps=steps)
    tasks = with_demos(tasks, seed)
    vocabulary = words_of(tasks, mode, config.limit)
    torch.manual_seed(seed)
    network = Drrn(config, len(vocabulary))
    with updates_bar(console, config.steps, title="steps") as tell:
        progress = train_drrn(network, vocabulary, tasks, mode, config, seed, offline=offline, tell=tell)
    how_made = {"offline": offline, "mode": mode, "seed": seed, "config": config_name}
    save_checkpoint(out, config, vocabulary, network, how_made)
    scores = list(map(float, progress.scores))
    write_curve(out, {"loss": progress.losses, "score": scores})
    return scores


def with_demos(tasks: Sequence[Task], seed: int) -> list[Task]:
    """Return the tasks that have a demonstration or that the expert's script can show.

    Raises:
        InputError: if there are none.
    """
    shown = []
    for task in tasks:
        if task.demo:
            shown.append(task)
        elif commands := expert_commands(task, derive_seed(seed, task.id)):
            shown.append(replace(task, demo=tuple(map(reference_text, commands))))
    if not shown:
        raise InputError("None of these episodes can be demonstrated; generate some with --demos.")
    return shown


def write_curve(checkpoint: Path, columns: Mapping[str, Sequence[float]]) -> None:
    """Write ``<checkpoint>.csv``, a row per update or episode, and ``<checkpoint>.html``, a plot of means.

    Raises:
        OSError: if they cannot be written.
    """
    # plotly takes half a second to import; nothing but a finished training needs it.
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    frame = pd.DataFrame({name: pd.Series(values, dtype=float) for name, values in columns.items()})
    frame.index = pd.RangeIndex(1, len(frame) + 1, name="number")
    frame.to_csv(checkpoint.with_name(checkpoint.name + ".csv"))
    figure = make_subplots(rows=len(columns), cols=1, subplot_titles=tuple(columns))
    for row, (name, values) in enumerate(frame.items(), start=1):
        known = values.dropna()
        means = known.rolling(max(1, len(known) // 50), min_periods=1).mean()
        figure.add_trace(go.Scatter(x=means.index, y=means, name=name), row=row, col=1)
    figure.update_layout(title=checkpoint.name, template="simple_white", showlegend=False)
    figure.write_html(checkpoint.with_name(checkpoint.name + ".html"), include_plotlyjs=True)
