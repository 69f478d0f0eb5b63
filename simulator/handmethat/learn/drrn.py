"""The deep reinforcement relevance network: a value for each valid command (spec 11.3)."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence

from simulator.handmethat.learn.config import DrrnConfig
from simulator.handmethat.learn.seq2seq import pad
from simulator.handmethat.learn.vocabulary import PAD

Numbers = tuple[int, ...]


class Reading(NamedTuple):
    """What the robot reads before a command, as numbers of words: observation, look, inventory."""

    observation: Numbers
    look: Numbers
    inventory: Numbers


@dataclass(frozen=True, slots=True)
class Transition:
    """One step.

    Attributes:
        before: what was read.
        command: the command given.
        reward: of the step.
        after: what was read then.
        valid: the commands valid then; empty at the end of the episode.
    """

    before: Reading
    command: Numbers
    reward: float
    after: Reading
    valid: tuple[Numbers, ...]


class Drrn(nn.Module):
    """Four recurrent encoders (observation, look, inventory, command) and a value over all of them.

    Args:
        config: its sizes.
        words: size of the vocabulary.
    """

    def __init__(self, config: DrrnConfig, words: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, config.embedding, padding_idx=PAD)
        self.encoders = nn.ModuleList(
            nn.GRU(config.embedding, config.width, batch_first=True) for _ in range(4)
        )
        self.hidden = nn.Linear(4 * config.width, config.width)
        self.value = nn.Linear(config.width, 1)

    def forward(self, readings: Sequence[Reading], commands: Sequence[Sequence[Numbers]]) -> list[Tensor]:
        """Q of each command.

        Args:
            readings: one per state.
            commands: the commands of each state, at least one.

        Returns:
            One vector per state, as long as its commands.
        """
        counts = [len(some) for some in commands]
        state = torch.cat(
            [self._encode(part, [reading[part] for reading in readings]) for part in range(3)], dim=1
        )
        flat = self._encode(3, [command for some in commands for command in some])
        spread = state.repeat_interleave(torch.tensor(counts), dim=0)
        values = self.value(F.relu(self.hidden(torch.cat([spread, flat], dim=1)))).squeeze(1)
        return list(values.split(counts))

    def _encode(self, part: int, texts: Sequence[Numbers]) -> Tensor:
        # Many commands and texts of a batch are the same; each is read once.
        order = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        rows = [list(text) or [PAD] for text in order]
        lengths = torch.tensor([len(row) for row in rows])
        embedded = self.embedding(pad(rows))
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        last: Tensor = self.encoders[part](packed)[1][0]
        return last[torch.tensor([order[text] for text in texts])]


def learn_from(network: Drrn, target: Drrn, batch: Sequence[Transition], discount: float) -> Tensor:
    """The smooth L1 loss of `batch`: rewards and discounted best values afterwards as targets."""
    chosen = network([one.before for one in batch], [[one.command] for one in batch])
    with torch.no_grad():
        going = [one for one in batch if one.valid]
        best = iter(target([one.after for one in going], [one.valid for one in going]) if going else ())
        wanted = [one.reward + (discount * float(next(best).max()) if one.valid else 0.0) for one in batch]
    return F.smooth_l1_loss(torch.cat(chosen), torch.tensor(wanted))


class Replay:
    """Transitions to learn from: all of them, and those of the best episodes so far.

    Args:
        capacity: how many are kept in all.
        priority: share of the capacity and of each batch for the best episodes.
    """

    def __init__(self, capacity: int, priority: float) -> None:
        first = int(capacity * priority)
        self._best: deque[Transition] = deque(maxlen=max(first, 1))
        self._all: deque[Transition] = deque(maxlen=max(capacity - first, 1))
        self._priority = priority
        self._score: float | None = None

    def __len__(self) -> int:
        return len(self._all)

    def add(self, episode: Sequence[Transition], score: float) -> None:
        """Keep an episode; one that beats the best score so far empties the queue of the best."""
        self._all.extend(episode)
        if self._score is None or score > self._score:
            self._score = score
            self._best.clear()
        if score >= self._score:
            self._best.extend(episode)

    def sample(self, size: int, randomly: random.Random) -> list[Transition]:
        """A batch of at most `size`, `priority` of it from the best episodes."""
        first = min(int(size * self._priority), len(self._best))
        rest = min(size - first, len(self._all))
        return randomly.sample(self._best, first) + randomly.sample(self._all, rest)


def choose(values: Tensor, randomly: random.Random, *, greedy: bool = False) -> int:
    """The best command, or one drawn by a softmax over the values (temperature 1)."""
    if greedy:
        return int(values.argmax())
    weights = F.softmax(values, dim=0).tolist()
    return randomly.choices(range(len(weights)), weights)[0]
