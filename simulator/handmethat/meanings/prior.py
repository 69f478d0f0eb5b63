"""How likely each meaning is: P(m) out of the rewards of help (spec 6.3, 6.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Final

import numpy as np

from simulator.handmethat.goals.model import Targets
from simulator.handmethat.meanings.enumerate import (
    Descriptions,
    Floats,
    Words,
    arguments_of,
    columns,
    descriptions,
    useful_by_argument,
    words,
)
from simulator.handmethat.meanings.model import Meaning, Quest, changeable
from simulator.handmethat.planner.rewards import Rewards
from simulator.handmethat.profiles import Profile
from simulator.handmethat.world import BitSet, State, World

# P(m) is proportional to exp[RATIONALITY * (mean reward - COST_WEIGHT * c(m))]: the paper's beta1, beta2.
RATIONALITY: Final = 3.0
COST_WEIGHT: Final = 0.5
_LEAST: Final = 1e-3
_OFFSET: Final[Mapping[Quest, int]] = {"bring_me": 0, "move_to": 2, "change_state": 4}


@dataclass(frozen=True, eq=False)
class Pool:
    """The meanings that may be meant in a household.

    Attributes:
        state: its state when the human asks.
        meanings: at least one.
        probabilities: of each meaning; shape (meanings,), sum 1.
    """

    world: World
    state: State
    meanings: tuple[Meaning, ...]
    probabilities: Floats

    def __len__(self) -> int:
        return len(self.meanings)


def prior(
    world: World,
    state: State,
    rewards: Mapping[Quest, Rewards],
    targets: Targets,
    rest: int,
    profile: Profile,
) -> Pool | None:
    """Return the meanings of some quest types in one pool, and how likely the human means each.

    Args:
        world: the household.
        state: its state when the human asks.
        rewards: of the groundings of each quest type that may be asked for: one, or with
            `Profile.joint_quests` all.
        targets: what the goal is about.
        rest: actions that the human's plan still has; a grounding without a reward has the reward -rest.
        profile: `all_meanings`, `locations_count` and `subclasses_everywhere` matter here.

    Returns:
        None if no meaning is likely enough.
    """
    tables: _Tables = {}
    blocks = [
        block
        for quest, worth in rewards.items()
        for block in _blocks(world, state, quest, worth, targets, rest, profile, tables)
    ]
    weights = np.concatenate([block.weights.ravel() for block in blocks]) if blocks else np.empty(0)
    likely = _cut(weights)
    if likely is None:
        return None
    meanings: list[Meaning] = []
    start = 0
    for block in blocks:
        stop = start + block.weights.size
        meanings += block.decode(np.flatnonzero(likely[start:stop]).tolist())
        start = stop
    return Pool(world, state, tuple(meanings), likely[likely > 0])


@dataclass(frozen=True, eq=False, slots=True)
class _Block:
    """Descriptions and arguments that were weighed together.

    Attributes:
        weights: log P(m) but for a constant; shape (descriptions, arguments); -inf where P(m) is 0.
    """

    quest: Quest
    table: Descriptions
    arguments: tuple[str | None, ...]
    weights: Floats

    def decode(self, indices: Sequence[int]) -> list[Meaning]:
        """Return the meanings at some places of the flattened `weights`."""
        many, quest = len(self.arguments), self.quest
        rows = {row: self.table.decode(row) for row in {index // many for index in indices}}
        return [Meaning(quest, rows[index // many], self.arguments[index % many]) for index in indices]


def _blocks(
    world: World,
    state: State,
    quest: Quest,
    rewards: Rewards,
    targets: Targets,
    rest: int,
    profile: Profile,
    tables: _Tables,
) -> list[_Block]:
    """Return the arguments in blocks: those of which the same things are described are weighed together.

    Quest types share their tables.
    """
    useful, movable = useful_by_argument(rewards), world.of("movable")
    every = arguments_of(world, quest, targets)
    # A subclass may be named (B3); what fits a description may be a location (B5).
    subclasses = quest == "bring_me" or profile.subclasses_everywhere
    everybody = (1 << len(world)) - 1 if profile.locations_count else movable
    groups: dict[BitSet, tuple[str | None, ...]] = {}
    if profile.all_meanings:
        for argument in every:
            things = movable & changeable(world, str(argument)) if quest == "change_state" else movable
            groups[things] = (*groups.get(things, ()), argument)
        if subclasses not in tables:
            tables[subclasses] = descriptions(world, state, movable, subclasses=subclasses, among=everybody)
    else:
        every = tuple(argument for argument in every if argument in useful)
        if things := movable & reduce(or_, map(useful.__getitem__, every), 0):
            groups[things] = every
    blocks = []
    for things, arguments in groups.items():
        if profile.all_meanings:
            table = tables[subclasses].about(things)
        else:
            table = descriptions(world, state, things, subclasses=subclasses, among=everybody)
            # All that fits must be useful with one and the same argument; most fails without asking which.
            inside = words([useful[argument] for argument in arguments], len(world))
            union = np.bitwise_or.reduce(inside)
            table = table.pick(np.flatnonzero(~(table.extents & ~union).any(axis=1)))
        if not len(table.extents):
            continue
        mean = _mean_rewards(table.extents, rewards, arguments, rest)
        cost = table.lengths - 1 + _OFFSET[quest]
        weights = RATIONALITY * (mean - COST_WEIGHT * cost[:, None])
        if not profile.all_meanings:
            weights[(table.extents[:, None] & ~inside).any(axis=2)] = -np.inf
        blocks.append(_Block(quest, table, arguments, weights))
    return blocks


# Everything that can be described, by whether it is by subclass, too.
_Tables = dict[bool, Descriptions]


def _mean_rewards(extents: Words, rewards: Rewards, arguments: Sequence[str | None], rest: int) -> Floats:
    """Return the mean of R over the things that fit; shape (descriptions, arguments).

    Rewards are whole numbers, and so are their sums: exact, in whatever order they are added up.
    """
    column = {argument: i for i, argument in enumerate(arguments)}
    weighed = {entity: i for i, entity in enumerate(dict.fromkeys(entity for entity, _ in rewards.values))}
    more = np.zeros((len(weighed), len(arguments)))
    for (entity, argument), value in rewards.values.items():
        if argument in column:
            more[weighed[entity], column[argument]] = value + rest
    sizes = np.bitwise_count(extents).sum(axis=1, dtype=np.float64)[:, None]
    return np.asarray((columns(extents, list(weighed)) @ more - rest * sizes) / sizes)


def _cut(weights: Floats) -> Floats | None:
    """Probabilities out of log weights, the unlikely ones cut off in two steps; None if none is left."""
    if not weights.size or not np.isfinite(top := weights.max()):
        return None
    likely: Floats = np.exp(weights - top)
    likely /= likely.sum()
    # Renormalising lifts what is left, so that the second cut differs from the first only on its edge.
    for keep in (np.greater_equal, np.greater):
        likely[~keep(likely, _LEAST)] = 0.0
        total = likely.sum()
        if not total > 0:
            return None
        likely /= total
    return likely
