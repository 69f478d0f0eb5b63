"""Checkpoints of learned robots, and the robots out of them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

import torch

from simulator.errors import InputError
from simulator.handmethat.learn.config import DrrnConfig, Seq2SeqConfig
from simulator.handmethat.learn.drrn import Coder, Drrn, choose
from simulator.handmethat.learn.seen import Oracle, PromptText, Vocabulary
from simulator.handmethat.learn.seq2seq import Seq2Seq, pad, shorten

_FORMAT: Final = "askback-handmethat-1"


class Policy(Protocol):
    """A learned robot.

    Attributes:
        oracle: what it is told beside the task.
    """

    oracle: Oracle

    def command(self, seen: PromptText, seed: int) -> str:
        """Return the next command; everything random in it descends from `seed`."""


class Seq2SeqPolicy:
    """Writes its command word by word, greedily; nothing in it is random."""

    def __init__(self, network: Seq2Seq, vocabulary: Vocabulary, oracle: Oracle) -> None:
        self.oracle: Oracle = oracle
        self._network, self._vocabulary = network.eval(), vocabulary

    def command(self, seen: PromptText, seed: int) -> str:
        """Return the next command."""
        longest = self._network.config.longest_text
        observation = pad([shorten(self._vocabulary.encode(seen.history), longest)])
        written = self._network.command(observation, pad([self._vocabulary.encode(seen.task)]))
        return self._vocabulary.decode(written[0])


class DrrnPolicy:
    """Draws among the valid commands by a softmax over their values, as published.

    `greedy`: take the best; asked for by ``drrn-greedy:FILE``.
    """

    oracle: Oracle = "none"

    def __init__(self, network: Drrn, coder: Coder, *, greedy: bool) -> None:
        self._network, self._coder, self._greedy = network.eval(), coder, greedy

    @torch.no_grad()
    def command(self, seen: PromptText, seed: int) -> str:
        """Return the next command."""
        (values,) = self._network([self._coder.reading(seen)], [self._coder.commands(seen)])
        return seen.valid[choose(values, random.Random(seed), greedy=self._greedy)]


def save_checkpoint(
    path: Path,
    config: Seq2SeqConfig | DrrnConfig,
    vocabulary: Vocabulary,
    network: torch.nn.Module,
    how_made: Mapping[str, Any],
) -> None:
    """Write a checkpoint; `how_made` are plain values that say how it was made (``oracle`` among them).

    Raises:
        OSError: if it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "format": _FORMAT,
        "kind": config.kind,
        "config": config.model_dump(),
        "words": list(vocabulary.words),
        "weights": network.state_dict(),
        "told": dict(how_made),
    }
    partial = path.with_name(path.name + ".part")
    torch.save(content, partial)
    partial.replace(path)


def load_policy(name: str) -> Policy:
    """Return the robot called ``seq2seq:FILE``, ``drrn:FILE`` or ``drrn-greedy:FILE``.

    Raises:
        InputError: if the name or the file is none of that kind.
    """
    kind, _, file = name.partition(":")
    if kind not in ("seq2seq", "drrn", "drrn-greedy") or not file:
        raise InputError(f"{name!r} is no learned robot; write seq2seq:FILE, drrn:FILE or drrn-greedy:FILE.")
    content = _read_checkpoint(Path(file))
    if content["kind"] != kind.removesuffix("-greedy"):
        raise InputError(f"{file}: holds a {content['kind']} robot; call it {content['kind']}:{file}.")
    vocabulary = Vocabulary(tuple(content["words"]))
    if kind == "seq2seq":
        writer = Seq2Seq(Seq2SeqConfig.parse(content["config"]), len(vocabulary))
        writer.load_state_dict(content["weights"])
        return Seq2SeqPolicy(writer, vocabulary, content["told"].get("oracle", "none"))
    config = DrrnConfig.parse(content["config"])
    valuer = Drrn(config, len(vocabulary))
    valuer.load_state_dict(content["weights"])
    return DrrnPolicy(valuer, Coder(vocabulary, config.longest_text), greedy=kind == "drrn-greedy")


def _read_checkpoint(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        raise InputError(f"{path}: there is no such checkpoint; train one with `askback train handmethat`.")
    try:
        content: Mapping[str, Any] = torch.load(path, weights_only=True)
    except Exception as error:  # torch has no error of its own for a file that it cannot read
        raise InputError(f"{path}: is no checkpoint ({type(error).__name__}).") from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise InputError(f"{path}: is no checkpoint of `askback train handmethat`.")
    return content
