"""Reinforcement learning in HandMeThat with Stable-Baselines3, and the learning curve in docs/.

::

    pip install 'askback[rl]'
    askback generate handmethat --profile v1 --levels 1:1 --quest-mix bring_me:1 --episodes 600 --out episodes
    python examples/handmethat_rl.py --data episodes --out docs/handmethat_rl.png

Two learners, MaskablePPO (of sb3-contrib) and a DQN that obeys the mask, share one network: every command is
scored by what it does and by how well its things fit what the human said. They learn on episodes of the train
split with the published shaping (points for following the demonstration, spec 9.5), and are tested without
it on episodes of the test split.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from gymnasium import spaces
from gymnasium.wrappers import TransformReward
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableMultiInputActorCriticPolicy
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import DummyVecEnv
from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
from torch import Tensor, nn

from simulator.handmethat.data import load_tasks
from simulator.handmethat.env.discrete import (
    COMMAND_VERBS,
    UTTERANCE,
    HandMeThatDiscrete,
    class_numbers,
    subclass_numbers,
)
from simulator.handmethat.env.gym_env import MOST_ENTITIES
from simulator.handmethat.hierarchy import STATES, hierarchy
from simulator.handmethat.meanings.model import QUESTS
from simulator.stats import wilson

FORBIDDEN = -1e9
LIMIT = 8  # commands per episode, as the published RL scripts have it
_COLUMN = {name: i for i, name in enumerate(UTTERANCE)}


class CommandScorer(BaseFeaturesExtractor):
    """A score for every command, and next to it what the state is worth.

    A thing fits if nothing that was said speaks against it. A command is told by its verb, whether its things
    fit or are the human, whether something that fits lies at or in them, and what the robot holds.
    """

    def __init__(self, observation_space: spaces.Dict, width: int = 64) -> None:
        slots = observation_space["commands"].shape[0]
        super().__init__(observation_space, features_dim=slots + 1)
        kinds = hierarchy().kinds.values()
        classes, subclasses = class_numbers(), subclass_numbers()
        self.classes: Tensor
        self.subclasses: Tensor
        self.register_buffer("classes", torch.tensor([0, *(classes[kind.cls] for kind in kinds)]))
        self.register_buffer("subclasses", torch.tensor([0, *(subclasses[kind.subclass] for kind in kinds)]))
        context = len(QUESTS) + 4
        features = len(COMMAND_VERBS) + 1 + 7 + context
        self.score = nn.Sequential(
            nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1)
        )
        self.value = nn.Sequential(nn.Linear(context + 2, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, observations: dict[str, Tensor]) -> Tensor:
        """Scores of the commands (forbidden ones far below all others) and the value: (batch, slots + 1)."""
        fits = self._fits(observations)
        place = observations["place"].long()
        said, commands = observations["utterance"].long(), observations["commands"].long()
        # Column 0 stands for no thing, the last for the human.
        things = nn.functional.pad(fits, (1, 1))
        holds = _holding_what_fits(fits, place)
        filled = nn.functional.pad(holds, (1, 1))
        verb, first, second = commands.unbind(-1)
        destination = said[:, _COLUMN["destination"], None]
        home = _home(place, destination)
        context = self._context(observations, things, holds)
        rows = torch.cat(
            [
                nn.functional.one_hot(verb, len(COMMAND_VERBS) + 1).float(),
                torch.stack(
                    [
                        (first == MOST_ENTITIES + 1).float(),
                        things.gather(1, first),
                        filled.gather(1, first),
                        filled.gather(1, second),
                        ((first == destination) & (first > 0)).float(),
                        ((second == destination) & (second > 0)).float(),
                        ((first == home) & (first > 0)).float(),
                    ],
                    dim=-1,
                ),
                context[:, None, :].expand(-1, commands.shape[1], -1),
            ],
            dim=-1,
        )
        scores = self.score(rows).squeeze(-1)
        allowed = observations["action_mask"] > 0
        visible = torch.stack([fits.amax(1), holds.amax(1)], dim=-1)
        value = self.value(torch.cat([context, visible], dim=-1))
        return torch.cat([scores.masked_fill(~allowed, FORBIDDEN), value], dim=-1)

    def _fits(self, observations: dict[str, Tensor]) -> Tensor:
        """1 for every visible thing that nothing said speaks against, else 0: (batch, entities)."""
        kind, said = observations["kind"].long(), observations["utterance"].long()
        classes = self.classes[kind]
        named = {
            "class": classes,
            "subclass": self.subclasses[kind],
            "type": kind,
            "place": observations["place"].long() + 1,
            "color": observations["color"].long(),
            "size": observations["size"].long(),
        }
        fits = (observations["visible"] > 0) & (classes != class_numbers()["LOCATION"]) & (kind > 0)
        for name, values in named.items():
            wanted = said[:, _COLUMN[name], None]
            fits &= (wanted == 0) | (values == wanted)
        states = observations["states"].long()
        for i, name in enumerate(STATES):
            wanted = said[:, _COLUMN[name], None]
            fits &= (wanted == 0) | (states[:, :, i] == wanted - 1)
        return fits.float()

    def _context(self, observations: dict[str, Tensor], things: Tensor, holds: Tensor) -> Tensor:
        said, at = observations["utterance"].long(), observations["at"].long()
        held = observations["holding"].long()
        with_human = (at == MOST_ENTITIES + 1).float()
        here = nn.functional.pad(holds, (1, 1)).gather(1, at)
        holding = torch.cat([(held > 0).float(), things.gather(1, held)], dim=-1)
        quest = nn.functional.one_hot(said[:, _COLUMN["quest"]] - 1, len(QUESTS)).float()
        return torch.cat([quest, with_human, here, holding], dim=-1)


def _holding_what_fits(fits: Tensor, place: Tensor) -> Tensor:
    """1 for every container in which something that fits lies, directly or deeper: (batch, entities)."""
    holds = torch.zeros_like(fits)
    weight = fits
    for _ in range(2):
        # Things without a place are counted in a column of their own, which is cut off.
        counted = torch.zeros(fits.shape[0], fits.shape[1] + 1).to(fits)
        counted.scatter_add_(1, (place % (fits.shape[1] + 1)), weight)
        weight = counted[:, :-1]
        holds = torch.maximum(holds, (weight > 0).float())
    return holds


def _home(place: Tensor, row: Tensor) -> Tensor:
    """1 + the location of the entity of a row (1 + its number), or the row itself if it is a location."""
    entity = (row - 1).clamp(min=0)
    container = place.gather(1, entity)
    return torch.where(container >= 0, container + 1, row)


class _Split(nn.Module):
    """The scores for the actor, the value for the critic: what Stable-Baselines3 calls an mlp_extractor."""

    def __init__(self, slots: int) -> None:
        super().__init__()
        self.latent_dim_pi, self.latent_dim_vf = slots, 1

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        return self.forward_actor(features), self.forward_critic(features)

    def forward_actor(self, features: Tensor) -> Tensor:
        return features[:, :-1]

    def forward_critic(self, features: Tensor) -> Tensor:
        return features[:, -1:]


class CommandPolicy(MaskableMultiInputActorCriticPolicy):
    """An actor whose logits are the scores of `CommandScorer`, and a critic with its value."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, features_extractor_class=CommandScorer, **options)

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor = _Split(self.features_dim - 1)

    def _build(self, lr_schedule: Callable[[float], float]) -> None:
        self._build_mlp_extractor()
        self.action_net, self.value_net = nn.Identity(), nn.Identity()
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)


class CommandQNetwork(QNetwork):
    """Q of every command: its score by `CommandScorer`."""

    def forward(self, obs: dict[str, Tensor]) -> Tensor:
        """Q of all commands: (batch, slots)."""
        return self.extract_features(obs, self.features_extractor)[:, :-1]


class CommandQPolicy(DQNPolicy):
    """A policy of `CommandQNetwork`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, features_extractor_class=CommandScorer, **options)

    def make_q_net(self) -> QNetwork:
        """The network; one is learnt, the other is its target."""
        arguments = self._update_features_extractor(self.net_args, features_extractor=None)
        return CommandQNetwork(**arguments).to(self.device)


class MaskedDQN(DQN):
    """DQN that explores among the commands that may be given."""

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[Any, Any]:
        """The best command of each environment, or, exploring, any that may be given."""
        actions, state = super().predict(observation, state, episode_start, deterministic=True)
        if not deterministic:
            masks = np.atleast_2d(observation["action_mask"])
            for i, mask in enumerate(masks):
                if self.generator.random() < self.exploration_rate:
                    actions[i] = self.generator.choice(np.flatnonzero(mask))
        return actions, state

    @property
    def generator(self) -> np.random.Generator:
        """Decides when and how to explore."""
        if not hasattr(self, "_generator"):
            self._generator = np.random.default_rng(self.seed)
        return self._generator


def make_env(tasks: Sequence[Any], mode: str, shaping: bool) -> Callable[[], Monitor[Any, Any]]:
    """Return what makes an environment over `tasks`; points are hundredths, so that values are about 1."""

    def make() -> Monitor[Any, Any]:
        env = HandMeThatDiscrete(tasks=tasks, mode=mode, limit=LIMIT, shaping=shaping)
        return Monitor(TransformReward(env, lambda points: points / 100))

    return make


def success_rate(model: Any, tasks: Sequence[Any], mode: str) -> int:
    """Return how many of `tasks` the greedy policy solves."""
    env, solved = HandMeThatDiscrete(tasks=tasks, mode=mode, limit=LIMIT), 0
    masked = isinstance(model, MaskablePPO)
    for number in range(len(tasks)):
        observation, info = env.reset(options={"task": number})
        over = False
        while not over:
            masks = {"action_masks": env.action_masks()} if masked else {}
            action, _ = model.predict(observation, deterministic=True, **masks)
            observation, _, terminated, truncated, info = env.step(int(action))
            over = terminated or truncated
        solved += info["success"]
    return solved


class Curve(BaseCallback):
    """Tests the policy now and then, on episodes that it does not learn from."""

    def __init__(self, tasks: Sequence[Any], mode: str, every: int) -> None:
        super().__init__()
        self.tasks, self.mode, self.every = tasks, mode, every
        self.points: list[tuple[int, int]] = []

    def _test(self) -> None:
        solved = success_rate(self.model, self.tasks, self.mode)
        self.points.append((self.num_timesteps, solved))
        print(
            f"{type(self.model).__name__} {self.num_timesteps} steps: {solved} of {len(self.tasks)}",
            flush=True,
        )

    def _on_training_start(self) -> None:
        self._test()

    def _on_step(self) -> bool:
        last = self.points[-1][0]
        if self.num_timesteps - last >= self.every:
            self._test()
        return True


def make_learner(name: str, tasks: Sequence[Any], mode: str, seed: int, envs: int = 8) -> Any:
    """A learner that has learnt nothing yet: ``MaskablePPO`` or ``DQN``."""
    env = DummyVecEnv([make_env(tasks, mode, shaping=True) for _ in range(envs)])
    if name == "MaskablePPO":
        return MaskablePPO(
            CommandPolicy, env, n_steps=64, batch_size=64, n_epochs=10, learning_rate=2e-3, gamma=0.9,
            ent_coef=0.003, seed=seed, device="cpu",
        )  # fmt: skip
    return MaskedDQN(
        CommandQPolicy, env, buffer_size=8000, learning_starts=envs, batch_size=64, train_freq=1,
        gradient_steps=2, learning_rate=1e-3, gamma=0.9, target_update_interval=500, exploration_fraction=0.5,
        # The limit ends an episode like any failure: where it is over no command is allowed, and Q of all is
        # FORBIDDEN, so that a target bootstrapped from there would drown every other.
        replay_buffer_kwargs={"handle_timeout_termination": False}, seed=seed, device="cpu",
    )  # fmt: skip


def draw(curves: dict[str, Sequence[tuple[int, int]]], count: int, out: Path, title: str) -> None:
    """The learning curves with 95 % intervals, as a picture, and as CSV beside it."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    shares = [
        (name, step, wilson(solved, count)) for name, points in curves.items() for step, solved in points
    ]
    frame = pd.DataFrame(
        [(name, step, share.value, share.low, share.high, count) for name, step, share in shares],
        columns=["learner", "steps", "success", "low", "high", "episodes"],
    )
    frame.to_csv(out.with_suffix(".csv"), index=False, float_format="%.4f", lineterminator="\r\n")
    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    for name, curve in frame.groupby("learner", sort=False):
        axes.plot(curve["steps"], 100 * curve["success"], marker=".", label=name)
        axes.fill_between(curve["steps"], 100 * curve["low"], 100 * curve["high"], alpha=0.2)
    axes.set(xlabel="commands given while learning", ylabel="success, %", ylim=(0, 100), title=title)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(out, dpi=120)


def main() -> None:
    """Learn, test, draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, help="a folder of episodes with a split file")
    parser.add_argument("--learner", default="MaskablePPO,DQN", help="MaskablePPO, DQN or both")
    parser.add_argument("--level", type=int, default=1)
    parser.add_argument("--mode", default="full", choices=("full", "partial"))
    parser.add_argument("--steps", type=int, default=12_000)
    parser.add_argument("--points", type=int, default=8, help="how often the policy is tested")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("handmethat_rl.png"))
    given = parser.parse_args()
    torch.set_num_threads(1)
    train, test = (load_tasks(given.data, levels=[given.level], split=part) for part in ("train", "test"))
    seen = {"full": "fully", "partial": "partially"}[given.mode]
    title = f"HandMeThat level {given.level}, {seen} observable: {len(test)} episodes not learnt from"
    curves: dict[str, Sequence[tuple[int, int]]] = {}
    for name in given.learner.split(","):
        begun = time.process_time()
        curve = Curve(test, given.mode, max(1, given.steps // given.points))
        make_learner(name, train, given.mode, given.seed).learn(given.steps, callback=curve)
        print(f"{name}: {time.process_time() - begun:.0f} s of CPU")
        curves[name] = curve.points
        draw(curves, len(test), given.out, title)


if __name__ == "__main__":
    main()
