"""Train Stable-Baselines3 learners on HandMeThat and draw the learning curve in docs/.

::

    pip install 'askback[rl]'
    askback generate handmethat --profile v1 --levels 1:1 --quest-mix bring_me:1 --episodes 600 --out episodes
    python examples/handmethat_rl.py --data episodes --out docs/handmethat_rl.png

Two learners, MaskablePPO (sb3-contrib) and a masked DQN, share one network architecture: it scores every
command by its verb and by how well its things match the instruction. They learn on episodes of the train
split with the published reward shaping (points for following the demonstration, spec 9.5), and are tested
without it on episodes of the test split.
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

from simulator.figures import Figure, Line, Panel, save
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
LIMIT = 8  # commands per episode, as in the published RL scripts
_COLUMN = {name: i for i, name in enumerate(UTTERANCE)}


class CommandScorer(BaseFeaturesExtractor):
    """A network that returns a score for every command and a value of the state.

    A thing matches if the instruction does not contradict it. Features of a command: its verb, whether its
    things match or are the human, whether they contain a matching thing, and what the robot holds.
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
        """Return scores of the commands (invalid ones: `FORBIDDEN`) and the value: (batch, slots + 1)."""
        matches = self._matches(observations)
        place = observations["place"].long()
        utterance, commands = observations["utterance"].long(), observations["commands"].long()
        # Column 0 means no thing, the last column the human.
        things = nn.functional.pad(matches, (1, 1))
        holders = _containers_of_matches(matches, place)
        containers = nn.functional.pad(holders, (1, 1))
        verb, first, second = commands.unbind(-1)
        destination = utterance[:, _COLUMN["destination"], None]
        home = _home(place, destination)
        context = self._context(observations, things, holders)
        rows = torch.cat(
            [
                nn.functional.one_hot(verb, len(COMMAND_VERBS) + 1).float(),
                torch.stack(
                    [
                        (first == MOST_ENTITIES + 1).float(),
                        things.gather(1, first),
                        containers.gather(1, first),
                        containers.gather(1, second),
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
        valid = observations["action_mask"] > 0
        visible = torch.stack([matches.amax(1), holders.amax(1)], dim=-1)
        value = self.value(torch.cat([context, visible], dim=-1))
        return torch.cat([scores.masked_fill(~valid, FORBIDDEN), value], dim=-1)

    def _matches(self, observations: dict[str, Tensor]) -> Tensor:
        """Return 1 for every visible thing that matches the instruction, else 0: (batch, entities)."""
        kind, utterance = observations["kind"].long(), observations["utterance"].long()
        classes = self.classes[kind]
        specifiers = {
            "class": classes,
            "subclass": self.subclasses[kind],
            "type": kind,
            "place": observations["place"].long() + 1,
            "color": observations["color"].long(),
            "size": observations["size"].long(),
        }
        matches = (observations["visible"] > 0) & (classes != class_numbers()["LOCATION"]) & (kind > 0)
        for name, values in specifiers.items():
            required = utterance[:, _COLUMN[name], None]
            matches &= (required == 0) | (values == required)
        states = observations["states"].long()
        for i, name in enumerate(STATES):
            required = utterance[:, _COLUMN[name], None]
            matches &= (required == 0) | (states[:, :, i] == required - 1)
        return matches.float()

    def _context(self, observations: dict[str, Tensor], things: Tensor, holders: Tensor) -> Tensor:
        utterance, at = observations["utterance"].long(), observations["at"].long()
        held = observations["holding"].long()
        with_human = (at == MOST_ENTITIES + 1).float()
        here = nn.functional.pad(holders, (1, 1)).gather(1, at)
        holding = torch.cat([(held > 0).float(), things.gather(1, held)], dim=-1)
        quest = nn.functional.one_hot(utterance[:, _COLUMN["quest"]] - 1, len(QUESTS)).float()
        return torch.cat([quest, with_human, here, holding], dim=-1)


def _containers_of_matches(matches: Tensor, place: Tensor) -> Tensor:
    """Return 1 for every container with a matching thing directly or deeper in it: (batch, entities)."""
    containers = torch.zeros_like(matches)
    weight = matches
    for _ in range(2):
        # Things without a place are counted in an extra last column, which is dropped.
        counts = torch.zeros(matches.shape[0], matches.shape[1] + 1).to(matches)
        counts.scatter_add_(1, (place % (matches.shape[1] + 1)), weight)
        weight = counts[:, :-1]
        containers = torch.maximum(containers, (weight > 0).float())
    return containers


def _home(place: Tensor, row: Tensor) -> Tensor:
    """Return the row of an entity's container, or of itself if it has none; rows are 1 + a number."""
    entity = (row - 1).clamp(min=0)
    container = place.gather(1, entity)
    return torch.where(container >= 0, container + 1, row)


class _Split(nn.Module):
    """An mlp_extractor of Stable-Baselines3: the scores go to the actor, the value to the critic."""

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
    """A Q network whose values are the scores of `CommandScorer`."""

    def forward(self, obs: dict[str, Tensor]) -> Tensor:
        """Return Q of all commands: (batch, slots)."""
        return self.extract_features(obs, self.features_extractor)[:, :-1]


class CommandQPolicy(DQNPolicy):
    """A policy with a `CommandQNetwork`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, features_extractor_class=CommandScorer, **options)

    def make_q_net(self) -> QNetwork:
        """Return a new network; Stable-Baselines3 calls this for the online and the target network."""
        arguments = self._update_features_extractor(self.net_args, features_extractor=None)
        return CommandQNetwork(**arguments).to(self.device)


class MaskedDQN(DQN):
    """A DQN that explores only valid commands."""

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[Any, Any]:
        """Return the best command of each environment, or a random valid one when exploring."""
        actions, state = super().predict(observation, state, episode_start, deterministic=True)
        if not deterministic:
            masks = np.atleast_2d(observation["action_mask"])
            for i, mask in enumerate(masks):
                if self.generator.random() < self.exploration_rate:
                    actions[i] = self.generator.choice(np.flatnonzero(mask))
        return actions, state

    @property
    def generator(self) -> np.random.Generator:
        """The random generator for exploration."""
        if not hasattr(self, "_generator"):
            self._generator = np.random.default_rng(self.seed)
        return self._generator


def make_env(tasks: Sequence[Any], mode: str, shaping: bool) -> Callable[[], Monitor[Any, Any]]:
    """Return a function that makes an environment over `tasks`; rewards are divided by 100."""

    def make() -> Monitor[Any, Any]:
        env = HandMeThatDiscrete(tasks=tasks, mode=mode, limit=LIMIT, shaping=shaping)
        return Monitor(TransformReward(env, lambda points: points / 100))

    return make


def count_solved(model: Any, tasks: Sequence[Any], mode: str) -> int:
    """Return the number of `tasks` that the greedy policy solves."""
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
    """A callback that regularly tests the policy on held-out episodes."""

    def __init__(self, tasks: Sequence[Any], mode: str, every: int) -> None:
        super().__init__()
        self.tasks, self.mode, self.every = tasks, mode, every
        self.points: list[tuple[int, int]] = []

    def _test(self) -> None:
        solved = count_solved(self.model, self.tasks, self.mode)
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
    """Return an untrained learner: ``MaskablePPO`` or ``DQN``."""
    env = DummyVecEnv([make_env(tasks, mode, shaping=True) for _ in range(envs)])
    if name == "MaskablePPO":
        return MaskablePPO(
            CommandPolicy, env, n_steps=64, batch_size=64, n_epochs=10, learning_rate=2e-3, gamma=0.9,
            ent_coef=0.003, seed=seed, device="cpu",
        )  # fmt: skip
    return MaskedDQN(
        CommandQPolicy, env, buffer_size=8000, learning_starts=envs, batch_size=64, train_freq=1,
        gradient_steps=2, learning_rate=1e-3, gamma=0.9, target_update_interval=500, exploration_fraction=0.5,
        # Treat truncation as an end: after it no command is valid and all Q values are FORBIDDEN, so a target
        # bootstrapped from there would dominate all others.
        replay_buffer_kwargs={"handle_timeout_termination": False}, seed=seed, device="cpu",
    )  # fmt: skip


def draw(curves: dict[str, Sequence[tuple[int, int]]], count: int, out: Path, title: str) -> None:
    """Draw the learning curves with 95 % intervals to `out`, and write them as CSV next to it."""
    shares = [
        (name, step, wilson(solved, count)) for name, points in curves.items() for step, solved in points
    ]
    frame = pd.DataFrame(
        [(name, step, share.value, share.low, share.high, count) for name, step, share in shares],
        columns=["learner", "steps", "success", "low", "high", "episodes"],
    )
    frame.to_csv(out.with_suffix(".csv"), index=False, float_format="%.4f", lineterminator="\r\n")
    lines = [
        Line(str(name), curve["steps"], curve["success"], curve["low"], curve["high"], n=count)
        for name, curve in frame.groupby("learner", sort=False)
    ]
    save(Figure("learning", title, [Panel("", "commands given while learning", "success", lines)]), out)


def main() -> None:
    """Train, test and draw the learning curves."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, help="folder of episodes with a split file")
    parser.add_argument("--learner", default="MaskablePPO,DQN", help="MaskablePPO, DQN or both")
    parser.add_argument("--level", type=int, default=1)
    parser.add_argument("--mode", default="full", choices=("full", "partial"))
    parser.add_argument("--steps", type=int, default=12_000)
    parser.add_argument("--points", type=int, default=8, help="number of tests of the policy")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("handmethat_rl.png"))
    args = parser.parse_args()
    torch.set_num_threads(1)
    train, test = (load_tasks(args.data, levels=[args.level], split=part) for part in ("train", "test"))
    view = {"full": "fully", "partial": "partially"}[args.mode]
    title = f"HandMeThat level {args.level}, {view} observable: {len(test)} held-out episodes"
    curves: dict[str, Sequence[tuple[int, int]]] = {}
    for name in args.learner.split(","):
        start = time.process_time()
        curve = Curve(test, args.mode, max(1, args.steps // args.points))
        make_learner(name, train, args.mode, args.seed).learn(args.steps, callback=curve)
        print(f"{name}: {time.process_time() - start:.0f} s of CPU")
        curves[name] = curve.points
        draw(curves, len(test), args.out, title)


if __name__ == "__main__":
    main()
