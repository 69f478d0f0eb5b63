"""`askback train handmethat`: a robot out of expert demonstrations, or out of playing."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from rich.console import Console

from simulator.errors import InputError
from simulator.handmethat.env.demos import expert_demo
from simulator.handmethat.learn.behaviour import examples_of, number, train_seq2seq
from simulator.handmethat.learn.behaviour import words_of as words_of_examples
from simulator.handmethat.learn.config import drrn_config, seq2seq_config
from simulator.handmethat.learn.curve import write_curve
from simulator.handmethat.learn.drrn import Drrn
from simulator.handmethat.learn.policy import save_checkpoint
from simulator.handmethat.learn.reinforce import train_drrn, words_of
from simulator.handmethat.learn.seen import Oracle
from simulator.handmethat.learn.seq2seq import Seq2Seq
from simulator.handmethat.task import Task
from simulator.handmethat.views import Mode
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
    """The tasks that have a demonstration or that the expert's script can show.

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


def read_curve(path: Path) -> dict[str, list[float]]:
    """The curve beside a checkpoint: column -> values.

    Raises:
        OSError: if there is none.
    """
    columns: dict[str, list[float]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            for name, value in row.items():
                if value and name != "number":
                    columns.setdefault(name, []).append(float(value))
    return columns
