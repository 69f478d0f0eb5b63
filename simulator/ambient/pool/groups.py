"""The pool that new examples take after, and groups of like pairs in it (spec 2.2.1).

A file of JSON lines has ``premise``, ``hypothesis`` and what its annotators said, in one of the forms in
which training data say it (`nli.training_data`): ``labels`` (of both, or the one they share), or
``annotations`` of two, as in WANLI. Rows without an ``id`` are named by their content.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Final

import numpy as np

from simulator.ambient.data import BUILTIN, PoolPair, load_pool
from simulator.ambient.labels import LABELS
from simulator.ambient.nli.training_data import read_known
from simulator.ambient.pool.embedding import Vectors
from simulator.duplicates import told_once
from simulator.errors import InputError
from simulator.jsonlines import Read, Row, read_lines
from simulator.seeds import derive_seed
from simulator.tables.cells import SAME_ID
from trees.faults import first_and_more

_DIGITS: Final = 12


def pair_id(premise: str, hypothesis: str) -> str:
    """Return a name that depends on the two sentences alone."""
    return "g" + sha256(f"{premise}\n{hypothesis}".encode()).hexdigest()[:_DIGITS]


def pool_of(name: str | Path) -> tuple[PoolPair, ...]:
    """Return the pairs of a pool: ``builtin``, or a file.

    Raises:
        InputError: if the file cannot be read, or a row of it is faulty.
    """
    if name == BUILTIN:
        return load_pool()
    read = read_pool(name)
    if read.faults:
        raise InputError(first_and_more(read.faults, checkable=False))
    return read.rows


def read_pool(path: str | Path) -> Read[PoolPair]:
    """Return the pairs in a file; rows that cannot be read, and such as occurred before, are faults.

    Raises:
        InputError: if the file cannot be read at all.
    """
    read = read_lines(path, read_pool_pair)
    read = told_once(path, read, lambda pair: (pair.id, ""), code="id", message=SAME_ID)
    message = "sentences: the row in line {line} has the same"
    return told_once(
        path, read, lambda pair: ("", (pair.premise, pair.hypothesis)), code="id", message=message
    )


def read_pool_pair(row: Row) -> PoolPair:
    """Return a pair out of a row.

    Raises:
        FieldError: if a field is missing or wrong, or all three labels are given.
    """
    known = read_known(row)
    labels = [label for label in LABELS if label in known.labels]
    if len(labels) not in (1, 2):
        raise row.wrong("labels", "are not those of two annotators")
    id = row.key("id") if row.get("id") is not None else pair_id(known.premise, known.hypothesis)
    return PoolPair(id, known.premise, known.hypothesis, (labels[0], labels[-1]))


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
    """Return a group for every pair whose annotators disagree, in the order of the pool.

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
    # One more than are needed: where several lie at the very place of the seed, it need not be the first.
    distances, places = tree.query(vectors[seeds], k=min(size + 1, len(pool)), workers=-1)
    groups = []
    for seed, *near in zip(seeds, np.atleast_2d(distances), np.atleast_2d(places), strict=True):
        others = sorted((float(distance), int(place)) for distance, place in zip(*near, strict=True))
        nearest = [other for other in others if other[1] != seed][: size - 1]
        chosen = [*reversed(nearest), (0.0, seed)]
        groups.append(
            Group(tuple(pool[place] for _, place in chosen), tuple(distance for distance, _ in chosen))
        )
    return tuple(groups)


def in_drawn_order(groups: Sequence[Group], seed: int) -> tuple[Group, ...]:
    """Return the groups shuffled: the first so many are a sample, and more of them a larger one with it."""
    shuffled = list(groups)
    Random(derive_seed(seed, "groups")).shuffle(shuffled)
    return tuple(shuffled)
