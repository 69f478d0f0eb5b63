"""Training of learned robots, their checkpoints with a learning curve each, and the robots out of them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Protocol

import pandas as pd
import torch
from rich.console import Console

from simulator.errors import InputError
from simulator.handmethat.env.observe import Mode, reference_text
from simulator.handmethat.env.scripts import expert_commands
from simulator.handmethat.items import Task
from simulator.handmethat.learn.drrn import Coder, Drrn, choose, train_drrn, words_of
from simulator.handmethat.learn.seen import DrrnConfig, Oracle, PromptText, Seq2SeqConfig, Vocabulary
from simulator.handmethat.learn.seq2seq import Seq2Seq, examples_of, number, pad, shorten, train_seq2seq
from simulator.handmethat.learn.seq2seq import words_of as words_of_examples
from simulator.runner.run_summary import updates_bar
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


# ---- checkpoints, and the robots out of them


_FORMAT: Final = "askback-handmethat-1"


class Policy(Protocol):
    """A learned robot.

    Attributes:
        oracle: what it is told beside the task.
    """

    oracle: Oracle

    def command(self, seen: PromptText, seed: int) -> str:
        """Return the next command; everything random in it descends from `seed`."""


class Seq2SeqPolicy:
    """Writes its command word by word, greedily; nothing in it is random."""

    def __init__(self, network: Seq2Seq, vocabulary: Vocabulary, oracle: Oracle) -> None:
        self.oracle: Oracle = oracle
        self._network, self._vocabulary = network.eval(), vocabulary

    def command(self, seen: PromptText, seed: int) -> str:
        """Return the next command."""
        longest = self._network.config.longest_text
        observation = pad([shorten(self._vocabulary.encode(seen.history), longest)])
        written = self._network.command(observation, pad([self._vocabulary.encode(seen.task)]))
        return self._vocabulary.decode(written[0])


class DrrnPolicy:
    """Draws among the valid commands by a softmax over their values, as published.

    `greedy`: take the best; asked for by ``drrn-greedy:FILE``.
    """

    oracle: Oracle = "none"

    def __init__(self, network: Drrn, coder: Coder, *, greedy: bool) -> None:
        self._network, self._coder, self._greedy = network.eval(), coder, greedy

    @torch.no_grad()
    def command(self, seen: PromptText, seed: int) -> str:
        """Return the next command."""
        (values,) = self._network([self._coder.reading(seen)], [self._coder.commands(seen)])
        return seen.valid[choose(values, random.Random(seed), greedy=self._greedy)]


def save_checkpoint(
    path: Path,
    config: Seq2SeqConfig | DrrnConfig,
    vocabulary: Vocabulary,
    network: torch.nn.Module,
    how_made: Mapping[str, Any],
) -> None:
    """Write a checkpoint; `how_made` are plain values that say how it was made (``oracle`` among them).

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
        "told": dict(how_made),
    }
    partial = path.with_name(path.name + ".part")
    torch.save(content, partial)
    partial.replace(path)


def load_policy(name: str) -> Policy:
    """Return the robot called ``seq2seq:FILE``, ``drrn:FILE`` or ``drrn-greedy:FILE``.

    Raises:
        InputError: if the name or the file is none of that kind.
    """
    kind, _, file = name.partition(":")
    if kind not in ("seq2seq", "drrn", "drrn-greedy") or not file:
        raise InputError(f"{name!r} is no learned robot; write seq2seq:FILE, drrn:FILE or drrn-greedy:FILE.")
    content = _read_checkpoint(Path(file))
    if content["kind"] != kind.removesuffix("-greedy"):
        raise InputError(f"{file}: holds a {content['kind']} robot; call it {content['kind']}:{file}.")
    vocabulary = Vocabulary(tuple(content["words"]))
    if kind == "seq2seq":
        writer = Seq2Seq(Seq2SeqConfig.parse(content["config"]), len(vocabulary))
        writer.load_state_dict(content["weights"])
        return Seq2SeqPolicy(writer, vocabulary, content["told"].get("oracle", "none"))
    config = DrrnConfig.parse(content["config"])
    valuer = Drrn(config, len(vocabulary))
    valuer.load_state_dict(content["weights"])
    return DrrnPolicy(valuer, Coder(vocabulary, config.longest_text), greedy=kind == "drrn-greedy")


def _read_checkpoint(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        raise InputError(f"{path}: there is no such checkpoint; train one with `askback train handmethat`.")
    try:
        content: Mapping[str, Any] = torch.load(path, weights_only=True)
    except Exception as error:  # torch has no error of its own for a file that it cannot read
        raise InputError(f"{path}: is no checkpoint ({type(error).__name__}).") from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise InputError(f"{path}: is no checkpoint of `askback train handmethat`.")
    return content
