"""The deep reinforcement relevance network (DRRN), which values each valid command (spec 11.3)."""

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
    prompt_text,
    read,
    reading_game,
)
from simulator.handmethat.learn.seq2seq import pad, update
from simulator.seeds import derive_seed

Numbers = tuple[int, ...]


class Reading(NamedTuple):
    """The text before a command, as word numbers: observation, look, inventory."""

    observation: Numbers
    look: Numbers
    inventory: Numbers


class Transition(NamedTuple):
    """One step of an episode; no commands are `valid` after the last."""

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
        """Return the Q values of each state's commands, at least one: vectors of shape (commands,)."""
        counts = list(map(len, commands))
        state = torch.cat(
            [self._encode(part, texts) for part, texts in enumerate(zip(*readings, strict=True))], dim=1
        )
        flat = self._encode(3, [command for state_commands in commands for command in state_commands])
        repeated = state.repeat_interleave(torch.tensor(counts), dim=0)
        values = self.value(F.relu(self.hidden(torch.cat([repeated, flat], dim=1)))).squeeze(1)
        return list(values.split(counts))

    def _encode(self, part: int, texts: Sequence[Numbers]) -> Tensor:
        # Many texts in a batch are equal; encode each once.
        order = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        rows = [list(text) or [PAD] for text in order]
        lengths = torch.tensor([len(row) for row in rows])
        embedded = self.embedding(pad(rows))
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        last: Tensor = self.encoders[part](packed)[1][0]
        return last[torch.tensor([order[text] for text in texts])]


def learn_from(network: Drrn, target: Drrn, batch: Sequence[Transition], discount: float) -> Tensor:
    """Return the smooth L1 loss of `batch`; targets: reward plus discounted best value afterwards."""
    predicted = network([step.before for step in batch], [[step.command] for step in batch])
    ongoing = [step for step in batch if step.valid]
    with torch.no_grad():
        values = target([step.after for step in ongoing], [step.valid for step in ongoing]) if ongoing else []
    best = iter(float(vector.max()) for vector in values)
    targets = [step.reward + (discount * next(best) if step.valid else 0.0) for step in batch]
    return F.smooth_l1_loss(torch.cat(predicted), torch.tensor(targets))


class Replay:
    """A replay buffer with two queues: all transitions, and those of the best episodes so far.

    `priority`: share of the capacity and of each batch for the best episodes.
    """

    def __init__(self, capacity: int, priority: float) -> None:
        best = int(capacity * priority)
        self._best: deque[Transition] = deque(maxlen=max(best, 1))
        self._all: deque[Transition] = deque(maxlen=max(capacity - best, 1))
        self._priority = priority
        self._score = float("-inf")

    def __len__(self) -> int:
        return len(self._all)

    def add(self, episode: Sequence[Transition], score: float) -> None:
        """Add an episode; a new best score first empties the queue of the best episodes."""
        self._all.extend(episode)
        if score > self._score:
            self._score = score
            self._best.clear()
        if score >= self._score:
            self._best.extend(episode)

    def sample(self, size: int, rng: random.Random) -> list[Transition]:
        """Return a batch of at most `size` transitions, a share `priority` from the best episodes."""
        best = min(int(size * self._priority), len(self._best))
        rest = min(size - best, len(self._all))
        return rng.sample(self._best, best) + rng.sample(self._all, rest)


def choose(values: Tensor, rng: random.Random, *, greedy: bool = False) -> int:
    """Return the index of the best command, or of one drawn by a softmax over the values (temperature 1)."""
    if greedy:
        return int(values.argmax())
    weights = F.softmax(values, dim=0).tolist()
    return rng.choices(range(len(weights)), weights)[0]


@dataclass(frozen=True)
class Coder:
    """An encoder of texts as word numbers; it keeps the last `longest` words of a text."""

    vocabulary: Vocabulary
    longest: int

    def numbers(self, text: str) -> Numbers:
        """Return the word numbers of a text."""
        return tuple(self.vocabulary.encode(text)[-self.longest :])

    def reading(self, prompt: PromptText) -> Reading:
        """Return the word numbers of the state's texts."""
        return Reading(*map(self.numbers, (prompt.observation, prompt.look, prompt.inventory)))

    def commands(self, prompt: PromptText) -> tuple[Numbers, ...]:
        """Return the word numbers of the valid commands."""
        return tuple(map(self.numbers, prompt.valid))


@dataclass(frozen=True)
class Progress:
    """The losses of all updates of a training, and the scores of all episodes in the order of their ends."""

    losses: list[float] = field(default_factory=list)
    scores: list[int] = field(default_factory=list)


class _Environment:
    """One of the environments that are played in parallel, with its current episode."""

    def __init__(self, tasks: Sequence[Task], mode: Mode, limit: int, seed: int) -> None:
        self._tasks, self._mode, self._limit = tasks, mode, limit
        self.random = random.Random(seed)
        self.begin()

    def begin(self) -> None:
        """Begin an episode with a task drawn uniformly."""
        self.task = self._tasks[self.random.randrange(len(self._tasks))]
        self.game = reading_game(self.task, self._mode, self._limit)
        self.state = self.game.start()
        self.prompt = prompt_text(self.game, self.state, "", self.game.opening(with_task=False))
        self.steps: list[Transition] = []

    def expert(self) -> int | None:
        """Return the index of the demonstration's next command among the valid ones, or None."""
        command = next(iter(self.task.demo[len(self.steps) :]), None)
        return self.prompt.valid.index(command) if command in self.prompt.valid else None


def train_drrn(
    network: Drrn,
    vocabulary: Vocabulary,
    tasks: Sequence[Task],
    mode: Mode,
    config: DrrnConfig,
    seed: int,
    *,
    offline: bool = False,
    report: Callable[[int, float], None] = lambda step, loss: None,
) -> Progress:
    """Train `network` in place by playing.

    `offline`: execute the demonstration's next command whenever it is valid. `report`: called with the number
    of steps done and the last loss.
    """
    target, coder, progress = deepcopy(network), Coder(vocabulary, config.longest_text), Progress()
    optimiser = torch.optim.Adam(network.parameters(), lr=config.rate)
    replay, rng = Replay(config.replay, config.priority), random.Random(derive_seed(seed, "replay"))
    seeds = (derive_seed(seed, "place", i) for i in range(config.environments))
    environments = [_Environment(tasks, mode, config.limit, each) for each in seeds]
    for step in range(1, config.steps + 1):
        _play(network, coder, environments, replay, progress, offline)
        if len(replay) >= config.batch:
            loss = learn_from(network, target, replay.sample(config.batch, rng), config.discount)
            progress.losses.append(update(network, optimiser, loss, config.clip))
        if step % config.target_every == 0:
            target.load_state_dict(network.state_dict())
        report(step, progress.losses[-1] if progress.losses else float("nan"))
    return progress


def words_of(tasks: Sequence[Task], mode: Mode, limit: int) -> Vocabulary:
    """Return the vocabulary of all texts along the demonstrations of `tasks`."""
    texts: list[str] = []
    for task in tasks:
        game = reading_game(task, mode, limit)
        for number in range(min(len(task.demo), limit - 1) + 1):
            prompt = read(game, task.demo[:number])
            texts += [prompt.observation, prompt.look, prompt.inventory, *prompt.valid]
    return build_vocabulary(texts)


def _play(
    network: Drrn,
    coder: Coder,
    environments: Sequence[_Environment],
    replay: Replay,
    progress: Progress,
    offline: bool,
) -> None:
    readings = [coder.reading(env.prompt) for env in environments]
    valid = [coder.commands(env.prompt) for env in environments]
    with torch.no_grad():
        values = network(readings, valid)
    for env, before, commands, q in zip(environments, readings, valid, values, strict=True):
        chosen = env.expert() if offline else None
        if chosen is None:
            chosen = choose(q, env.random)
        outcome = env.game.act(env.state, env.prompt.valid[chosen])
        env.state = outcome.game
        env.prompt = prompt_text(env.game, env.state, "", outcome.observation)
        next_valid = () if outcome.done else coder.commands(env.prompt)
        reward, after = float(outcome.reward), coder.reading(env.prompt)
        env.steps.append(Transition(before, commands[chosen], reward, after, next_valid))
        if outcome.done:
            replay.add(env.steps, env.state.score)
            progress.scores.append(env.state.score)
            env.begin()
