"""How likely each meaning is: P(m) out of the rewards of help (spec 6.3, 6.4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from operator import or_
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.handmethat.meanings.enumerate import (
    Descriptions,
    RewardsLike,
    TargetsLike,
    arguments_of,
    descriptions,
    has_subclasses,
    sources,
    universe,
    useful_by_argument,
)
from simulator.handmethat.meanings.model import Meaning, Quest
from simulator.handmethat.profiles import Profile
from simulator.handmethat.world import BitSet, State, World, bit_set, entities

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
# P(m) is proportional to exp[RATIONALITY * (mean reward - COST_WEIGHT * c(m))]: the paper's beta1, beta2.
RATIONALITY: Final = 3.0
COST_WEIGHT: Final = 0.5
_LEAST: Final = 1e-3
_OFFSET: Final[Mapping[Quest, int]] = {"bring_me": 0, "move_to": 2, "change_state": 4}


@dataclass(frozen=True, eq=False)
class Pool:
    """The meanings that may be meant in a household.

    Attributes:
        world: the household.
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
    quest: Quest,
    rewards: RewardsLike,
    targets: TargetsLike,
    rest: int,
    profile: Profile,
) -> Pool | None:
    """Return the meanings of one quest type and how likely the human means each.

    Args:
        world: the household.
        state: its state when the human asks.
        quest: what kind of help is asked for.
        rewards: of the groundings of that quest type.
        targets: what the goal is about.
        rest: actions that the human's plan still has; a grounding without a reward has the reward -rest.
        profile: `all_meanings`, `locations_count` and `subclasses_everywhere` matter here.

    Returns:
        None if no meaning is likely enough.
    """
    return joint_prior(world, state, {quest: rewards}, targets, rest, profile)


def joint_prior(
    world: World,
    state: State,
    rewards: Mapping[Quest, RewardsLike],
    targets: TargetsLike,
    rest: int,
    profile: Profile,
) -> Pool | None:
    """Return one pool over several quest types (`Profile.joint_quests`); else as `prior`."""
    tables: _Tables = {}
    blocks = [
        block
        for quest, some in rewards.items()
        for block in _blocks(world, state, quest, some, targets, rest, profile, tables)
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
    codes: tuple[int, ...]
    arguments: tuple[str | None, ...]
    weights: Floats

    def decode(self, indices: Sequence[int]) -> list[Meaning]:
        """Return the meanings at some places of the flattened `weights`."""
        many, quest = len(self.arguments), self.quest
        told = {row: self.table.decode(self.codes[row]) for row in {index // many for index in indices}}
        return [Meaning(quest, told[index // many], self.arguments[index % many]) for index in indices]


def _blocks(
    world: World,
    state: State,
    quest: Quest,
    rewards: RewardsLike,
    targets: TargetsLike,
    rest: int,
    profile: Profile,
    tables: _Tables,
) -> list[_Block]:
    """Arguments of which the same things are described are weighed together.

    Quest types share their tables.
    """
    useful = useful_by_argument(rewards)
    every = arguments_of(world, quest, targets)
    everybody = universe(world, profile)
    if not profile.all_meanings:
        every = tuple(argument for argument in every if argument in useful)
        some = _union(sources(world, quest, argument, useful, profile) for argument in every)
        groups: dict[BitSet, tuple[str | None, ...]] = {some: every} if some else {}
    else:
        groups = {}
        for argument in every:
            some = sources(world, quest, argument, useful, profile)
            groups[some] = (*groups.get(some, ()), argument)
    blocks = []
    for some, arguments in groups.items():
        subclasses = has_subclasses(quest, profile)
        if profile.all_meanings:
            if subclasses not in tables:
                everything = world.of("movable")
                table = descriptions(world, state, everything, subclasses=subclasses, among=everybody)
                tables[subclasses] = _Told.of(table, len(world))
            told = tables[subclasses].part(some)
        else:
            table = descriptions(world, state, some, subclasses=subclasses, among=everybody)
            # All that fits must be useful with one and the same argument; most fails without asking which.
            outside = ~_union(useful[argument] for argument in arguments)
            extents = {code: fits for code, fits in table.extents.items() if not fits & outside}
            told = _Told.of(replace(table, extents=extents), len(world))
        if not told.codes:
            continue
        worth = _rewards(rewards, arguments, len(world), rest)
        # Rewards are whole numbers, and so are their sums: exact, in whatever order they are added up.
        mean = (told.rows @ worth / told.sizes[:, None])[told.extent]
        cost = told.specifiers - 1 + _OFFSET[quest]
        weights = RATIONALITY * (mean - COST_WEIGHT * cost[:, None])
        if not profile.all_meanings:
            useless = 1 - bit_rows(tuple(useful[argument] for argument in arguments), len(world))
            weights[(told.rows @ useless.T > 0)[told.extent]] = -np.inf
        blocks.append(_Block(quest, told.table, told.codes, arguments, weights))
    return blocks


class _Told(NamedTuple):
    """Descriptions, and what fits them. Many descriptions fit the same things.

    Attributes:
        table: the descriptions.
        codes: their codes.
        specifiers: how many specifiers each has.
        rows: different sets of things that fit; shape (sets, entities).
        sizes: how many things fit; shape (sets,).
        extent: of each description the row.
    """

    table: Descriptions
    codes: tuple[int, ...]
    specifiers: Integers
    rows: Floats
    sizes: Floats
    extent: Integers

    @classmethod
    def of(cls, table: Descriptions, entities: int) -> _Told:
        """Put down what `table` says."""
        codes, extents = tuple(table.extents), table.extents.values()
        number = {fits: i for i, fits in enumerate(dict.fromkeys(extents))}
        rows = bit_rows(tuple(number), entities)
        return cls(
            table,
            codes,
            np.array([code.bit_count() for code in codes], dtype=np.intp),
            rows,
            rows.sum(axis=1),
            np.array([number[fits] for fits in extents], dtype=np.intp),
        )

    def part(self, some: BitSet) -> _Told:
        """Return the descriptions of some of the things, in the order that they alone would have."""
        codes_of = self.table.codes
        if some == bit_set(codes_of):
            return self
        number = self.table.numbers
        like = {id(codes_of[entity]): codes_of[entity] for entity in entities(some)}
        codes = tuple(dict.fromkeys(chain.from_iterable(like.values())))
        kept = [number[code] for code in codes]
        return self._replace(codes=codes, specifiers=self.specifiers[kept], extent=self.extent[kept])


# Everything that can be described, by whether it is by subclass, too.
_Tables = dict[bool, _Told]


def _union(sets: Iterable[BitSet]) -> BitSet:
    return reduce(or_, sets, 0)


def _rewards(rewards: RewardsLike, arguments: Sequence[str | None], entities: int, rest: int) -> Floats:
    """R of every entity with every argument; shape (entities, arguments)."""
    column = {argument: i for i, argument in enumerate(arguments)}
    worth = np.full((entities, len(arguments)), -float(rest))
    for (entity, argument), value in rewards.values.items():
        if argument in column:
            worth[entity, column[argument]] = value
    return worth


def bit_rows(sets: Sequence[BitSet], entities: int) -> Floats:
    """Bit sets as rows of 0 and 1; shape (sets, entities)."""
    width = (entities + 7) // 8
    raw = b"".join(bits.to_bytes(width, "little") for bits in sets)
    packed = np.frombuffer(raw, np.uint8).reshape(len(sets), width)
    return np.unpackbits(packed, axis=1, count=entities, bitorder="little").astype(np.float64)


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
