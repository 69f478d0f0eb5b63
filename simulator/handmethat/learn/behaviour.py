"""Behaviour cloning: examples out of expert demonstrations, and the training of `Seq2Seq` (spec 11.2)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from simulator.handmethat.learn.config import Seq2SeqConfig
from simulator.handmethat.learn.seen import Oracle, read, reading_game
from simulator.handmethat.learn.seq2seq import Seq2Seq, pad
from simulator.handmethat.learn.vocabulary import BEGIN, END, PAD, Vocabulary, build_vocabulary
from simulator.handmethat.task import Task
from simulator.handmethat.views import Mode


@dataclass(frozen=True, slots=True)
class Example:
    """A step of a demonstration: what was read, what was asked for, what the expert did."""

    history: str
    task: str
    command: str


def examples_of(tasks: Iterable[Task], mode: Mode, oracle: Oracle = "none") -> list[Example]:
    """Every step of the demonstrations of `tasks`; one without a demonstration gives none."""
    found = []
    for task in tasks:
        game = reading_game(task, mode, limit=len(task.demo) + 1)
        for number, command in enumerate(task.demo):
            seen, _ = read(game, task.demo[:number], oracle)
            found.append(Example(seen.history, seen.task, command))
    return found


@dataclass(frozen=True)
class Numbered:
    """Examples as numbers of words."""

    histories: list[list[int]]
    tasks: list[list[int]]
    commands: list[list[int]]

    def __len__(self) -> int:
        return len(self.commands)

    def batch(self, some: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
        """Observations, tasks and commands (with begin and end marks) of some examples."""
        marked = [[BEGIN, *self.commands[i], END] for i in some]
        return pad([self.histories[i] for i in some]), pad([self.tasks[i] for i in some]), pad(marked)


def number(examples: Sequence[Example], vocabulary: Vocabulary, config: Seq2SeqConfig) -> Numbered:
    """Examples as numbers; a long observation keeps its two ends (see `shorten`)."""
    return Numbered(
        histories=[shorten(vocabulary.encode(one.history), config.longest_text) for one in examples],
        tasks=[vocabulary.encode(one.task) for one in examples],
        commands=[vocabulary.encode(one.command)[: config.longest_command - 1] for one in examples],
    )


def shorten(words: list[int], longest: int) -> list[int]:
    """At most `longest` words: the first half of them and the last."""
    return words if len(words) <= longest else words[: longest // 2] + words[-(longest - longest // 2) :]


def words_of(examples: Sequence[Example]) -> Vocabulary:
    """Every word of the examples."""
    return build_vocabulary(text for one in examples for text in (one.history, one.task, one.command))


def train_seq2seq(
    network: Seq2Seq,
    examples: Numbered,
    config: Seq2SeqConfig,
    seed: int,
    tell: Callable[[int, float], None] = lambda update, loss: None,
) -> list[float]:
    """Train in place.

    Args:
        network: the network.
        examples: what to imitate.
        config: updates, batch, rate, clip, label smoothing.
        seed: order of the examples; the network's own randomness is the caller's (`torch.manual_seed`).
        tell: is told the number of updates done and the last loss.

    Returns:
        The loss of each update: cross entropy per word, label-smoothed, natural logarithms.
    """
    optimiser = torch.optim.Adam(
        [weights for weights in network.parameters() if weights.requires_grad], lr=config.rate
    )
    network.train()
    losses: list[float] = []
    for some in _batches(len(examples), config.batch, config.updates, random.Random(seed)):
        observation, task, command = examples.batch(some)
        loss = loss_of(network(observation, task, command[:, :-1]), command[:, 1:], config.label_smoothing)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), config.clip)
        optimiser.step()
        losses.append(float(loss.detach()))
        tell(len(losses), losses[-1])
    network.eval()
    return losses


def loss_of(logarithms: Tensor, wanted: Tensor, smoothing: float) -> Tensor:
    """Label-smoothed cross entropy per word; padding does not count."""
    return F.cross_entropy(
        logarithms.flatten(0, 1), wanted.flatten(), ignore_index=PAD, label_smoothing=smoothing
    )


def _batches(count: int, size: int, updates: int, randomly: random.Random) -> Iterator[list[int]]:
    """Every example once before any is seen again."""
    waiting: list[int] = []
    for _ in range(updates):
        if len(waiting) < size:
            fresh = list(range(count))
            randomly.shuffle(fresh)
            waiting += fresh
        yield waiting[:size]
        waiting = waiting[size:]
