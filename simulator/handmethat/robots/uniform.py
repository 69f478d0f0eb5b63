"""The Random robot: any of the valid commands, with equal chance (spec 11.1)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from simulator.seeds import derive_seed


def next_command(valid: Sequence[str], seed: int, moves: int) -> str:
    """One of `valid`.

    Args:
        valid: the commands that are listed now.
        seed: of the episode.
        moves: commands so far.
    """
    return valid[int(Random(derive_seed(seed, "random", moves)).random() * len(valid))]
