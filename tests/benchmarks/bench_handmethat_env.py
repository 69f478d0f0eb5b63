"""CPU cost of playing HandMeThat: `python tests/benchmarks handmethat_env`.

Scripted play: in sampled households, 40 commands drawn beforehand from the lists of valid commands, the same
for every way of playing. Every household is new to the environment, so nothing is ready when it is reset.
Times are CPU; the parts are repeated, and of each the least disturbed counts. Ratios are to what was measured
of the published environment: a reset takes 127 ms, a step about 1/135 s.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any, Final, NamedTuple

import gymnasium
from rows import Row, main

from simulator.handmethat.env.game import Game
from simulator.handmethat.env.gym_env import HandMeThat
from simulator.handmethat.env.scripts import demonstrate
from simulator.handmethat.items import Task
from simulator.handmethat.meanings.model import Meaning, describe, matching
from simulator.handmethat.players.robots import random_command
from simulator.handmethat.scene import sample_scene
from simulator.handmethat.world import entities

LIMIT: Final = 40
REPEATS: Final = 3
PUBLISHED_RESET: Final = 0.127
PUBLISHED_RATE: Final = 135.0


class Played(NamedTuple):
    """CPU seconds of a reset (the median) and steps per second of CPU."""

    reset: float
    rate: float


def make_task(seed: int) -> Task:
    """A household whose human wants some food."""
    world, state = sample_scene(Random(seed))
    meaning = Meaning("bring_me", describe({"class": "FOOD"}))
    meant = tuple((entity, None) for entity in entities(matching(world, state, meaning.description)))
    return Task(
        id=f"task-bring_me-0-{seed}-1",
        level=1,
        goal_index=0,
        task_index=seed,
        world=world,
        initial=state,
        current=state._replace(waiting=True),
        goal="",
        subgoal=None,
        actions=(),
        solution=(),
        meaning=meaning,
        utterance=meaning,
        heard=meaning,
        in_meaning=meant,
        in_utterance=meant,
        useful=meant,
        in_heard=meant,
        seed=seed,
    )


def make_script(task: Task) -> list[str]:
    """Commands of a random robot until the episode ends."""
    game, commands = Game(task, text=False), []
    state = game.start()
    while not state.done:
        commands.append(random_command(game.valid(state), task.seed, state.moves))
        state = game.act(state, commands[-1]).game
    return commands


def fresh(tasks: Sequence[Task]) -> list[Task]:
    """Return the same tasks with empty caches."""
    return [replace(task, world=replace(task.world)) for task in tasks]


def play(env: gymnasium.Env[Any, str], tasks: Sequence[Task], scripts: Sequence[list[str]]) -> Played:
    resets, steps, seconds = [], 0, 0.0
    for task, script in zip(tasks, scripts, strict=True):
        begun = time.process_time()
        env.reset(options={"task": task})
        resets.append(time.process_time() - begun)
        begun = time.process_time()
        for command in script:
            env.step(command)
        seconds += time.process_time() - begun
        steps += len(script)
    return Played(sorted(resets)[len(resets) // 2], steps / seconds)


def best(played: Sequence[Played]) -> Played:
    return Played(min(run.reset for run in played), max(run.rate for run in played))


def demonstrations(tasks: Sequence[Task]) -> float:
    """CPU seconds of a demonstration, histories of both modes included (the median)."""
    taken = []
    for task in tasks:
        begun = time.process_time()
        demonstrate(task, task.seed)
        taken.append(time.process_time() - begun)
    return sorted(taken)[len(taken) // 2]


def rows() -> Iterator[Row]:
    """Yield resets and steps beside what was measured of the published environment."""
    tasks = [make_task(seed) for seed in range(20)]
    scripts = [make_script(task) for task in tasks]
    played = [play(HandMeThat(tasks), fresh(tasks), scripts) for _ in range(REPEATS)]
    reset, rate = best(played)
    peer = "the published environment, measured elsewhere"
    yield Row(
        work="HandMeThat: a reset", ours=1000 * reset, unit="ms", peer=peer, theirs=1000 * PUBLISHED_RESET
    )
    yield Row(work="HandMeThat: a step", ours=1000 / rate, unit="ms", peer=peer, theirs=1000 / PUBLISHED_RATE)
    taken = min(demonstrations(fresh(tasks)) for _ in range(REPEATS))
    yield Row(
        work="HandMeThat: a demonstration with its histories", ours=1000 * taken, unit="ms", remark="CPU"
    )


if __name__ == "__main__":
    main(rows)
