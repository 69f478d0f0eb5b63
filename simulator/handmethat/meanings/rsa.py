"""Rational speech acts: the speaker S(u | m) and the listener L(m | u) (spec 7.3).

No dense matrix is needed, since an utterance is either true or false of a meaning: log L_k(m | u) = f_k(m)
+ g_k(u) wherever u is true of m. In the speaker's exponent alpha * f_k(m) is equal for all u and cancels; in
the listener's, terms in u alone cancel. With h_k(u) = alpha * (g_{k-1}(u) - alpha' * c(u)) this leaves

    A_k(m) = logsumexp of h_k(u) over the u that are true of m       log S_k(u | m) = h_k(u) - A_k(m)
    f_k(m) = log P(m) - A_k(m)                                       f_0(m) = log P(m)
    g_k(u) = -logsumexp of f_k(m) over the m that u is true of

i.e. two sums over the true pairs in each round.

`RsaView` is an excerpt for a plot. The file of an episode has only ten readings of one utterance; the rest is
recomputed from household, goal and profile.
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

# Rationality alpha of the speaker, and alpha', the weight of a unit of cost.
ALPHA: Final = 2.0
COST_SCALE: Final = 1.0
DEPTH: Final = 10
# f and g grow by the factor alpha in each round, so their differences lose digits: at 1e6 about half of them.
_MOST_DEPTH: Final = 19
_READINGS: Final = 10
# Sums above this did not underflow.
_SAFE: Final = 1e-270


class Rsa:
    """Speaker and listener over a pool and its utterances.

    Args:
        utterances: their utterances (`enumerate_utterances` of the same pool).
        profile: with `literal_sets`, an utterance is true of a meaning if A(m) is within A(u).
        depth: rounds of the recursion.

    Raises:
        ValueError: if `depth` is below 1, or so large that rounding errors would show.
    """

    def __init__(
        self,
        pool: Pool,
        utterances: Utterances,
        profile: Profile,
        depth: int = DEPTH,
    ) -> None:
        if not 1 <= depth <= _MOST_DEPTH:
            raise ValueError(f"The depth must be from 1 to {_MOST_DEPTH}, not {depth}.")
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
        """Return up to ten meanings of positive probability and their L(m | u), likeliest first."""
        likely = self.listener(utterance)
        order = np.argsort(-likely, kind="stable")[:_READINGS]
        return [(int(i), float(likely[i])) for i in order if likely[i] > 0]

    @cached_property
    def _transposed(self) -> tuple[Indices, Indices]:
        """The truth matrix, compressed by columns: start of each utterance, and meanings."""
        columns, meanings = self.utterances.columns, len(self.pool)
        starts = np.zeros(len(self.utterances) + 1, dtype=np.intp)
        np.cumsum(np.bincount(columns, minlength=len(self.utterances)), out=starts[1:])
        rows = np.repeat(np.arange(meanings, dtype=np.intp), np.diff(self.utterances.starts))
        # Small integer types are sorted in linear time.
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
            # A constant in g cancels, but would double in each round.
            h = ALPHA * (g - g.max()) - penalty
            a = over_utterances(h)
            f = log_prior - a
            g = -over_meanings(f)
        return h, a, f, g


def choose_reading(listener: Floats, sample: float | None = None) -> int:
    """Return the index of r, the listener's reading of the utterance, given L(m | u); shape (meanings,).

    `sample`: None for the likeliest meaning (the first of those that tie up to rounding); else a random
    number from 0 to 1 that draws r from L (`Profile.sampled_reading`).
    """
    if sample is None:
        return int(np.argmax(listener >= listener.max() * (1 - 1e-9)))
    return draw(listener, sample)


def draw(probabilities: Floats, sample: float) -> int:
    """Return the index drawn by `sample`, a random number from 0 to 1; never one of probability 0."""
    sums = np.cumsum(probabilities)
    return int(min(np.searchsorted(sums, sample * sums[-1], side="right"), np.flatnonzero(probabilities)[-1]))


def _summer(starts: Indices, indices: Indices) -> Callable[[Floats], Floats]:
    """Return a function for the logsumexp of ``values[indices]`` over each range between two `starts`."""
    firsts, counts = starts[:-1], np.diff(starts)

    def add(values: Floats) -> Floats:
        top = values.max()
        sums = np.add.reduceat(np.exp(values - top)[indices], firsts)
        if sums.min() > _SAFE:
            return np.asarray(np.log(sums) + top)
        # Some range underflows next to the largest value (B17): scale each by its own maximum.
        ranges = values[indices]
        tops = np.maximum.reduceat(ranges, firsts)
        return np.asarray(np.log(np.add.reduceat(np.exp(ranges - np.repeat(tops, counts)), firsts)) + tops)

    return add


MOST: Final = 12
# Subclasses of which v1 draws at most two things of a type, and v2 up to three.
_MOST_IN_V1: Final = 2
_FEWER_IN_V1: Final = frozenset({"metal_tool", "electric_equipment", "piece_of_cloth", "cleaning_tool"})


@dataclass(frozen=True, eq=False)
class RsaView:
    """The likeliest meanings and utterances of a task.

    Attributes:
        meanings: the likeliest given the utterance; also m and r if they are in the pool.
        utterances: u, then the likeliest for these meanings.
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
    """Recompute the speaker and listener tables of a task.

    `most`: largest number of meanings and of utterances in the view.

    Raises:
        InputError: if the form of the goal is unknown, no help is useful, or no meaning of the pool has the
            utterance (i.e. the task was made by other rules).
    """
    profile = profile_of(task)
    pool = _pool(task, profile)
    rsa = Rsa(pool, enumerate_utterances(pool, profile), profile)
    utterances = tuple(rsa.utterances)
    if task.utterance not in utterances:
        raise InputError(
            f"{task.id}: under the rules of profile {profile.name}, no likely meaning has this utterance; "
            "the episode was made by other rules",
            code="rsa_unsaid",
            profile=profile.name,
        )
    spoken = utterances.index(task.utterance)
    rows = _largest(rsa.listener(spoken) + 1e-6 * pool.probabilities, most)
    required = [
        pool.meanings.index(meaning) for meaning in (task.meaning, task.heard) if meaning in pool.meanings
    ]
    rows = list(dict.fromkeys([*rows, *required]))
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
    """Return the profile of a task; for a published task, that of the generator version which made it.

    v1's own files have names in v1 style. The first public generator follows v1's rules but names its files
    like v2. It can be recognised by a level 0, by fewer than three shown actions, or by having at most
    two tools of a type where v2 draws up to three (spec 1.3, 12.3).
    """
    if task.profile != "official":
        return load_profile(task.profile)
    name = parse_name(task.id)
    if name is not None and (name.style == "v1" or name.level == 0):
        return load_profile("v1")
    v1, v2 = load_profile("v1"), load_profile("v2")
    kinds = Counter(kind.name for kind in task.world.kinds if kind.subclass in _FEWER_IN_V1)
    first = len(task.actions) < v2.least_shown or (bool(kinds) and max(kinds.values()) <= _MOST_IN_V1)
    return v1 if first else v2


def _pool(task: Task, profile: Profile) -> Pool:
    goal = parse_goal(task.goal)
    targets = find_targets(task.world, task.initial, goal, profile.distractors)
    rest = len(task.solution) - len(task.actions)
    # The human waits: generated tasks record it, published ones do not.
    state = task.current._replace(waiting=True)
    worth = {
        quest: builtin_rewards(task, quest)
        or rewards(task.world, state, goal, targets, quest, rest, profile, task.seed)
        for quest in (QUESTS if profile.joint_quests else (task.meaning.quest,))
    }
    pool = prior(task.world, state, worth, targets, rest, profile)
    if pool is None:
        raise InputError(
            f"{task.id}: no help is useful under the rules of profile {profile.name}",
            code="rsa_no_help",
            profile=profile.name,
        )
    return pool


def builtin_rewards(task: Task, quest: Quest) -> Rewards | None:
    """Return the stored rewards of a built-in task for its own quest type; None for any other."""
    row = builtin_rows().get(task.id)
    if row is None or row["episode"]["profile"] != task.profile or quest != task.meaning.quest:
        return None
    return Rewards({(entity, argument): worth for entity, argument, worth in row["worth"]}, task.useful)


def _largest(values: Floats, most: int) -> list[int]:
    return [int(i) for i in np.argsort(-values, kind="stable")[:most] if values[i] > 0]
