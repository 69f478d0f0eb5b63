"""Behaviour cloning: the network, and its training on expert demonstrations (spec 11.2).

The network has a QANet-style encoder, context-query attention and a pointer decoder. One encoder reads the
observation (with the history) and the task; the observation attends to the task; the decoder writes the
command word by word, each from the vocabulary or copied from the observation.
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
"""An example as word numbers: history, task, and command with begin and end marks."""
_MASKED = -1e9


class Seq2Seq(nn.Module):
    """The network: it maps an observation and a task to a command."""

    def __init__(self, config: Seq2SeqConfig, words: int) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(words, config.embedding, padding_idx=PAD)
        self.project = nn.Linear(config.embedding, config.width, bias=False)
        self.encoder = EncoderBlock(config)
        self.attention = ContextQuery(config.width, config.dropout)
        self.decoder = DecoderBlock(config)
        # The output layer is tied to the embeddings: only the projection to their width is learned.
        self.back = nn.Linear(config.width, config.embedding)
        self.copy = nn.Linear(2 * config.width, 1)

    def forward(self, observation: Tensor, task: Tensor, command: Tensor) -> Tensor:
        """Return log-probabilities of the next word at each word of `command`: batch x length x vocabulary.

        Args:
            observation: batch x words, word numbers; 0 is padding.
            task: batch x words.
            command: batch x length, beginning with the begin mark.
        """
        return self.write(*self.read(observation, task), observation, command)

    def read(self, observation: Tensor, task: Tensor) -> tuple[Tensor, Tensor]:
        """Return the fused observation (batch x words x width) and its mask."""
        context_mask, query_mask = observation != PAD, task != PAD
        context = self.encoder(self._embed(observation), context_mask)
        query = self.encoder(self._embed(task), query_mask)
        return self.attention(context, query, context_mask, query_mask), context_mask

    def write(self, memory: Tensor, mask: Tensor, observation: Tensor, command: Tensor) -> Tensor:
        """Return the log-probabilities of `forward`; `memory` and `mask`: the result of `read`."""
        states, weights, context = self.decoder(self._embed(command), memory, mask)
        generated = F.softmax(self.back(states) @ self.embedding.weight.T, dim=-1)
        indices = observation.unsqueeze(1).expand(-1, command.shape[1], -1)
        copied = torch.zeros_like(generated).scatter_add(2, indices, weights)
        share = torch.sigmoid(self.copy(torch.cat([states, context], dim=-1)))
        mixed: Tensor = share * copied + (1 - share) * generated
        return torch.log(mixed + 1e-12)

    @torch.no_grad()
    def command(self, observation: Tensor, task: Tensor) -> list[list[int]]:
        """Return the word numbers of each row's command, without its end mark, decoded greedily."""
        memory, mask = self.read(observation, task)
        output = torch.full((len(observation), 1), BEGIN)
        finished = torch.zeros(len(observation), dtype=torch.bool)
        for _ in range(self.config.longest_command):
            word = self.write(memory, mask, observation, output)[:, -1].argmax(dim=-1)
            word = torch.where(finished, torch.full_like(word, PAD), word)
            output = torch.cat([output, word.unsqueeze(1)], dim=1)
            finished |= word == END
            if bool(finished.all()):
                break
        return [[int(n) for n in row if n not in (PAD, END)] for row in output[:, 1:].tolist()]

    def _embed(self, numbers: Tensor) -> Tensor:
        return F.dropout(self.project(self.embedding(numbers)), self.config.dropout, self.training)


class EncoderBlock(nn.Module):
    """Positions, then residual layers: separable convolutions, self-attention and feed-forward."""

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
        """Return batch x words x width, given `inputs` of that shape and a `mask`, batch x words."""
        weights = mask.unsqueeze(-1)
        hidden = inputs + positions(inputs)
        for norm, convolution in zip(self.norms, self.convolutions, strict=False):
            hidden = hidden + self._drop(convolution(norm(hidden) * weights))
        normed = self.norms[-2](hidden)
        attended, _ = self.attention(normed, normed, normed, key_padding_mask=~mask, need_weights=False)
        hidden = hidden + self._drop(attended)
        hidden = hidden + self._drop(self.feed(self.norms[-1](hidden)))
        return hidden * weights

    def _drop(self, values: Tensor) -> Tensor:
        return F.dropout(values, self.dropout, self.training)


class Convolution(nn.Module):
    """A depthwise-separable convolution over words."""

    def __init__(self, width: int, kernel: int) -> None:
        super().__init__()
        self.depth = nn.Conv1d(width, width, kernel, padding=kernel // 2, groups=width)
        self.point = nn.Conv1d(width, width, 1)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return batch x words x width, the shape of `inputs`."""
        return F.relu(self.point(self.depth(inputs.transpose(1, 2)))).transpose(1, 2)


class ContextQuery(nn.Module):
    """Mutual attention of observation and task, fused from 4 x width to width."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.context = nn.Linear(width, 1, bias=False)
        self.query = nn.Linear(width, 1, bias=False)
        self.both = nn.Parameter(torch.empty(width).uniform_(-0.1, 0.1))
        self.fuse = nn.Linear(4 * width, width)
        self.dropout = dropout

    def forward(self, context: Tensor, query: Tensor, context_mask: Tensor, query_mask: Tensor) -> Tensor:
        """Return batch x words of the observation x width."""
        similarity = self.context(context) + self.query(query).transpose(1, 2)
        similarity = similarity + (context * self.both) @ query.transpose(1, 2)
        over_query = F.softmax(similarity.masked_fill(~query_mask.unsqueeze(1), _MASKED), dim=2)
        over_context = F.softmax(similarity.masked_fill(~context_mask.unsqueeze(2), _MASKED), dim=1)
        to_query = over_query @ query
        to_context = over_query @ over_context.transpose(1, 2) @ context
        joined = torch.cat([context, to_query, context * to_query, context * to_context], dim=-1)
        fused = torch.tanh(self.fuse(F.dropout(joined, self.dropout, self.training)))
        return fused * context_mask.unsqueeze(-1)


class DecoderBlock(nn.Module):
    """Causal self-attention, attention to the fused observation, a feed-forward layer."""

    def __init__(self, config: Seq2SeqConfig) -> None:
        super().__init__()
        width = config.width
        self.own = nn.MultiheadAttention(width, config.heads, batch_first=True)
        self.across = nn.MultiheadAttention(width, config.heads, batch_first=True)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.feed = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, inputs: Tensor, memory: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return states, attention weights over the observation's words, and the attended context."""
        length = inputs.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool).triu(1)
        hidden = inputs + positions(inputs)
        normed = self.norms[0](hidden)
        attended, _ = self.own(normed, normed, normed, attn_mask=causal, need_weights=False)
        hidden = hidden + attended
        context, weights = self.across(self.norms[1](hidden), memory, memory, key_padding_mask=~mask)
        hidden = hidden + context
        hidden = hidden + self.feed(self.norms[2](hidden))
        return hidden, weights, context


def positions(like: Tensor) -> Tensor:
    """Return sinusoidal positions, words x width, for a tensor of batch x words x width."""
    length, width = like.shape[1], like.shape[2]
    position = torch.arange(length, dtype=torch.float32).unsqueeze(1)
    frequency = torch.exp(torch.arange(0, width, 2, dtype=torch.float32) * (-math.log(10000.0) / width))
    table = torch.zeros(length, width)
    table[:, 0::2] = torch.sin(position * frequency)
    table[:, 1::2] = torch.cos(position * frequency)
    return table


def pad(rows: Sequence[list[int]]) -> Tensor:
    """Return rows of numbers as one tensor, padded at the end; at least one word wide."""
    return pad_sequence([torch.tensor(row or [PAD]) for row in rows], batch_first=True, padding_value=PAD)


@dataclass(frozen=True, slots=True)
class Example:
    """A step of a demonstration: history, task, and the expert's command."""

    history: str
    task: str
    command: str


def examples_of(tasks: Iterable[Task], mode: Mode, oracle: Oracle = "none") -> list[Example]:
    """Return every step of the demonstrations of `tasks`."""
    examples = []
    for task in tasks:
        game = reading_game(task, mode, limit=len(task.demo) + 1)
        for number, command in enumerate(task.demo):
            prompt = read(game, task.demo[:number], oracle)
            examples.append(Example(prompt.history, prompt.task, command))
    return examples


def number(examples: Sequence[Example], vocabulary: Vocabulary, config: Seq2SeqConfig) -> list[Rows]:
    """Return examples as word numbers; a long observation keeps both ends (see `shorten`)."""
    return [
        (
            shorten(vocabulary.encode(example.history), config.longest_text),
            vocabulary.encode(example.task),
            [BEGIN, *vocabulary.encode(example.command)[: config.longest_command - 1], END],
        )
        for example in examples
    ]


def tensors(rows: Iterable[Rows]) -> tuple[Tensor, Tensor, Tensor]:
    """Return the padded observations, tasks and commands of numbered examples."""
    observations, tasks, commands = zip(*rows, strict=True)
    return pad(observations), pad(tasks), pad(commands)


def shorten(words: list[int], longest: int) -> list[int]:
    """Return at most `longest` words, half of them from the start and half from the end."""
    return words if len(words) <= longest else words[: longest // 2] + words[-(longest - longest // 2) :]


def words_of(examples: Sequence[Example]) -> Vocabulary:
    """Return the vocabulary of the examples."""
    return build_vocabulary(
        text for example in examples for text in (example.history, example.task, example.command)
    )


def train_seq2seq(
    network: Seq2Seq,
    examples: Sequence[Rows],
    config: Seq2SeqConfig,
    seed: int,
    report: Callable[[int, float], None] = lambda update, loss: None,
) -> list[float]:
    """Train `network` in place to imitate numbered examples (see `number`).

    `seed`: order of the examples; the caller seeds torch (`torch.manual_seed`). `report`: called with the
    number of updates done and the last loss.

    Returns:
        The loss of each update: cross entropy per word, label-smoothed, natural logarithms.
    """
    trainable = [weights for weights in network.parameters() if weights.requires_grad]
    optimiser = torch.optim.Adam(trainable, lr=config.rate)
    network.train()
    losses: list[float] = []
    for batch in _batches(len(examples), config.batch, config.updates, random.Random(seed)):
        observation, task, command = tensors(examples[i] for i in batch)
        loss = loss_of(network(observation, task, command[:, :-1]), command[:, 1:], config.label_smoothing)
        losses.append(update(network, optimiser, loss, config.clip))
        report(len(losses), losses[-1])
    network.eval()
    return losses


def loss_of(logarithms: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    """Return the label-smoothed cross entropy per word, ignoring padding."""
    return F.cross_entropy(
        logarithms.flatten(0, 1), targets.flatten(), ignore_index=PAD, label_smoothing=smoothing
    )


def update(network: nn.Module, optimiser: torch.optim.Optimizer, loss: Tensor, clip: float) -> float:
    """Take an optimiser step with the clipped gradient of `loss`; return the loss as a float."""
    optimiser.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(network.parameters(), clip)
    optimiser.step()
    return float(loss.detach())


def _batches(count: int, size: int, updates: int, rng: random.Random) -> Iterator[list[int]]:
    """Yield batches of indices, epoch by epoch in random order."""
    queue: list[int] = []
    for _ in range(updates):
        if len(queue) < size:
            epoch = list(range(count))
            rng.shuffle(epoch)
            queue += epoch
        yield queue[:size]
        queue = queue[size:]
