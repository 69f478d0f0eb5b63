"""Behaviour cloning: the network, and its training on expert demonstrations (spec 11.2).

The network has a QANet-style encoder, context-query attention and a pointer decoder. One encoder reads the
observation (with the history) and the task; the observation attends to the task; the decoder writes the
command word by word, each either out of the vocabulary or copied from the observation.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from simulator.handmethat.env.observe import Mode
from simulator.handmethat.items import Task
from simulator.handmethat.learn.seen import (
    BEGIN,
    END,
    PAD,
    Oracle,
    Seq2SeqConfig,
    Vocabulary,
    build_vocabulary,
    read,
    reading_game,
)

Rows = tuple[list[int], list[int], list[int]]
"""An example as numbers of words: history, task, and command with begin and end marks."""
_FAR = -1e9


class Seq2Seq(nn.Module):
    """Observation and task in, command out."""

    def __init__(self, config: Seq2SeqConfig, words: int) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(words, config.embedding, padding_idx=PAD)
        self.project = nn.Linear(config.embedding, config.width, bias=False)
        self.encoder = EncoderBlock(config)
        self.attention = ContextQuery(config.width, config.dropout)
        self.decoder = DecoderBlock(config)
        # The output layer is tied to the embeddings: only the way back to their width is learned.
        self.back = nn.Linear(config.width, config.embedding)
        self.copy = nn.Linear(2 * config.width, 1)

    def forward(self, observation: Tensor, task: Tensor, command: Tensor) -> Tensor:
        """Return log-probabilities of the word after each of `command`: batch x length x vocabulary.

        Args:
            observation: batch x words, numbers of words; 0 pads.
            task: batch x words.
            command: batch x length, beginning with the begin mark.
        """
        return self.write(*self.read(observation, task), observation, command)

    def read(self, observation: Tensor, task: Tensor) -> tuple[Tensor, Tensor]:
        """Return the fused observation (batch x words x width) and its mask."""
        seen, asked = observation != PAD, task != PAD
        context = self.encoder(self._embed(observation), seen)
        query = self.encoder(self._embed(task), asked)
        return self.attention(context, query, seen, asked), seen

    def write(self, memory: Tensor, seen: Tensor, observation: Tensor, command: Tensor) -> Tensor:
        """Return the log-probabilities of `forward`, given what `read` made."""
        states, weights, context = self.decoder(self._embed(command), memory, seen)
        generated = F.softmax(self.back(states) @ self.embedding.weight.T, dim=-1)
        where = observation.unsqueeze(1).expand(-1, command.shape[1], -1)
        copied = torch.zeros_like(generated).scatter_add(2, where, weights)
        share = torch.sigmoid(self.copy(torch.cat([states, context], dim=-1)))
        mixed: Tensor = share * copied + (1 - share) * generated
        return torch.log(mixed + 1e-12)

    @torch.no_grad()
    def command(self, observation: Tensor, task: Tensor) -> list[list[int]]:
        """Return the numbers of each row's command, without its end mark, decoded greedily."""
        memory, seen = self.read(observation, task)
        written = torch.full((len(observation), 1), BEGIN)
        over = torch.zeros(len(observation), dtype=torch.bool)
        for _ in range(self.config.longest_command):
            last = self.write(memory, seen, observation, written)[:, -1].argmax(dim=-1)
            last = torch.where(over, torch.full_like(last, PAD), last)
            written = torch.cat([written, last.unsqueeze(1)], dim=1)
            over |= last == END
            if bool(over.all()):
                break
        return [[int(n) for n in row if n not in (PAD, END)] for row in written[:, 1:].tolist()]

    def _embed(self, numbers: Tensor) -> Tensor:
        return F.dropout(self.project(self.embedding(numbers)), self.config.dropout, self.training)


class EncoderBlock(nn.Module):
    """Positions, depthwise-separable convolutions, self-attention, a feed-forward layer; residual each."""

    def __init__(self, config: Seq2SeqConfig) -> None:
        super().__init__()
        width = config.width
        self.dropout = config.dropout
        self.convolutions = nn.ModuleList(
            Convolution(width, config.kernel) for _ in range(config.convolutions)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(config.convolutions + 2))
        self.attention = nn.MultiheadAttention(width, config.heads, batch_first=True)
        self.feed = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """Return both batch x words (x width)."""
        kept = mask.unsqueeze(-1)
        here = inputs + positions(inputs)
        for norm, convolution in zip(self.norms, self.convolutions, strict=False):
            here = here + self._drop(convolution(norm(here) * kept))
        normed = self.norms[-2](here)
        attended, _ = self.attention(normed, normed, normed, key_padding_mask=~mask, need_weights=False)
        here = here + self._drop(attended)
        here = here + self._drop(self.feed(self.norms[-1](here)))
        return here * kept

    def _drop(self, values: Tensor) -> Tensor:
        return F.dropout(values, self.dropout, self.training)


class Convolution(nn.Module):
    """A depthwise-separable convolution over words."""

    def __init__(self, width: int, kernel: int) -> None:
        super().__init__()
        self.depth = nn.Conv1d(width, width, kernel, padding=kernel // 2, groups=width)
        self.point = nn.Conv1d(width, width, 1)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return batch x words x width, as given."""
        return F.relu(self.point(self.depth(inputs.transpose(1, 2)))).transpose(1, 2)


class ContextQuery(nn.Module):
    """The observation attends to the task and the task to the observation; 4 x width becomes width."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.context = nn.Linear(width, 1, bias=False)
        self.query = nn.Linear(width, 1, bias=False)
        self.both = nn.Parameter(torch.empty(width).uniform_(-0.1, 0.1))
        self.fuse = nn.Linear(4 * width, width)
        self.dropout = dropout

    def forward(self, context: Tensor, query: Tensor, seen: Tensor, asked: Tensor) -> Tensor:
        """Return batch x words of the observation x width."""
        likeness = self.context(context) + self.query(query).transpose(1, 2)
        likeness = likeness + (context * self.both) @ query.transpose(1, 2)
        over_task = F.softmax(likeness.masked_fill(~asked.unsqueeze(1), _FAR), dim=2)
        over_words = F.softmax(likeness.masked_fill(~seen.unsqueeze(2), _FAR), dim=1)
        answer = over_task @ query
        back = over_task @ over_words.transpose(1, 2) @ context
        joined = torch.cat([context, answer, context * answer, context * back], dim=-1)
        fused = torch.tanh(self.fuse(F.dropout(joined, self.dropout, self.training)))
        return fused * seen.unsqueeze(-1)


class DecoderBlock(nn.Module):
    """Causal self-attention, attention to the fused observation, a feed-forward layer."""

    def __init__(self, config: Seq2SeqConfig) -> None:
        super().__init__()
        width = config.width
        self.own = nn.MultiheadAttention(width, config.heads, batch_first=True)
        self.across = nn.MultiheadAttention(width, config.heads, batch_first=True)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.feed = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, inputs: Tensor, memory: Tensor, seen: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return states, weights over the observation's words, and what was attended to there."""
        length = inputs.shape[1]
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        here = inputs + positions(inputs)
        normed = self.norms[0](here)
        own, _ = self.own(normed, normed, normed, attn_mask=later, need_weights=False)
        here = here + own
        context, weights = self.across(self.norms[1](here), memory, memory, key_padding_mask=~seen)
        here = here + context
        here = here + self.feed(self.norms[2](here))
        return here, weights, context


def positions(like: Tensor) -> Tensor:
    """Return sines and cosines, words x width, for a batch x words x width."""
    length, width = like.shape[1], like.shape[2]
    place = torch.arange(length, dtype=torch.float32).unsqueeze(1)
    turn = torch.exp(torch.arange(0, width, 2, dtype=torch.float32) * (-math.log(10000.0) / width))
    table = torch.zeros(length, width)
    table[:, 0::2] = torch.sin(place * turn)
    table[:, 1::2] = torch.cos(place * turn)
    return table


def pad(rows: Sequence[list[int]]) -> Tensor:
    """Return rows of numbers as one tensor, padded at their ends; at least one word wide."""
    return pad_sequence([torch.tensor(row or [PAD]) for row in rows], batch_first=True, padding_value=PAD)


@dataclass(frozen=True, slots=True)
class Example:
    """A step of a demonstration: what was read, what was asked for, what the expert did."""

    history: str
    task: str
    command: str


def examples_of(tasks: Iterable[Task], mode: Mode, oracle: Oracle = "none") -> list[Example]:
    """Return every step of the demonstrations of `tasks`; one without a demonstration gives none."""
    examples = []
    for task in tasks:
        game = reading_game(task, mode, limit=len(task.demo) + 1)
        for number, command in enumerate(task.demo):
            seen = read(game, task.demo[:number], oracle)
            examples.append(Example(seen.history, seen.task, command))
    return examples


def number(examples: Sequence[Example], vocabulary: Vocabulary, config: Seq2SeqConfig) -> list[Rows]:
    """Return examples as numbers; a long observation keeps its two ends (see `shorten`)."""
    return [
        (
            shorten(vocabulary.encode(example.history), config.longest_text),
            vocabulary.encode(example.task),
            [BEGIN, *vocabulary.encode(example.command)[: config.longest_command - 1], END],
        )
        for example in examples
    ]


def tensors(rows: Iterable[Rows]) -> tuple[Tensor, Tensor, Tensor]:
    """Return observations, tasks and commands of some numbered examples."""
    observations, tasks, commands = zip(*rows, strict=True)
    return pad(observations), pad(tasks), pad(commands)


def shorten(words: list[int], longest: int) -> list[int]:
    """Return at most `longest` words: the first half of them and the last."""
    return words if len(words) <= longest else words[: longest // 2] + words[-(longest - longest // 2) :]


def words_of(examples: Sequence[Example]) -> Vocabulary:
    """Return every word of the examples."""
    return build_vocabulary(
        text for example in examples for text in (example.history, example.task, example.command)
    )


def train_seq2seq(
    network: Seq2Seq,
    examples: Sequence[Rows],
    config: Seq2SeqConfig,
    seed: int,
    tell: Callable[[int, float], None] = lambda update, loss: None,
) -> list[float]:
    """Train in place.

    Args:
        network: the network.
        examples: what to imitate, as `number` makes them.
        config: updates, batch, rate, clip, label smoothing.
        seed: order of the examples; the network's own randomness is the caller's (`torch.manual_seed`).
        tell: is told the number of updates done and the last loss.

    Returns:
        The loss of each update: cross entropy per word, label-smoothed, natural logarithms.
    """
    learnt = [weights for weights in network.parameters() if weights.requires_grad]
    optimiser = torch.optim.Adam(learnt, lr=config.rate)
    network.train()
    losses: list[float] = []
    for batch in _batches(len(examples), config.batch, config.updates, random.Random(seed)):
        observation, task, command = tensors(examples[i] for i in batch)
        loss = loss_of(network(observation, task, command[:, :-1]), command[:, 1:], config.label_smoothing)
        losses.append(update(network, optimiser, loss, config.clip))
        tell(len(losses), losses[-1])
    network.eval()
    return losses


def loss_of(logarithms: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    """Return the label-smoothed cross entropy per word; padding does not count."""
    return F.cross_entropy(
        logarithms.flatten(0, 1), targets.flatten(), ignore_index=PAD, label_smoothing=smoothing
    )


def update(network: nn.Module, optimiser: torch.optim.Optimizer, loss: Tensor, clip: float) -> float:
    """Take a step down the gradient of `loss`, clipped; return the loss as a number."""
    optimiser.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(network.parameters(), clip)
    optimiser.step()
    return float(loss.detach())


def _batches(count: int, size: int, updates: int, randomly: random.Random) -> Iterator[list[int]]:
    """Yield every example once before any is seen again."""
    waiting: list[int] = []
    for _ in range(updates):
        if len(waiting) < size:
            fresh = list(range(count))
            randomly.shuffle(fresh)
            waiting += fresh
        yield waiting[:size]
        waiting = waiting[size:]
