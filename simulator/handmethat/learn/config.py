"""The named configurations of the learned robots (tables/learning.yaml; spec 11.2 and 11.3)."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import yaml

from simulator.errors import InputError
from simulator.fields import Fields
from simulator.handmethat.hierarchy import TABLES


class _Config(Fields):
    """A configuration; `embedding` is the width of the word embeddings, `width` that of everything behind.

    Attributes:
        clip: largest norm of a gradient.
        batch: examples or transitions per update.
    """

    kind: ClassVar[str]
    embedding: int
    width: int
    rate: float
    clip: float
    batch: int
    longest_text: int

    @classmethod
    def named(cls, name: str, **changed: Any) -> Self:
        """Return the configuration called `name`, with some values changed; None changes nothing.

        Raises:
            InputError: if there is none of that name.
        """
        table = yaml.safe_load((TABLES / "learning.yaml").read_text(encoding="utf-8"))[cls.kind]
        if name not in table:
            raise InputError(f"There is no {cls.kind} configuration {name!r}; there are: {', '.join(table)}.")
        new = {key: value for key, value in changed.items() if value is not None}
        return cls.parse({**table[name], **new})


class Seq2SeqConfig(_Config):
    """Behaviour cloning; of a longer text the first and the last half of `longest_text` are read.

    Attributes:
        convolutions: depthwise-separable convolutions per encoder block.
        kernel: width of a convolution, in words.
    """

    kind = "seq2seq"
    convolutions: int
    kernel: int
    heads: int
    dropout: float
    label_smoothing: float
    updates: int
    longest_command: int


class DrrnConfig(_Config):
    """Deep reinforcement relevance network; of a longer text the last words are read.

    Attributes:
        discount: gamma, per move.
        replay: transitions kept.
        priority: share of replay and batch for the episodes that equal or beat the best score so far.
        target_every: steps between copies to the target network.
        environments: episodes played side by side.
        steps: steps of each environment in all.
        limit: moves per episode.
    """

    kind = "drrn"
    discount: float
    replay: int
    priority: float
    target_every: int
    environments: int
    steps: int
    limit: int
