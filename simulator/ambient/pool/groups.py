"""Groups of like pairs around those that annotators disagree on (spec 2.2.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

import numpy as np

from simulator.ambient.data import PoolPair
from simulator.ambient.pool.embedding import Vectors
from simulator.errors import InputError
from simulator.seeds import derive_seed

SIZE: Final = 4


@dataclass(frozen=True, slots=True)
class Group:
    """A seed with its nearest neighbours.

    Attributes:
        examples: in the order of the prompt, by decreasing distance; the seed, at distance 0, is the last.
        distances: of each from the seed.
    """

    examples: tuple[PoolPair, ...]
    distances: tuple[float, ...]

    @property
    def seed(self) -> PoolPair:
        """The pair that annotators disagree on."""
        return self.examples[-1]


def make_groups(pool: Sequence[PoolPair], vectors: Vectors, size: int = SIZE) -> tuple[Group, ...]:
    """A group for every pair whose annotators disagree, in the order of the pool.

    Neighbours are the nearest of the whole pool by Euclidean distance; of equally near ones the first in it.

    Args:
        pool: all pairs.
        vectors: of each.
        size: pairs in a group, the seed among them: the prompt has 4, the paper's text 5.

    Raises:
        InputError: if nobody disagrees, or the pool has fewer pairs than a group.
    """
    from scipy.spatial import cKDTree

    seeds = [place for place, pair in enumerate(pool) if pair.disagree]
    if not seeds:
        raise InputError("the pool has no pair whose annotators disagree, and such pairs are the seeds")
    if len(pool) < size:
        raise InputError(f"the pool has {len(pool)} pairs, and a group {size}; bring more pairs")
    tree = cKDTree(vectors)
    # One more than wanted: where several lie at the very place of the seed, it need not be the first.
    wanted = min(size + 1, len(pool))
    distances, places = tree.query(vectors[seeds], k=wanted, workers=-1)
    found = []
    for seed, row, near in zip(seeds, np.atleast_2d(distances), np.atleast_2d(places), strict=True):
        others = sorted(
            (float(distance), int(place)) for distance, place in zip(row, near, strict=True) if place != seed
        )
        chosen = [*reversed(others[: size - 1]), (0.0, seed)]
        found.append(
            Group(
                tuple(pool[place] for _, place in chosen),
                tuple(distance for distance, _ in chosen),
            )
        )
    return tuple(found)


def in_drawn_order(groups: Sequence[Group], seed: int) -> tuple[Group, ...]:
    """The groups shuffled: the first so many are a sample, and more of them a larger one with it."""
    shuffled = list(groups)
    Random(derive_seed(seed, "groups")).shuffle(shuffled)
    return tuple(shuffled)
