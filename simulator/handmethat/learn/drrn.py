"""The deep reinforcement relevance network, a value for each valid command, and its training (spec 11.3)."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence

from simulator.handmethat.env.observe import Mode
from simulator.handmethat.items import Task
from simulator.handmethat.learn.seen import (
    PAD,
    DrrnConfig,
    PromptText,
    Vocabulary,
    build_vocabulary,
    read,
    reading_game,
    seen,
)
from simulator.handmethat.learn.seq2seq import pad, update
from simulator.seeds import derive_seed

Numbers = tuple[int, ...]


class Reading(NamedTuple):
    """The text before a command, as numbers of words: observation, look, inventory."""

    observation: Numbers
    look: Numbers
    inventory: Numbers


class Transition(NamedTuple):
    """One step.

    Attributes:
        valid: the commands valid then; empty at the end of the episode.
    """

    before: Reading
    command: Numbers
    reward: float
    after: Reading
    valid: tuple[Numbers, ...]


class Drrn(nn.Module):
    """Four recurrent encoders (observation, look, inventory, command) and a value over all of them."""

    def __init__(self, config: DrrnConfig, words: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, config.embedding, padding_idx=PAD)
        self.encoders = nn.ModuleList(
            nn.GRU(config.embedding, config.width, batch_first=True) for _ in range(4)
        )
        self.hidden = nn.Linear(4 * config.width, config.width)
        self.value = nn.Linear(config.width, 1)

    def forward(self, readings: Sequence[Reading], commands: Sequence[Sequence[Numbers]]) -> list[Tensor]:
        """Return Q of each command: a vector per state, as long as its commands.

        Args:
            readings: one per state.
            commands: the commands of each state, at least one.
        """
        counts = list(map(len, commands))
        state = torch.cat(
            [self._encode(part, texts) for part, texts in enumerate(zip(*readings, strict=True))], dim=1
        )
        flat = self._encode(3, [command for of_state in commands for command in of_state])
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
    """Return the smooth L1 loss of `batch`: rewards and discounted best values afterwards as targets."""
    chosen = network([step.before for step in batch], [[step.command] for step in batch])
    going = [step for step in batch if step.valid]
    with torch.no_grad():
        values = target([step.after for step in going], [step.valid for step in going]) if going else []
    best = iter(float(each.max()) for each in values)
    targets = [step.reward + (discount * next(best) if step.valid else 0.0) for step in batch]
    return F.smooth_l1_loss(torch.cat(chosen), torch.tensor(targets))


class Replay:
    """Transitions to learn from: all of them, and those of the best episodes so far.

    `priority`: share of the capacity and of each batch for the best episodes.
    """

    def __init__(self, capacity: int, priority: float) -> None:
        first = int(capacity * priority)
        self._best: deque[Transition] = deque(maxlen=max(first, 1))
        self._all: deque[Transition] = deque(maxlen=max(capacity - first, 1))
        self._priority = priority
        self._score = float("-inf")

    def __len__(self) -> int:
        return len(self._all)

    def add(self, episode: Sequence[Transition], score: float) -> None:
        """Keep an episode; one that beats the best score so far empties the queue of the best."""
        self._all.extend(episode)
        if score > self._score:
            self._score = score
            self._best.clear()
        if score >= self._score:
            self._best.extend(episode)

    def sample(self, size: int, randomly: random.Random) -> list[Transition]:
        """Return a batch of at most `size`, `priority` of it from the best episodes."""
        first = min(int(size * self._priority), len(self._best))
        rest = min(size - first, len(self._all))
        return randomly.sample(self._best, first) + randomly.sample(self._all, rest)


def choose(values: Tensor, randomly: random.Random, *, greedy: bool = False) -> int:
    """Return the best command, or one drawn by a softmax over the values (temperature 1)."""
    if greedy:
        return int(values.argmax())
    weights = F.softmax(values, dim=0).tolist()
    return randomly.choices(range(len(weights)), weights)[0]


@dataclass(frozen=True)
class Coder:
    """Texts as numbers, of a long one the last words."""

    vocabulary: Vocabulary
    longest: int

    def numbers(self, text: str) -> Numbers:
        """Return a text as numbers."""
        return tuple(self.vocabulary.encode(text)[-self.longest :])

    def reading(self, seen: PromptText) -> Reading:
        """Return what is read, as numbers."""
        return Reading(*map(self.numbers, (seen.observation, seen.look, seen.inventory)))

    def commands(self, seen: PromptText) -> tuple[Numbers, ...]:
        """Return the valid commands, as numbers."""
        return tuple(map(self.numbers, seen.valid))


@dataclass(frozen=True)
class Progress:
    """The experience of a training.

    Attributes:
        scores: of each episode, in the order of their ends.
    """

    losses: list[float] = field(default_factory=list)
    scores: list[int] = field(default_factory=list)


class _Place:
    """One of the episodes that are played side by side."""

    def __init__(self, tasks: Sequence[Task], mode: Mode, limit: int, seed: int) -> None:
        self._tasks, self._mode, self._limit = tasks, mode, limit
        self.random = random.Random(seed)
        self.begin()

    def begin(self) -> None:
        """Begin an episode of a task drawn uniformly."""
        self.task = self._tasks[self.random.randrange(len(self._tasks))]
        self.game = reading_game(self.task, self._mode, self._limit)
        self.state = self.game.start()
        self.read = seen(self.game, self.state, "", self.game.opening(with_task=False))
        self.steps: list[Transition] = []

    def expert(self) -> int | None:
        """Return where in the valid list the expert's command for this step stands, counted by steps."""
        command = next(iter(self.task.demo[len(self.steps) :]), None)
        return self.read.valid.index(command) if command in self.read.valid else None


def train_drrn(
    network: Drrn,
    vocabulary: Vocabulary,
    tasks: Sequence[Task],
    mode: Mode,
    config: DrrnConfig,
    seed: int,
    *,
    offline: bool = False,
    tell: Callable[[int, float], None] = lambda step, loss: None,
) -> Progress:
    """Train in place by playing.

    `offline`: give the expert's next command wherever it is valid, as `tasks` demonstrate it. `tell` is told
    the steps done and the last loss.
    """
    target, coder, progress = deepcopy(network), Coder(vocabulary, config.longest_text), Progress()
    optimiser = torch.optim.Adam(network.parameters(), lr=config.rate)
    replay, randomly = Replay(config.replay, config.priority), random.Random(derive_seed(seed, "replay"))
    places = [
        _Place(tasks, mode, config.limit, derive_seed(seed, "place", i)) for i in range(config.environments)
    ]
    for step in range(1, config.steps + 1):
        _play(network, coder, places, replay, progress, offline)
        if len(replay) >= config.batch:
            loss = learn_from(network, target, replay.sample(config.batch, randomly), config.discount)
            progress.losses.append(update(network, optimiser, loss, config.clip))
        if step % config.target_every == 0:
            target.load_state_dict(network.state_dict())
        tell(step, progress.losses[-1] if progress.losses else float("nan"))
    return progress


def words_of(tasks: Sequence[Task], mode: Mode, limit: int) -> Vocabulary:
    """Return every word that is read at the first steps of `tasks` and their demonstrations."""
    texts: list[str] = []
    for task in tasks:
        game = reading_game(task, mode, limit)
        for number in range(min(len(task.demo), limit - 1) + 1):
            now = read(game, task.demo[:number])
            texts += [now.observation, now.look, now.inventory, *now.valid]
    return build_vocabulary(texts)


def _play(
    network: Drrn,
    coder: Coder,
    places: Sequence[_Place],
    replay: Replay,
    progress: Progress,
    offline: bool,
) -> None:
    readings = [coder.reading(place.read) for place in places]
    offered = [coder.commands(place.read) for place in places]
    with torch.no_grad():
        values = network(readings, offered)
    for place, before, commands, worth in zip(places, readings, offered, values, strict=True):
        chosen = place.expert() if offline else None
        if chosen is None:
            chosen = choose(worth, place.random)
        outcome = place.game.act(place.state, place.read.valid[chosen])
        place.state = outcome.game
        place.read = seen(place.game, place.state, "", outcome.observation)
        left = () if outcome.done else coder.commands(place.read)
        reward, after = float(outcome.reward), coder.reading(place.read)
        place.steps.append(Transition(before, commands[chosen], reward, after, left))
        if outcome.done:
            replay.add(place.steps, place.state.score)
            progress.scores.append(place.state.score)
            place.begin()
