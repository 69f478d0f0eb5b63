"""The prior P(m) over meanings, computed from the rewards of help (spec 6.3, 6.4)."""

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
    """The possible meanings in a household, with P(m) of each; shape (meanings,), sum 1."""

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
    """Return the meanings of all quest types, with probabilities; None if none is likely enough.

    `rewards`: rewards of the groundings of each possible quest type: of one, or with `Profile.joint_quests`
    of all. `rest`: number of actions left in the human's plan; a grounding without a reward gets -rest.
    `profile`: `all_meanings`, `locations_count` and `subclasses_everywhere` are used.
    """
    tables: _Tables = {}
    blocks = [
        block
        for quest, worth in rewards.items()
        for block in _blocks(world, state, quest, worth, targets, rest, profile, tables)
    ]
    weights = np.concatenate([block.weights.ravel() for block in blocks]) if blocks else np.empty(0)
    probabilities = _normalize(weights)
    if probabilities is None:
        return None
    meanings: list[Meaning] = []
    start = 0
    for block in blocks:
        stop = start + block.weights.size
        meanings += block.decode(np.flatnonzero(probabilities[start:stop]).tolist())
        start = stop
    return Pool(world, state, tuple(meanings), probabilities[probabilities > 0])


@dataclass(frozen=True, eq=False, slots=True)
class _Block:
    """Descriptions and arguments with their weights.

    Attributes:
        weights: log P(m) up to a constant; shape (descriptions, arguments); -inf where P(m) is 0.
    """

    quest: Quest
    table: Descriptions
    arguments: tuple[str | None, ...]
    weights: Floats

    def decode(self, indices: Sequence[int]) -> list[Meaning]:
        """Return the meanings at the given indices of the flattened `weights`."""
        width, quest = len(self.arguments), self.quest
        rows = {row: self.table.decode(row) for row in {index // width for index in indices}}
        return [Meaning(quest, rows[index // width], self.arguments[index % width]) for index in indices]


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
    """Return one block for each set of things to describe, with all its arguments.

    `tables` is shared by the quest types.
    """
    useful, movable = useful_by_argument(rewards), world.find_all("movable")
    every_argument = arguments_of(world, quest, targets)
    # A subclass may be named (B3); a location may match a description (B5).
    subclasses = quest == "bring_me" or profile.subclasses_everywhere
    universe = (1 << len(world)) - 1 if profile.locations_count else movable
    groups: dict[BitSet, tuple[str | None, ...]] = {}
    if profile.all_meanings:
        for argument in every_argument:
            things = movable & changeable(world, str(argument)) if quest == "change_state" else movable
            groups[things] = (*groups.get(things, ()), argument)
        if subclasses not in tables:
            tables[subclasses] = descriptions(world, state, movable, subclasses=subclasses, among=universe)
    else:
        helpful = tuple(argument for argument in every_argument if argument in useful)
        if things := movable & reduce(or_, map(useful.__getitem__, helpful), 0):
            groups[things] = helpful
    blocks = []
    for things, arguments in groups.items():
        if profile.all_meanings:
            table = tables[subclasses].about(things)
        else:
            table = descriptions(world, state, things, subclasses=subclasses, among=universe)
            # All matches must be useful with the same argument; the union is a quick first test.
            useful_words = words([useful[argument] for argument in arguments], len(world))
            union = np.bitwise_or.reduce(useful_words)
            table = table.pick(np.flatnonzero(~(table.extents & ~union).any(axis=1)))
        if not len(table.extents):
            continue
        mean = _mean_rewards(table.extents, rewards, arguments, rest)
        cost = table.lengths - 1 + _OFFSET[quest]
        weights = RATIONALITY * (mean - COST_WEIGHT * cost[:, None])
        if not profile.all_meanings:
            weights[(table.extents[:, None] & ~useful_words).any(axis=2)] = -np.inf
        blocks.append(_Block(quest, table, arguments, weights))
    return blocks


# Descriptions of all movable things, without (False) or with (True) subclasses.
_Tables = dict[bool, Descriptions]


def _mean_rewards(extents: Words, rewards: Rewards, arguments: Sequence[str | None], rest: int) -> Floats:
    """Return the mean of R over the matching things; shape (descriptions, arguments).

    Rewards are integers, so their sums are exact in any order.
    """
    column = {argument: i for i, argument in enumerate(arguments)}
    row = {entity: i for i, entity in enumerate(dict.fromkeys(entity for entity, _ in rewards.values))}
    gains = np.zeros((len(row), len(arguments)))
    for (entity, argument), value in rewards.values.items():
        if argument in column:
            gains[row[entity], column[argument]] = value + rest
    sizes = np.bitwise_count(extents).sum(axis=1, dtype=np.float64)[:, None]
    return np.asarray((columns(extents, list(row)) @ gains - rest * sizes) / sizes)


def _normalize(weights: Floats) -> Floats | None:
    """Return probabilities from log weights, with unlikely ones set to 0 in two steps; None if all are 0."""
    if not weights.size or not np.isfinite(top := weights.max()):
        return None
    probabilities: Floats = np.exp(weights - top)
    probabilities /= probabilities.sum()
    # Renormalising raises the rest, so the second cut differs from the first only at its boundary.
    for keep in (np.greater_equal, np.greater):
        probabilities[~keep(probabilities, _LEAST)] = 0.0
        total = probabilities.sum()
        if not total > 0:
            return None
        probabilities /= total
    return probabilities
