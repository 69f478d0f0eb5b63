"""Seeds descend from seeds: run -> episode -> turn. Nothing here keeps state."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from random import Random
from typing import TypeVar

T = TypeVar("T")


def derive_seed(seed: int, *parts: str | int) -> int:
    """Return a seed that depends on `seed` and `parts` alone, the same in every process.

    Returns:
        A whole number from 0 to 2**31 - 1, which every backend's ``seed`` parameter accepts.
    """
    text = "\x1f".join(map(str, (seed, *parts)))
    return int.from_bytes(blake2b(text.encode(), digest_size=4).digest()) >> 1


def one_of(random: Random, options: Sequence[T]) -> T:
    """Return any of the options; `Random.choice` may draw differently in another Python."""
    return options[int(random.random() * len(options))]
