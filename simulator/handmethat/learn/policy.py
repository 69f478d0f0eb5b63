"""Checkpoints of learned robots, and the robots out of them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, Literal

import torch

from simulator.errors import InputError
from simulator.handmethat.learn.config import DrrnConfig, Seq2SeqConfig
from simulator.handmethat.learn.drrn import Drrn, choose, numbers_of, reading_of
from simulator.handmethat.learn.seen import Oracle, Policy, Seen, Vocabulary
from simulator.handmethat.learn.seq2seq import Seq2Seq, pad, shorten

Kind = Literal["seq2seq", "drrn"]
_FORMAT: Final = "askback-handmethat-1"


class Seq2SeqPolicy:
    """Writes its command word by word, greedily."""

    def __init__(self, name: str, network: Seq2Seq, vocabulary: Vocabulary, oracle: Oracle = "none") -> None:
        self.name = name
        self.oracle = oracle
        self._network, self._vocabulary = network.eval(), vocabulary

    def command(self, seen: Seen, seed: int) -> str:
        """Return the next command; nothing in it is random."""
        longest = self._network.config.longest_text
        observation = pad([shorten(self._vocabulary.encode(seen.history), longest)])
        written = self._network.command(observation, pad([self._vocabulary.encode(seen.task)]))
        return self._vocabulary.decode(written[0])


class DrrnPolicy:
    """Draws among the valid commands by a softmax over their values, as published; or takes the best.

    Args:
        greedy: take the best; asked for by ``drrn-greedy:FILE``.
    """

    oracle: Oracle = "none"

    def __init__(
        self, name: str, network: Drrn, vocabulary: Vocabulary, config: DrrnConfig, *, greedy: bool
    ) -> None:
        self.name = name
        self._network, self._vocabulary, self._config = network.eval(), vocabulary, config
        self._greedy = greedy

    @torch.no_grad()
    def command(self, seen: Seen, seed: int) -> str:
        """Return the next command."""
        longest = self._config.longest_text
        commands = [numbers_of(self._vocabulary, command, longest) for command in seen.valid]
        values = self._network([reading_of(self._vocabulary, seen, longest)], [commands])[0]
        return seen.valid[choose(values, random.Random(seed), greedy=self._greedy)]


def save_checkpoint(
    path: Path,
    kind: Kind,
    config: Seq2SeqConfig | DrrnConfig,
    vocabulary: Vocabulary,
    network: torch.nn.Module,
    told: Mapping[str, Any],
) -> None:
    """Write a checkpoint; `told` are plain values that say how it was made (``oracle`` among them).

    Raises:
        OSError: if it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "format": _FORMAT,
        "kind": kind,
        "config": asdict(config),
        "words": list(vocabulary.words),
        "weights": network.state_dict(),
        "told": dict(told),
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
    content = read_checkpoint(Path(file))
    if content["kind"] != kind.removesuffix("-greedy"):
        raise InputError(f"{file}: holds a {content['kind']} robot; call it {content['kind']}:{file}.")
    vocabulary = Vocabulary(tuple(content["words"]))
    if kind == "seq2seq":
        written = Seq2Seq(Seq2SeqConfig(**content["config"]), len(vocabulary))
        written.load_state_dict(content["weights"])
        return Seq2SeqPolicy(name, written, vocabulary, content["told"].get("oracle", "none"))
    config = DrrnConfig(**content["config"])
    valued = Drrn(config, len(vocabulary))
    valued.load_state_dict(content["weights"])
    return DrrnPolicy(name, valued, vocabulary, config, greedy=kind == "drrn-greedy")


def read_checkpoint(path: Path) -> Mapping[str, Any]:
    """Return the content of a checkpoint.

    Raises:
        InputError: if there is none, or it is not ours.
    """
    if not path.is_file():
        raise InputError(f"{path}: there is no such checkpoint; train one with `askback train handmethat`.")
    try:
        content: Mapping[str, Any] = torch.load(path, weights_only=True)
    except Exception as error:  # torch has no error of its own for a file that it cannot read
        raise InputError(f"{path}: is no checkpoint ({type(error).__name__}).") from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise InputError(f"{path}: is no checkpoint of `askback train handmethat`.")
    return content
