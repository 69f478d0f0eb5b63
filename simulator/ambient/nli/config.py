"""How a model of inference is trained; the defaults are those of multi-label WANLI (spec 9.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from simulator.ambient.nli.families import Family
from simulator.ambient.nli.reading import BATCH, MAX_LENGTH
from simulator.ambient.nli.thresholds import Pairs

SEEDS: Final = (42, 43, 44, 45, 46)
EPOCHS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """A training; every stage has an optimiser and a schedule of its own.

    Attributes:
        family: what is learnt.
        rate: AdamW's learning rate at its highest.
        batch: pairs per update.
        warmup: share of a stage's updates over which the rate rises; it falls to 0 linearly after that.
        weight_decay: of matrices; biases and norms have none.
        max_length: of a pair, in tokens.
        clip: largest norm of a gradient.
        pairs: which intervals are tried in tuning a regression.
        read_batch: pairs that are read at a time where nothing is learnt.
    """

    family: Family = "multilabel"
    rate: float = 1e-5
    batch: int = 32
    warmup: float = 0.06
    weight_decay: float = 0.1
    max_length: int = MAX_LENGTH
    clip: float = 1.0
    pairs: Pairs = "all"
    read_batch: int = BATCH
