"""A task's meanings and utterances, recomputed for a plot: who would say what for what, and be heard how.

The file of an episode keeps ten readings of one utterance. Household, goal and profile give the rest again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np

from simulator.errors import InputError
from simulator.handmethat.files.names import parse_name
from simulator.handmethat.goals.formula import parse_goal
from simulator.handmethat.meanings.model import QUESTS, Meaning
from simulator.handmethat.meanings.prior import Floats, Pool, joint_prior
from simulator.handmethat.meanings.rsa import DEPTH, Rsa
from simulator.handmethat.meanings.utterances import enumerate_utterances
from simulator.handmethat.planner.relevance import find_targets
from simulator.handmethat.planner.rewards import rewards
from simulator.handmethat.profiles import Profile, load_profile
from simulator.handmethat.task import Task

MOST: Final = 12
# Subclasses of which v1 draws at most so many things of a type, and v2 one more.
_FEW: Final = 2
_TELLING: Final = frozenset({"metal_tool", "electric_equipment", "piece_of_cloth", "cleaning_tool"})


@dataclass(frozen=True, eq=False)
class RsaView:
    """The likeliest meanings and what would be said for them.

    Attributes:
        meanings: those that the utterance leaves likeliest, m and r among them if they are in the pool.
        utterances: u first, then what is said most for these meanings.
        prior: P(m) of each meaning; shape (meanings,).
        speaker: S(u | m); shape (meanings, utterances).
        listener: L(m | u); shape (meanings, utterances).
        pool: how many meanings there are in all.
        said: how many utterances there are in all.
        depth: rounds of the recursion.
    """

    meanings: tuple[Meaning, ...]
    utterances: tuple[Meaning, ...]
    prior: Floats
    speaker: Floats
    listener: Floats
    pool: int
    said: int
    depth: int


def rsa_view(task: Task, *, depth: int = DEPTH, most: int = MOST) -> RsaView:
    """Recompute the tables of a task.

    Args:
        task: own or published; its goal must be of a known form.
        depth: rounds of the recursion, 1 or more.
        most: meanings and utterances that are kept.

    Raises:
        InputError: if the goal is of no known form, nothing is useful, or the utterance cannot be said for
            any meaning of the pool (then the task was made by other rules).
    """
    profile = profile_of(task)
    pool = _pool(task, profile)
    rsa = Rsa(pool, enumerate_utterances(pool, profile), profile, depth)
    said = tuple(rsa.utterances)
    if task.utterance not in said:
        raise InputError(
            f"{task.id}: what is said in it cannot be said for any likely meaning by the rules of profile "
            f"{profile.name}; the episode was made by others",
            code="rsa_unsaid",
            profile=profile.name,
        )
    tables = rsa.table()
    spoken = said.index(task.utterance)
    rows = _first(tables.listener[:, spoken] + 1e-6 * pool.probabilities, most)
    rows = _with(
        rows, [pool.meanings.index(one) for one in (task.meaning, task.heard) if one in pool.meanings]
    )
    weight = pool.probabilities[rows] @ tables.speaker[rows]
    columns = _with([spoken], [place for place in _first(weight, most) if place != spoken])[:most]
    return RsaView(
        meanings=tuple(pool.meanings[i] for i in rows),
        utterances=tuple(said[i] for i in columns),
        prior=pool.probabilities[rows],
        speaker=tables.speaker[np.ix_(rows, columns)],
        listener=tables.listener[np.ix_(rows, columns)],
        pool=len(pool),
        said=len(said),
        depth=depth,
    )


def profile_of(task: Task) -> Profile:
    """The profile a task was generated with; of a published one that of the version which made it.

    The names of v1's own files say so. The first public generator, whose rules are v1's, names its files as
    v2 does, but it has a level 0, may show fewer than three actions, and draws at most two tools of a type
    where v2 draws up to three (spec 1.3, 12.3).
    """
    if task.profile != "official":
        return load_profile(task.profile)
    name = parse_name(task.id)
    if name is not None and (name.style == "v1" or name.level == 0):
        return load_profile("v1")
    v1, v2 = load_profile("v1"), load_profile("v2")
    kinds = Counter(kind.name for kind in task.world.kinds if kind.subclass in _TELLING)
    first = len(task.actions) < v2.least_shown or (bool(kinds) and max(kinds.values()) <= _FEW)
    return v1 if first else v2


def _pool(task: Task, profile: Profile) -> Pool:
    goal = parse_goal(task.goal)
    targets = find_targets(task.world, task.initial, goal, profile.distractors)
    rest = len(task.solution) - len(task.actions)
    # Own tasks keep a waiting human, published ones do not say.
    state = task.current._replace(waiting=True)
    worth = {
        quest: rewards(task.world, state, goal, targets, quest, rest, profile, task.seed)
        for quest in (QUESTS if profile.joint_quests else (task.meaning.quest,))
    }
    pool = joint_prior(task.world, state, worth, targets, rest, profile)
    if pool is None:
        raise InputError(
            f"{task.id}: no help is useful in it by the rules of profile {profile.name}",
            code="rsa_no_help",
            profile=profile.name,
        )
    return pool


def _first(values: Floats, most: int) -> list[int]:
    return [int(i) for i in np.argsort(-values, kind="stable")[:most] if values[i] > 0]


def _places(pool: Pool, *meanings: Meaning) -> list[int]:
    return [pool.meanings.index(one) for one in meanings if one in pool.meanings]


def _with(some: list[int], more: list[int]) -> list[int]:
    return list(dict.fromkeys([*some, *more]))
