"""Meanings, utterances and the speech acts of one instruction: CPU per episode, and against dense matrices.

Households are sampled; half the things of a few subclasses are worth being helped with.
The dense recursion is the textbook's, on whole matrices in log space; both are timed in one run, in turns,
so that their ratio means something on a busy machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from random import Random
from statistics import median
from typing import NamedTuple, TypeVar, cast

import numpy as np
from rows import Row, main
from scipy.special import logsumexp

from simulator.handmethat.goals.model import Targets
from simulator.handmethat.meanings.enumerate import Floats
from simulator.handmethat.meanings.model import QUESTS, Grounding, Quest
from simulator.handmethat.meanings.prior import Pool, prior
from simulator.handmethat.meanings.rsa import ALPHA, DEPTH, Rsa
from simulator.handmethat.meanings.utterances import Utterances, enumerate_utterances
from simulator.handmethat.planner.rewards import Rewards
from simulator.handmethat.profiles import load_profiles
from simulator.handmethat.scene import sample_scene
from simulator.handmethat.world import entities

EPISODES = 40
ROUNDS = 3
ENOUGH = 3.0  # how many times faster than dense matrices, at least, in the median
_T = TypeVar("_T")


class _Worth(NamedTuple):
    values: Mapping[Grounding, float]
    useful: tuple[Grounding, ...]


class _Places(NamedTuple):
    position: tuple[int, ...]


def make_pool(seed: int, quest: Quest) -> tuple[Callable[[], Pool | None], Pool | None]:
    """Return a function that makes a pool, for timing, and the pool."""
    random = Random(seed)
    world, state = sample_scene(Random(seed + 1))
    subclasses = random.sample(["fruit", "vegetable", "tableware", "box", "paper_product", "protein"], 3)
    things = [entity for subclass in subclasses for entity in entities(world.find_all(subclass))]
    names = ("table", "refrigerator", "cabinet", "sink", "box#0", "box#1", "box#2", "floor")
    arguments: Mapping[Quest, tuple[str | None, ...]] = {
        "bring_me": (None,),
        "move_to": names,
        "change_state": ("clean", "slice"),
    }
    desired = {entity for entity in things if random.random() < 0.5}
    before = 3 * len(desired)
    values: dict[Grounding, float] = {}
    for entity in things:
        for argument in arguments[quest]:
            helps = entity in desired and argument in (None, "refrigerator", "box#0", "clean")
            values[entity, argument] = -before + (3.0 if helps else random.choice([1.0, 0.0, -2.0]))
    worth = _Worth(values, tuple(grounding for grounding, value in values.items() if value > -before))
    places = _Places(tuple(world.entity(name) for name in names))

    def make() -> Pool | None:
        # These have what a prior reads of them.
        given = {quest: cast(Rewards, worth)}
        return prior(world, state, given, cast(Targets, places), before, load_profiles()["v2"])

    return make, make()


def dense(pool: Pool, utterances: Utterances) -> Floats:
    """The listener of the last round on whole matrices; shape (meanings, utterances)."""
    truth = np.full((len(pool), len(utterances)), -np.inf)
    rows = np.repeat(np.arange(len(pool)), np.diff(utterances.starts))
    truth[rows, utterances.columns] = 0.0
    likely = np.log(pool.probabilities)[:, None]
    listener = truth + likely
    listener -= logsumexp(listener, axis=0)
    for _ in range(DEPTH):
        speaker = ALPHA * (listener - utterances.costs)
        speaker -= logsumexp(speaker, axis=1, keepdims=True)
        listener = speaker + likely
        listener -= logsumexp(listener, axis=0)
    return np.asarray(np.exp(listener))


def best_of(work: Callable[[], _T], rounds: int = ROUNDS) -> tuple[float, _T]:
    """Least CPU in ms, and the result."""
    least = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        result = work()
        least = min(least, 1e3 * (time.process_time() - start))
    return least, result


def rows() -> Iterator[Row]:
    """Yield the speech acts of an instruction beside dense matrices, the median of some households."""
    rules = load_profiles()["v2"]
    for quest in QUESTS:
        ours, theirs = [], []
        for seed in range(EPISODES // 4):
            _, pool = make_pool(seed, quest)
            if pool is None:
                continue
            utterances = enumerate_utterances(pool, rules)
            sparse, rsa = best_of(partial(Rsa, pool, utterances, rules))
            whole, listener = best_of(partial(dense, pool, utterances))
            heard = np.array([rsa.listener(utterance) for utterance in range(len(utterances))]).T
            assert np.abs(listener - heard).max() < 1e-12
            ours.append(sparse)
            theirs.append(whole)
        yield Row(
            work=f"HandMeThat: speech acts of an instruction, {quest}",
            ours=median(ours),
            unit="ms",
            peer="dense matrices",
            theirs=median(theirs),
            goal=round(1 / ENOUGH, 2),
            goal_of="ratio",
        )


if __name__ == "__main__":
    main(rows)
