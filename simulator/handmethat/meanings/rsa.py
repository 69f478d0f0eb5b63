"""Rational speech acts: what a speaker says for a meaning, what a listener takes it to mean (spec 7.3).

Why no matrix is needed: an utterance is true or false of a meaning. So log L_k(m | u) = f_k(m) + g_k(u)
wherever u is true of m. Put into the speaker's exponent, alpha * f_k(m) is the same for everything said of m
and cancels; put into the listener's, what depends on u alone cancels. With h_k(u) = alpha * (g_{k-1}(u) -
alpha' * c(u)) what remains is

    A_k(m) = logsumexp of h_k(u) over the u that are true of m       log S_k(u | m) = h_k(u) - A_k(m)
    f_k(m) = log P(m) - A_k(m)                                       f_0(m) = log P(m)
    g_k(u) = -logsumexp of f_k(m) over the m that u is true of

that is two sums over the pairs for which u is true of m, in each round.

A `RsaView` is that of a task for a plot: the file of an episode keeps ten readings of one utterance, and
household, goal and profile give the rest again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from simulator.errors import InputError
from simulator.handmethat.data import builtin_rows
from simulator.handmethat.files.split import parse_name
from simulator.handmethat.goals.formula import parse_goal
from simulator.handmethat.goals.model import find_targets
from simulator.handmethat.items import Task
from simulator.handmethat.meanings.enumerate import Floats
from simulator.handmethat.meanings.model import QUESTS, Meaning, Quest
from simulator.handmethat.meanings.prior import Pool, prior
from simulator.handmethat.meanings.utterances import Indices, Utterances, enumerate_utterances, true_by_sets
from simulator.handmethat.planner.rewards import Rewards, rewards
from simulator.handmethat.profiles import Profile, load_profile

# How rational the speaker is, and alpha', what a unit of cost weighs.
ALPHA: Final = 2.0
COST_SCALE: Final = 1.0
DEPTH: Final = 10
# f and g grow by alpha in each round, and digits of their differences are lost: at 1e6 about half of them.
_MOST_DEPTH: Final = 19
_READINGS: Final = 10
# Sums above this have lost nothing that a double could have kept.
_SAFE: Final = 1e-270


class Rsa:
    """Speaker and listener over a pool and its utterances.

    Args:
        pool: the meanings.
        utterances: what may be said for them (`enumerate_utterances` of the same pool).
        profile: with `literal_sets`, an utterance is true of a meaning if A(m) is within A(u).
        depth: rounds of the recursion.

    Raises:
        ValueError: if `depth` is below 1, or so great that rounding would tell.
    """

    def __init__(
        self,
        pool: Pool,
        utterances: Utterances,
        profile: Profile,
        depth: int = DEPTH,
    ) -> None:
        if not 1 <= depth <= _MOST_DEPTH:
            raise ValueError(f"A depth of {depth}: it must be from 1 to {_MOST_DEPTH}.")
        self.pool = pool
        self.utterances = true_by_sets(pool, utterances) if profile.literal_sets else utterances
        self._h, self._a, self._f, self._g = self._recurse(depth)

    def speaker(self, meaning: int) -> Floats:
        """Return S(u | m) for the meaning of that index; shape (utterances,)."""
        columns = self.utterances.columns[slice(*self.utterances.starts[meaning : meaning + 2])]
        chances = np.zeros(len(self.utterances))
        chances[columns] = np.exp(self._h[columns] - self._a[meaning])
        return chances

    def listener(self, utterance: int) -> Floats:
        """Return L(m | u) for the utterance of that index; shape (meanings,)."""
        starts, rows = self._transposed
        meant = rows[slice(*starts[utterance : utterance + 2])]
        chances = np.zeros(len(self.pool))
        chances[meant] = np.exp(self._f[meant] + self._g[utterance])
        return chances

    def readings(self, utterance: int) -> list[tuple[int, float]]:
        """Return the ten likeliest meanings, likeliest first, and L(m | u) of each; none of probability 0."""
        likely = self.listener(utterance)
        order = np.argsort(-likely, kind="stable")[:_READINGS]
        return [(int(i), float(likely[i])) for i in order if likely[i] > 0]

    @cached_property
    def _transposed(self) -> tuple[Indices, Indices]:
        """The truth matrix compressed by columns: starts per utterance, and meanings."""
        columns, meanings = self.utterances.columns, len(self.pool)
        starts = np.zeros(len(self.utterances) + 1, dtype=np.intp)
        np.cumsum(np.bincount(columns, minlength=len(self.utterances)), out=starts[1:])
        rows = np.repeat(np.arange(meanings, dtype=np.intp), np.diff(self.utterances.starts))
        # Small integers are sorted in linear time.
        order = np.argsort(columns.astype(np.min_scalar_type(len(self.utterances))), kind="stable")
        return starts, rows[order]

    def _recurse(self, depth: int) -> tuple[Floats, Floats, Floats, Floats]:
        """Return h, A, f and g at `depth`; the literal listener (depth 0) has no h and A."""
        over_utterances = _summer(self.utterances.starts, self.utterances.columns)
        over_meanings = _summer(*self._transposed)
        log_prior, penalty = np.log(self.pool.probabilities), ALPHA * COST_SCALE * self.utterances.costs
        h = a = np.empty(0)
        f = log_prior
        g = -over_meanings(f)
        for _ in range(depth):
            # A constant in g would cancel; left there, it doubled in each round.
            h = ALPHA * (g - g.max()) - penalty
            a = over_utterances(h)
            f = log_prior - a
            g = -over_meanings(f)
        return h, a, f, g


def choose_reading(listener: Floats, sample: float | None = None) -> int:
    """Return index of r, what the listener takes the utterance to mean.

    Args:
        listener: L(m | u); shape (meanings,).
        sample: None for the likeliest (the first of those that tie but for rounding); else a random number
            from 0 to 1 that draws r from L (`Profile.sampled_reading`).
    """
    if sample is None:
        return int(np.argmax(listener >= listener.max() * (1 - 1e-9)))
    return draw(listener, sample)


def draw(probabilities: Floats, sample: float) -> int:
    """Return the index that a random number from 0 to 1 draws; never one of probability 0."""
    sums = np.cumsum(probabilities)
    return int(min(np.searchsorted(sums, sample * sums[-1], side="right"), np.flatnonzero(probabilities)[-1]))


def _summer(starts: Indices, indices: Indices) -> Callable[[Floats], Floats]:
    """Return logsumexp of ``values[indices]`` over each of the stretches that `starts` bounds."""
    firsts, counts = starts[:-1], np.diff(starts)

    def add(values: Floats) -> Floats:
        top = values.max()
        sums = np.add.reduceat(np.exp(values - top)[indices], firsts)
        if sums.min() > _SAFE:
            return np.asarray(np.log(sums) + top)
        # Beside the largest value some stretch vanishes (B17): each by its own largest.
        spread = values[indices]
        tops = np.maximum.reduceat(spread, firsts)
        return np.asarray(np.log(np.add.reduceat(np.exp(spread - np.repeat(tops, counts)), firsts)) + tops)

    return add


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
    """

    meanings: tuple[Meaning, ...]
    utterances: tuple[Meaning, ...]
    prior: Floats
    speaker: Floats
    listener: Floats


def rsa_view(task: Task, *, most: int = MOST) -> RsaView:
    """Recompute the tables of a task.

    `most`: meanings and utterances that are kept.

    Raises:
        InputError: if the goal is of no known form, nothing is useful, or the utterance cannot be said for
            any meaning of the pool (then the task was made by other rules).
    """
    profile = profile_of(task)
    pool = _pool(task, profile)
    rsa = Rsa(pool, enumerate_utterances(pool, profile), profile)
    utterances = tuple(rsa.utterances)
    if task.utterance not in utterances:
        raise InputError(
            f"{task.id}: what is said in it cannot be said for any likely meaning by the rules of profile "
            f"{profile.name}; the episode was made by others",
            code="rsa_unsaid",
            profile=profile.name,
        )
    spoken = utterances.index(task.utterance)
    rows = _largest(rsa.listener(spoken) + 1e-6 * pool.probabilities, most)
    known = [
        pool.meanings.index(meaning) for meaning in (task.meaning, task.heard) if meaning in pool.meanings
    ]
    rows = list(dict.fromkeys([*rows, *known]))
    speaker = np.array([rsa.speaker(row) for row in rows])
    weight = pool.probabilities[rows] @ speaker
    columns = list(dict.fromkeys([spoken, *_largest(weight, most)]))[:most]
    return RsaView(
        meanings=tuple(pool.meanings[i] for i in rows),
        utterances=tuple(utterances[i] for i in columns),
        prior=pool.probabilities[rows],
        speaker=speaker[:, columns],
        listener=np.array([rsa.listener(column)[rows] for column in columns]).T,
    )


def profile_of(task: Task) -> Profile:
    """Return the profile a task was generated with; of a published one that of the version which made it.

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
        quest: builtin_rewards(task, quest)
        or rewards(task.world, state, goal, targets, quest, rest, profile, task.seed)
        for quest in (QUESTS if profile.joint_quests else (task.meaning.quest,))
    }
    pool = prior(task.world, state, worth, targets, rest, profile)
    if pool is None:
        raise InputError(
            f"{task.id}: no help is useful in it by the rules of profile {profile.name}",
            code="rsa_no_help",
            profile=profile.name,
        )
    return pool


def builtin_rewards(task: Task, quest: Quest) -> Rewards | None:
    """Return what help of its quest type was worth when a built-in episode was made; None for any other."""
    row = builtin_rows().get(task.id)
    if row is None or row["episode"]["profile"] != task.profile or quest != task.meaning.quest:
        return None
    return Rewards({(entity, argument): worth for entity, argument, worth in row["worth"]}, task.useful)


def _largest(values: Floats, most: int) -> list[int]:
    return [int(i) for i in np.argsort(-values, kind="stable")[:most] if values[i] > 0]
