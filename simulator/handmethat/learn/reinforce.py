"""Training of the DRRN, online and with the expert at its side (spec 11.3)."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field

import torch

from simulator.handmethat.env.game import Game, GameState
from simulator.handmethat.learn.config import DrrnConfig
from simulator.handmethat.learn.drrn import Drrn, Numbers, Reading, Replay, Transition, choose, learn_from
from simulator.handmethat.learn.seen import Seen, read, reading_game, seen
from simulator.handmethat.learn.vocabulary import Vocabulary, build_vocabulary
from simulator.handmethat.task import Task
from simulator.handmethat.views import Mode
from simulator.seeds import derive_seed


@dataclass(frozen=True)
class Progress:
    """What training has seen.

    Attributes:
        losses: of each update.
        scores: of each episode, in the order of their ends.
        successes: whether each succeeded.
    """

    losses: list[float] = field(default_factory=list)
    scores: list[int] = field(default_factory=list)
    successes: list[bool] = field(default_factory=list)


class _Place:
    """One of the episodes that are played side by side."""

    def __init__(self, tasks: Sequence[Task], mode: Mode, limit: int, seed: int) -> None:
        self._tasks, self._mode, self._limit = tasks, mode, limit
        self.random = random.Random(seed)
        self.begin()

    def begin(self) -> None:
        """A new episode of a task drawn uniformly."""
        self.task = self._tasks[self.random.randrange(len(self._tasks))]
        self.game: Game = reading_game(self.task, self._mode, self._limit)
        self.state: GameState = self.game.start()
        self.read: Seen = seen(self.game, self.state, "", self.game.opening(with_task=False))
        self.steps: list[Transition] = []


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

    Args:
        network: the network.
        vocabulary: of its texts.
        tasks: what is played; with their demonstrations if `offline`.
        mode: what the robot sees.
        config: sizes, rates, steps.
        seed: of the draws and the order.
        offline: give the expert's next command wherever it is valid.
        tell: is told the steps done and the last loss.
    """
    target = deepcopy(network)
    optimiser = torch.optim.Adam(network.parameters(), lr=config.rate)
    replay, randomly = Replay(config.replay, config.priority), random.Random(derive_seed(seed, "replay"))
    places = [
        _Place(tasks, mode, config.limit, derive_seed(seed, "place", i)) for i in range(config.environments)
    ]
    progress = Progress()
    for step in range(1, config.steps + 1):
        _play(network, vocabulary, places, config, replay, progress, offline)
        if len(replay) >= config.batch:
            loss = learn_from(network, target, replay.sample(config.batch, randomly), config.discount)
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), config.clip)
            optimiser.step()
            progress.losses.append(float(loss.detach()))
        if step % config.target_every == 0:
            target.load_state_dict(network.state_dict())
        tell(step, progress.losses[-1] if progress.losses else float("nan"))
    return progress


def words_of(tasks: Sequence[Task], mode: Mode, limit: int) -> Vocabulary:
    """Every word that is read at the first steps of `tasks` and their demonstrations."""
    texts: list[str] = []
    for task in tasks:
        game = reading_game(task, mode, limit)
        for number in range(min(len(task.demo), limit - 1) + 1):
            now, _ = read(game, task.demo[:number])
            texts += [now.observation, now.look, now.inventory, *now.valid]
    return build_vocabulary(texts)


def numbers_of(vocabulary: Vocabulary, text: str, longest: int) -> Numbers:
    """The last `longest` words of `text` as numbers."""
    return tuple(vocabulary.encode(text)[-longest:])


def reading_of(vocabulary: Vocabulary, read: Seen, longest: int) -> Reading:
    """What is read, as numbers."""
    texts = (read.observation, read.look, read.inventory)
    return Reading(*(numbers_of(vocabulary, text, longest) for text in texts))


def _play(
    network: Drrn,
    vocabulary: Vocabulary,
    places: Sequence[_Place],
    config: DrrnConfig,
    replay: Replay,
    progress: Progress,
    offline: bool,
) -> None:
    """One step in every place."""
    readings = [reading_of(vocabulary, place.read, config.longest_text) for place in places]
    offered = [_offered(vocabulary, place.read, config) for place in places]
    with torch.no_grad():
        values = network(readings, offered)
    for place, before, commands, worth in zip(places, readings, offered, values, strict=True):
        chosen = _expert(place) if offline else None
        if chosen is None:
            chosen = choose(worth, place.random)
        outcome = place.game.act(place.state, place.read.valid[chosen])
        place.state = outcome.game
        place.read = seen(place.game, place.state, "", outcome.observation)
        after = reading_of(vocabulary, place.read, config.longest_text)
        left = () if outcome.done else _offered(vocabulary, place.read, config)
        place.steps.append(Transition(before, commands[chosen], float(outcome.reward), after, left))
        if outcome.done:
            replay.add(place.steps, place.state.score)
            progress.scores.append(place.state.score)
            progress.successes.append(place.state.success)
            place.begin()


def _offered(vocabulary: Vocabulary, read: Seen, config: DrrnConfig) -> tuple[Numbers, ...]:
    return tuple(numbers_of(vocabulary, command, config.longest_text) for command in read.valid)


def _expert(place: _Place) -> int | None:
    """Where in the valid list the expert's command for this step stands, counted by steps."""
    number = len(place.steps)
    if number >= len(place.task.demo):
        return None
    wanted = place.task.demo[number]
    return place.read.valid.index(wanted) if wanted in place.read.valid else None
