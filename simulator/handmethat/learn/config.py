"""The named configurations of the learned robots (tables/learning.yaml; spec 11.2 and 11.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import yaml

from simulator.errors import InputError
from simulator.handmethat.hierarchy import TABLES


@dataclass(frozen=True, slots=True)
class Seq2SeqConfig:
    """Behaviour cloning.

    Attributes:
        embedding: width of the word embeddings, which are projected to `width`.
        width: width of everything between embedding and output.
        convolutions: depthwise-separable convolutions per encoder block.
        kernel: width of a convolution, in words.
        heads: attention heads.
        rate: Adam's learning rate.
        clip: largest norm of a gradient.
        batch: examples per update.
        updates: updates in all.
        longest_text: words of an observation; a longer one keeps its first and last half of that.
        longest_command: words of a command.
    """

    embedding: int
    width: int
    convolutions: int
    kernel: int
    heads: int
    dropout: float
    label_smoothing: float
    rate: float
    clip: float
    batch: int
    updates: int
    longest_text: int
    longest_command: int


@dataclass(frozen=True, slots=True)
class DrrnConfig:
    """Deep reinforcement relevance network.

    Attributes:
        embedding: width of the word embeddings.
        width: width of each recurrent encoder and of the layer over all four.
        discount: gamma, per move.
        rate: Adam's learning rate.
        clip: largest norm of a gradient.
        batch: transitions per update.
        replay: transitions kept.
        priority: share of replay and batch for the episodes that equal or beat the best score so far.
        target_every: steps between copies to the target network.
        environments: episodes played side by side.
        steps: steps of each environment in all.
        limit: moves per episode.
        longest_text: words of a text; of a longer one the last are read.
    """

    embedding: int
    width: int
    discount: float
    rate: float
    clip: float
    batch: int
    replay: int
    priority: float
    target_every: int
    environments: int
    steps: int
    limit: int
    longest_text: int


_Config = TypeVar("_Config", Seq2SeqConfig, DrrnConfig)


def seq2seq_config(name: str, **changed: Any) -> Seq2SeqConfig:
    """Return the configuration called `name`, with some values changed.

    Raises:
        InputError: if there is none of that name.
    """
    return _config(Seq2SeqConfig, "seq2seq", name, changed)


def drrn_config(name: str, **changed: Any) -> DrrnConfig:
    """Return the configuration called `name`, with some values changed.

    Raises:
        InputError: if there is none of that name.
    """
    return _config(DrrnConfig, "drrn", name, changed)


def _config(kind: type[_Config], group: str, name: str, changed: Mapping[str, Any]) -> _Config:
    table = yaml.safe_load((TABLES / "learning.yaml").read_text(encoding="utf-8"))[group]
    if name not in table:
        raise InputError(f"There is no {group} configuration {name!r}; there are: {', '.join(table)}.")
    given = {**table[name], **{key: value for key, value in changed.items() if value is not None}}
    return kind(**{field.name: given[field.name] for field in fields(kind)})
