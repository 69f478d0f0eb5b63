"""The numeric environment: masked actions, and observations with the content of the texts."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import simulator.handmethat.env
from simulator.errors import InputError
from simulator.handmethat.data import load_tasks
from simulator.handmethat.env.discrete import (
    COMMAND_VERBS,
    STORY_VERBS,
    UTTERANCE,
    HandMeThatDiscrete,
    utterance_row,
)
from simulator.handmethat.env.gym_env import MOST_ENTITIES, HandMeThat
from simulator.handmethat.meanings.model import Meaning, describe

assert simulator.handmethat.env
EXAMPLE = Path(__file__).parents[4] / "examples" / "handmethat_rl.py"


def test_it_is_an_environment_without_text() -> None:
    env = gymnasium.make("askback/HandMeThatDiscrete-v0", limit=8)
    assert isinstance(env.action_space, gymnasium.spaces.Discrete)
    check_env(env.unwrapped, skip_render_check=True)
    observation, info = env.reset(seed=1)
    assert all(array.dtype.kind == "i" for array in observation.values())
    assert (observation["action_mask"] == info["action_mask"]).all()


def test_actions_are_the_listed_commands() -> None:
    tasks = load_tasks(levels=[1])[:12]
    random = np.random.default_rng(0)
    for number, task in enumerate(tasks):
        env, words = HandMeThatDiscrete(tasks=tasks, limit=12), HandMeThat(tasks, limit=12)
        observation, _ = env.reset(options={"task": number})
        _, info = words.reset(options={"task": number})
        over = False
        while not over:
            valid = info["valid"]
            assert observation["action_mask"].sum() == len(valid) == env.action_masks().sum()
            for action, text in enumerate(valid):
                verb, first, second = observation["commands"][action]
                parsed = words.game.reader.read(text)
                rows = [0 if entity == 0 else entity - 1 for entity in (first, second)]
                expected = [MOST_ENTITIES if entity < 0 else entity for entity in parsed.args]
                assert COMMAND_VERBS[verb - 1] == parsed.verb
                assert rows[: len(expected)] == expected
                assert env.command(action) == text
            action = int(random.choice(np.flatnonzero(observation["action_mask"])))
            observation, reward, terminated, truncated, _ = env.step(action)
            _, other, *ends, info = words.step(valid[action])
            assert (reward, terminated, truncated) == (other, *ends)
            over = terminated or truncated
        assert not observation["action_mask"].any()
        assert task.world.names[observation["at"][0] - 1 if observation["at"][0] <= MOST_ENTITIES else 0]


def test_the_first_actions_mean_the_same_everywhere() -> None:
    env = HandMeThatDiscrete()
    moves = set()
    for number in (0, 40, 80):
        env.reset(options={"task": number})
        moves.add(tuple(env.command(action) for action in range(17)))
    (same,) = moves
    assert (same[0], same[-1]) == ("move to floor", "move to human")


def test_utterance_and_story_are_observed() -> None:
    task = next(
        candidate for candidate in load_tasks() if candidate.actions and candidate.meaning.quest == "move_to"
    )
    env = HandMeThatDiscrete(tasks=[task])
    observation, _ = env.reset()
    for row, (name, args) in zip(observation["story"], task.actions, strict=False):
        assert STORY_VERBS[row[0] - 1] == name
        assert tuple(row[1 : 1 + len(args)] - 1) == args
    assert not observation["story"][len(task.actions) :].any()
    assert env.observation_space.contains(observation)
    utterance = Meaning(
        "move_to", describe({"subclass": "snack", "frozen": False, "inside": "sink"}), "table"
    )
    row = dict(zip(UTTERANCE, utterance_row(task.world, utterance).tolist(), strict=True))
    assert (row["quest"], row["frozen"], row["open"], row["type"], row["class"]) == (2, 1, 0, 0, 0)
    assert task.world.names[row["place"] - 1] == "sink"
    assert task.world.names[row["destination"] - 1] == "table"
    cleaned = utterance_row(
        task.world, Meaning("change_state", describe({"type": "hat", "dusty": True}), "clean")
    )
    assert dict(zip(UTTERANCE, cleaned.tolist(), strict=True))["dusty"] == 2
    assert cleaned[-1] == 6


def test_an_invalid_action_has_no_effect_and_is_charged() -> None:
    env = HandMeThatDiscrete(limit=3)
    before, _ = env.reset(seed=3)
    forbidden = int(np.flatnonzero(before["action_mask"] == 0)[0])
    after, reward, terminated, _, info = env.step(forbidden)
    assert (reward, terminated, info["moves"]) == (-1.0, False, 1)
    assert all((before[name] == after[name]).all() for name in before)


def test_wrong_options_are_reported() -> None:
    with pytest.raises(InputError, match="render_text"):
        HandMeThatDiscrete(render_text=True)
    with pytest.raises(InputError, match="listed or strict"):
        HandMeThatDiscrete(commands=None)
    with pytest.raises(InputError, match="more slots"):
        HandMeThatDiscrete(slots=18).reset(options={"task": 0})


def _example():
    """The example as a module; skips where Stable-Baselines3 is not installed."""
    for name in ("torch", "stable_baselines3", "sb3_contrib"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed: pip install 'askback[rl]'")
    spec = importlib.util.spec_from_file_location("handmethat_rl", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["handmethat_rl"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("learner", ["MaskablePPO", "DQN"])
def test_the_example_learns_with_stable_baselines(learner: str, tmp_path: Path) -> None:
    example = _example()
    example.torch.set_num_threads(1)
    tasks = [task for task in load_tasks(levels=[1]) if task.meaning.quest == "bring_me"][:4]
    model = example.make_learner(learner, tasks, "full", seed=0, envs=2)
    before = [weights.clone() for weights in model.policy.parameters()]
    curve = example.Curve(tasks, "full", every=64)
    model.learn(128, callback=curve)
    after = list(model.policy.parameters())
    assert any(
        not example.torch.equal(weights, trained) for weights, trained in zip(before, after, strict=True)
    )
    assert curve.points[0][0] == 0
    assert len(curve.points) >= 2
    if learner == "DQN":
        # After an episode's end every Q is that of an invalid command: nothing must be learnt from it.
        batch = model.replay_buffer.sample(256)
        over = ~batch.next_observations["action_mask"].any(dim=1)
        assert over.any()
        assert batch.dones[over].all()
    observation, _ = example.HandMeThatDiscrete(tasks=tasks).reset(options={"task": 0})
    masks = {"action_masks": observation["action_mask"]} if learner == "MaskablePPO" else {}
    action, _ = model.predict(observation, deterministic=True, **masks)
    assert observation["action_mask"][int(action)] == 1
    example.draw({learner: curve.points}, len(tasks), tmp_path / "curve.png", "A curve")
    assert (tmp_path / "curve.png").stat().st_size > 10_000
    assert (tmp_path / "curve.csv").read_text().count(learner) == len(curve.points)
