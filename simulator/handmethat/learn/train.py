"""Training of learned robots, their checkpoints and learning curves, and policies loaded from them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import pandas as pd
import torch
from rich.console import Console

from simulator.errors import InputError
from simulator.figures import Figure, Line, Panel
from simulator.figures.files import html_text
from simulator.handmethat.env.observe import Mode, reference_text
from simulator.handmethat.env.scripts import expert_commands
from simulator.handmethat.items import Task
from simulator.handmethat.learn.drrn import Coder, Drrn, choose, train_drrn, words_of
from simulator.handmethat.learn.seen import DrrnConfig, Oracle, PromptText, Seq2SeqConfig, Vocabulary
from simulator.handmethat.learn.seq2seq import Seq2Seq, examples_of, number, pad, shorten, train_seq2seq
from simulator.handmethat.learn.seq2seq import words_of as words_of_examples
from simulator.runner.run_summary import updates_bar
from simulator.seeds import derive_seed

_POINTS: Final = 500
"""About how many points of a curve are drawn at most."""


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
    """Train a Seq2Seq on demonstrations; write checkpoint and curve; return the loss of each update.

    Raises:
        InputError: if the configuration is unknown, or no task has a demonstration.
    """
    config = Seq2SeqConfig.named(config_name, updates=updates)
    examples = examples_of(with_demos(tasks, seed), mode, oracle)
    vocabulary = words_of_examples(examples)
    torch.manual_seed(seed)
    network = Seq2Seq(config, len(vocabulary))
    with updates_bar(console, config.updates) as report:
        losses = train_seq2seq(network, number(examples, vocabulary, config), config, seed, report)
    metadata = {
        "oracle": oracle,
        "mode": mode,
        "seed": seed,
        "examples": len(examples),
        "config": config_name,
    }
    save_checkpoint(out, config, vocabulary, network, metadata)
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
    """Train a DRRN on `tasks`; write checkpoint and curve; return the score of each episode.

    Raises:
        InputError: if the configuration is unknown, or no task has a demonstration.
    """
    config = DrrnConfig.named(config_name, steps=steps)
    tasks = with_demos(tasks, seed)
    vocabulary = words_of(tasks, mode, config.limit)
    torch.manual_seed(seed)
    network = Drrn(config, len(vocabulary))
    with updates_bar(console, config.steps, title="steps") as report:
        progress = train_drrn(network, vocabulary, tasks, mode, config, seed, offline=offline, report=report)
    metadata = {"offline": offline, "mode": mode, "seed": seed, "config": config_name}
    save_checkpoint(out, config, vocabulary, network, metadata)
    scores = list(map(float, progress.scores))
    write_curve(out, {"loss": progress.losses, "score": scores})
    return scores


def with_demos(tasks: Sequence[Task], seed: int) -> list[Task]:
    """Return the tasks with a demonstration, making one with the expert's script if it is missing.

    Raises:
        InputError: if there are no such tasks.
    """
    complete = []
    for task in tasks:
        if task.demo:
            complete.append(task)
        elif commands := expert_commands(task, derive_seed(seed, task.id)):
            complete.append(replace(task, demo=tuple(map(reference_text, commands))))
    if not complete:
        raise InputError("None of these episodes can be demonstrated; generate some with --demos.")
    return complete


def write_curve(checkpoint: Path, columns: Mapping[str, Sequence[float]]) -> None:
    """Write ``<checkpoint>.csv``, a row per update or episode, and ``<checkpoint>.html``, a smoothed plot.

    Raises:
        OSError: if they cannot be written.
    """
    frame = pd.DataFrame({name: pd.Series(values, dtype=float) for name, values in columns.items()})
    frame.index = pd.RangeIndex(1, len(frame) + 1, name="number")
    frame.to_csv(checkpoint.with_name(checkpoint.name + ".csv"))
    panels = []
    for name, values in frame.items():
        series = values[np.isfinite(values)]
        means = series.rolling(max(1, len(series) // 50), min_periods=1).mean()[:: len(series) // _POINTS + 1]
        if len(means):
            line = Line("moving average", means.index.tolist(), means.tolist())
            panels.append(Panel(str(name), "number", str(name), [line], y_range=None))
    if panels:
        page = html_text(Figure("curve", checkpoint.name, panels, columns=1))
        checkpoint.with_name(checkpoint.name + ".html").write_text(page, encoding="utf-8")


# ---- checkpoints and policies


_FORMAT: Final = "askback-handmethat-1"


class Policy(Protocol):
    """A learned robot; `oracle` is what it is given in addition to the task."""

    oracle: Oracle

    def command(self, prompt: PromptText, seed: int) -> str:
        """Return the next command; `seed` determines all random choices."""


class Seq2SeqPolicy:
    """A policy that decodes its command greedily, word by word."""

    def __init__(self, network: Seq2Seq, vocabulary: Vocabulary, oracle: Oracle) -> None:
        self.oracle: Oracle = oracle
        self._network, self._vocabulary = network.eval(), vocabulary

    def command(self, prompt: PromptText, seed: int) -> str:
        """Return the next command."""
        longest = self._network.config.longest_text
        observation = pad([shorten(self._vocabulary.encode(prompt.history), longest)])
        (numbers,) = self._network.command(observation, pad([self._vocabulary.encode(prompt.task)]))
        return self._vocabulary.decode(numbers)


class DrrnPolicy:
    """A policy that draws a valid command by a softmax over the values, as published.

    `greedy`: take the best command instead (``drrn-greedy:FILE``).
    """

    oracle: Oracle = "none"

    def __init__(self, network: Drrn, coder: Coder, *, greedy: bool) -> None:
        self._network, self._coder, self._greedy = network.eval(), coder, greedy

    @torch.no_grad()
    def command(self, prompt: PromptText, seed: int) -> str:
        """Return the next command."""
        (values,) = self._network([self._coder.reading(prompt)], [self._coder.commands(prompt)])
        return prompt.valid[choose(values, random.Random(seed), greedy=self._greedy)]


def save_checkpoint(
    path: Path,
    config: Seq2SeqConfig | DrrnConfig,
    vocabulary: Vocabulary,
    network: torch.nn.Module,
    metadata: Mapping[str, Any],
) -> None:
    """Write a checkpoint; `metadata`: plain values that describe its training, including ``oracle``.

    Raises:
        OSError: if it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "format": _FORMAT,
        "kind": config.kind,
        "config": config.model_dump(),
        "words": list(vocabulary.words),
        "weights": network.state_dict(),
        "told": dict(metadata),
    }
    partial = path.with_name(path.name + ".part")
    torch.save(content, partial)
    partial.replace(path)


def load_policy(name: str) -> Policy:
    """Return the robot called ``seq2seq:FILE``, ``drrn:FILE`` or ``drrn-greedy:FILE``.

    Raises:
        InputError: if the name or the file is not of that kind.
    """
    kind, _, file = name.partition(":")
    if kind not in ("seq2seq", "drrn", "drrn-greedy") or not file:
        raise InputError(f"{name!r} is not a learned robot; use seq2seq:FILE, drrn:FILE or drrn-greedy:FILE.")
    content = _read_checkpoint(Path(file))
    if content["kind"] != kind.removesuffix("-greedy"):
        raise InputError(f"{file}: contains a {content['kind']} robot; write {content['kind']}:{file}.")
    vocabulary = Vocabulary(tuple(content["words"]))
    if kind == "seq2seq":
        seq2seq = Seq2Seq(Seq2SeqConfig.parse(content["config"]), len(vocabulary))
        seq2seq.load_state_dict(content["weights"])
        return Seq2SeqPolicy(seq2seq, vocabulary, content["told"].get("oracle", "none"))
    config = DrrnConfig.parse(content["config"])
    drrn = Drrn(config, len(vocabulary))
    drrn.load_state_dict(content["weights"])
    return DrrnPolicy(drrn, Coder(vocabulary, config.longest_text), greedy=kind == "drrn-greedy")


def _read_checkpoint(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        raise InputError(f"{path}: there is no such checkpoint; train one with `askback train handmethat`.")
    try:
        content: Mapping[str, Any] = torch.load(path, weights_only=True)
    except Exception as error:  # torch has no specific error for files it cannot read
        raise InputError(f"{path}: is not a checkpoint ({type(error).__name__}).") from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise InputError(f"{path}: is not a checkpoint of `askback train handmethat`.")
    return content
