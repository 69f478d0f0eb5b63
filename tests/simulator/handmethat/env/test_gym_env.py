"""The Gymnasium environment (spec 9.1, 9.3)."""

from __future__ import annotations

import json
import pickle
import warnings
from dataclasses import replace
from pathlib import Path
from random import Random

import gymnasium
import numpy as np
import pytest
from episode_files import write_file
from gymnasium.utils.env_checker import check_env

import simulator.handmethat.env  # noqa: F401  (registers the environment)
from simulator.errors import InputError
from simulator.handmethat.env.discrete import utterance_row
from simulator.handmethat.env.game import Costs, Game
from simulator.handmethat.env.gym_env import MOST_ENTITIES, HandMeThat, StructuredObserver
from simulator.handmethat.env.scripts import expert_commands
from simulator.handmethat.items import Task
from simulator.handmethat.meanings.model import Meaning, describe
from simulator.handmethat.players.robots import random_command
from simulator.handmethat.scene import sample_scene

NAME = "askback/HandMeThat-v0"
KEYS = {
    "look",
    "inv",
    "valid",
    "moves",
    "score",
    "paper_score",
    "question_cost",
    "next_expert_action",
    "success",
    "kind",
    "error",
    "task",
    "level",
}


@pytest.mark.each(
    "options",
    [
        {},
        {"mode": "full"},
        {"observation": "structured"},
        {"observation": "structured", "mode": "full", "render_text": False},
        {"reference": True, "mode": "full"},
        {"language": "zh", "append_view": True},
        {"commands": "strict", "extended": True, "shaping": True},
    ],
)
def test_the_gymnasium_checker_passes(task: Task, options: dict) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(NAME, tasks=[task], **options)
        check_env(env.unwrapped)
        env.close()


def test_the_name_registers_itself(task: Task) -> None:
    env = gymnasium.make(f"simulator.handmethat.env:{NAME}", tasks=task)
    assert isinstance(env.unwrapped, HandMeThat)


def test_an_episode(task: Task) -> None:
    env = HandMeThat([task])
    observation, info = env.reset(seed=0)
    game = Game(task)
    assert observation == game.opening()
    assert set(info) == KEYS
    start = game.start()
    assert (info["look"], info["inv"]) == (game.look(start), game.inventory(start))
    assert tuple(info["valid"]) == game.valid(start)
    demo = expert_commands(task, task.seed)
    assert demo is not None
    total = 0.0
    for number, command in enumerate(demo):
        assert info["next_expert_action"] == command
        observation, reward, terminated, truncated, info = env.step(command)
        total += reward
        assert (terminated, truncated) == (number + 1 == len(demo), False)
        assert (info["moves"], info["score"], info["kind"], info["error"]) == (
            number + 1,
            total,
            "action",
            "",
        )
    assert info["success"] and total == 100 - len(demo) == info["paper_score"]
    assert (info["look"], info["inv"], len(info["valid"])) == ("It is over.", "It is over.", 3)
    with pytest.raises(ValueError, match="over"):
        env.step("look")


def test_the_expert_is_counted_by_moves_and_gives_up(task: Task) -> None:
    env = HandMeThat([task])
    _, info = env.reset()
    demo = expert_commands(task, task.seed)
    assert demo is not None
    for number in range(1, len(demo) + 2):
        info = env.step("look")[4]
        assert info["next_expert_action"] == (demo[number] if number < len(demo) else "stop")


def test_a_published_demonstration_is_listed_in_the_style_of_the_list(task: Task) -> None:
    commands = tuple(text.replace("#", " ") for text in expert_commands(task, 1) or ())
    demonstrated = replace(task, demo=commands)
    _, info = HandMeThat([demonstrated]).reset()
    assert info["next_expert_action"] in info["valid"]
    plain = HandMeThat([demonstrated], reference=True)
    _, info = plain.reset()
    for command in commands:
        assert info["next_expert_action"] == command
        assert command in info["valid"]
        info = plain.step(command)[4]
    assert info["success"]


def test_truncation_stopping_and_nonsense(task: Task) -> None:
    env = HandMeThat([task], limit=2)
    env.reset()
    observation, reward, terminated, truncated, info = env.step("gibberish")
    assert (reward, terminated, truncated, info["error"]) == (-1.0, False, False, "parse")
    assert observation == Game(task).observer.failure("parse")
    assert env.step("look")[2:4] == (False, True)
    env.reset()
    _, reward, terminated, truncated, info = env.step("stop")
    assert (terminated, truncated, info["score"], info["paper_score"]) == (True, False, -1, -40)


def test_options(task: Task) -> None:
    other = replace(task, id="other")
    env = HandMeThat([task, other])
    for choice, expected in ((0, task.id), (1, "other"), ("other", "other"), (task, task.id)):
        assert env.reset(options={"task": choice})[1]["task"] == expected
    drawn = [env.reset(seed=seed)[1]["task"] for seed in range(20)]
    assert set(drawn) == {task.id, "other"}
    assert [env.reset(seed=seed)[1]["task"] for seed in range(20)] == drawn
    for wrong in (2, -1, "nobody"):
        with pytest.raises(InputError, match="options task"):
            env.reset(options={"task": wrong})


@pytest.mark.each(
    "wrong",
    [
        {"tasks": []},
        {"tasks": "no/such/place"},
        {"mode": "both"},
        {"limit": 0},
        {"commands": "all"},
        {"observation": "pixels"},
        {"language": "fr"},
        {"render_mode": "human"},
    ],
)
def test_wrong_arguments(task: Task, wrong: dict) -> None:
    with pytest.raises(InputError):
        HandMeThat(**{"tasks": [task], **wrong})


def test_step_and_render_need_a_reset(task: Task) -> None:
    env = HandMeThat([task], render_mode="ansi")
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("look")
    env.reset()
    env.step("move to table")
    assert str(env.render()).startswith("You go to the table.\nYou are at the")


def test_the_view_may_be_appended(task: Task) -> None:
    env = HandMeThat([task], append_view=True)
    env.reset()
    observation, *_, info = env.step("move to table")
    assert observation == f"You go to the table.\n{info['look']}"


def test_costs_and_questions(task: Task) -> None:
    env = HandMeThat([task], costs=Costs(look=0), extended=True)
    _, info = env.reset()
    assert "question: which type do you mean" in info["valid"]
    assert env.step("look")[1] == 0.0
    observation, reward, *_, info = env.step("question: which type do you mean")
    assert (reward, info["question_cost"], info["moves"], info["score"]) == (-10.0, 10, 2, -10)
    assert "fruit" in observation


def test_shaping_rewards_following_the_expert_and_leaves_the_score(task: Task) -> None:
    env = HandMeThat([task], shaping=True)
    _, info = env.reset()
    demo = expert_commands(task, task.seed)
    assert demo is not None
    rewards = []
    for command in demo:
        _, reward, *_, info = env.step(command)
        rewards.append(reward)
    assert rewards == [10 * (i + 1) - 1 + (100 if i + 1 == len(demo) else 0) for i in range(len(demo))]
    assert info["score"] == 100 - len(demo)


def test_structured_observations_without_text(task: Task) -> None:
    env = HandMeThat([task], render_text=False, commands=None)
    observation, info = env.reset()
    assert (observation, info["look"], info["inv"], info["valid"]) == ("", "", "", [])
    observation, *_, info = env.step("move to table")
    assert (observation, info["moves"], info["kind"]) == ("", 1, "action")


def test_words_outside_the_tables_are_observed_as_none(household) -> None:
    world, state = household({"box#0": "table"}, colors={"box#0": "blue"})
    box = world.entity("box#0")
    odd = replace(world, colors=tuple("purple" if i == box else None for i in range(len(world))))
    assert StructuredObserver(odd, "full").arrays(state)["color"][box] == 0
    row = utterance_row(odd, Meaning("bring_me", describe({"type": "zebra", "color": "purple"})))
    assert not row[1:].any()


def test_structured_observations(household, make_task, task: Task) -> None:
    things = {"box#0": "table", "apple#0": "box#0", "milk#0": "refrigerator", "egg#0": "table"}
    world, state = household(things, colors={"box#0": "blue"}, sizes={"box#0": "small"}, sliced=["egg#0"])
    made = make_task(world, state, task.meaning)
    env = HandMeThat([made], observation="structured")
    env.reset()
    arrays = env.step("move to table")[0]
    box, apple, milk, egg, table = (world.entity(name) for name in (*things, "table"))
    assert arrays["at"] == table and arrays["holding"] == MOST_ENTITIES
    assert list(np.flatnonzero(arrays["visible"])) == [*world.locations, box, egg]
    assert (arrays["place"][[box, egg]] == table).all()
    assert (arrays["place"][[apple, milk]] == -1).all()
    assert (arrays["kind"][[apple, milk]] == 0).all() and arrays["kind"][egg] > 0
    assert (arrays["color"][box], arrays["size"][box]) == (3, 2)
    assert list(arrays["states"][egg]) == [0, 0, 0, 1, 0, 0, 0, 0]
    opened = env.step("open box")[0]
    assert opened["place"][apple] == box and opened["states"][box][0] == 1
    held = env.step("pick up egg")[0]
    assert held["holding"] == egg and held["place"][egg] == -1 and held["visible"][egg]
    env.step("move to human")
    given = env.step("give egg to human")[0]
    assert given["at"] == MOST_ENTITIES and given["given"][egg] == 1
    full = StructuredObserver(world, "full").arrays(Game(made).start().state)
    assert full["visible"].sum() == len(world) and full["place"][milk] == world.entity("refrigerator")


def test_a_folder_is_read_on_demand(task: Task, tmp_path: Path) -> None:
    folder = tmp_path / "HandMeThat_with_expert_demonstration"
    folder.mkdir()
    names = []
    for number in range(3):
        named = replace(task, id=f"task-bring_me-64-{number}-2", task_index=number)
        names.append(write_file(named, folder).name)
    split = [{"train": names[:2], "validate": [], "test": names[2:]}]
    (tmp_path / "HandMeThat_data_info.json").write_text(json.dumps(split), encoding="utf-8")
    everything = HandMeThat(tmp_path)
    assert {everything.reset(seed=seed)[1]["task"] for seed in range(30)} == {name[:-5] for name in names}
    test = HandMeThat(str(tmp_path), split="test")
    assert test.reset(seed=1)[1]["task"] == names[2][:-5]
    assert HandMeThat(folder / names[0]).reset()[1]["task"] == names[0][:-5]
    with pytest.raises(InputError, match="no such task"):
        test.reset(options={"task": names[0][:-5]})
    with pytest.raises(InputError, match="no episode"):
        HandMeThat(tmp_path, split="validate")


def test_it_works_in_vector_environments_and_processes(task: Task) -> None:
    env = gymnasium.make_vec(NAME, num_envs=2, vectorization_mode="sync", tasks=[task])
    observations, _ = env.reset(seed=1)
    assert len(observations) == 2
    env.close()
    task.world.masks, task.world.labels  # noqa: B018  (worked out before it is sent)
    assert pickle.loads(pickle.dumps(task)) == task


def test_a_random_robot_hardly_ever_succeeds(make_task) -> None:
    """Self-check 8: about none of the episodes in 40 steps."""
    won = 0
    for seed in range(60):
        world, scene = sample_scene(Random(seed))
        kind = world.kinds[world.movables[seed % len(world.movables)]]
        task = make_task(world, scene, Meaning("bring_me", describe({"type": kind.name})))
        game = Game(task, text=False)
        state = game.start()
        while not state.done:
            state = game.act(state, random_command(game.valid(state), seed, state.moves)).game
        won += state.success
    assert won <= 2
