"""Prompts read by a model of transformers: what it keeps of each token, and what it expects next."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from simulator.models.forward import logits_at
from simulator.models.heads import Heads, State

_TAKEN: Final = ("position_ids", "attention_mask", "past_key_values")


class Read(NamedTuple):
    """A prompt that has been read.

    Attributes:
        state: what the model keeps of its tokens.
        logits: scores of what comes next, 32 bits, of shape (1, vocabulary).
    """

    state: State
    logits: Any


def can_go_on(transformers: Any, model: Any) -> bool:
    """Whether a model's memory is keys and values of every token, which can be kept, copied and put together.

    It is not where a model reads and answers (encoder-decoder), is recurrent, looks at the last tokens only
    in some layers, or knows of places by something else than their numbers.
    """
    config = model.config
    if config.is_encoder_decoder or getattr(config, "alibi", False):
        return False
    if config._attn_implementation not in ("sdpa", "eager"):
        return False
    takes = inspect.signature(model.forward).parameters
    layers = transformers.DynamicCache(config=config).layers
    plain = transformers.cache_utils.DynamicLayer
    return (
        all(each in takes for each in _TAKEN) and bool(layers) and all(type(one) is plain for one in layers)
    )


class Reader:
    """Reads prompts one by one, so that no prompt's numbers depend on another's.

    Several in one pass, padded, would save a CPU a third of the time where 60 tokens are read after a shared
    head, and next to nothing where it is 130 or more: reading, unlike writing, keeps a core busy.
    """

    def __init__(self, torch: Any, transformers: Any, model: Any, heads: Heads) -> None:
        self._torch = torch
        self._memory = transformers.DynamicCache
        self._model = model
        self._heads = heads

    @property
    def device(self) -> Any:
        """Where the model runs."""
        return self._model.device

    def read(self, ids: Sequence[int], head: int) -> Read:
        """Read a prompt.

        Args:
            ids: its tokens.
            head: how many of them it has in common with others. They are read by themselves whether they are
                remembered or not: the numbers are the same whatever was asked before.
        """
        if not 0 < head < len(ids):
            return self._pass(ids, ())
        begun = self._heads.get(ids[:head], lambda: self._pass(ids[:head], ()).state)
        return self._pass(ids[head:], begun)

    def _pass(self, ids: Sequence[int], begun: State) -> Read:
        with self._torch.inference_mode():
            memory = self._memory(config=self._model.config)
            for layer, (keys, values) in enumerate(begun):
                memory.update(keys, values, layer)
            tokens = self._torch.tensor([list(ids)], device=self._model.device)
            inputs = {"input_ids": tokens, "past_key_values": memory, "use_cache": True}
            logits = logits_at(self._torch, self._model, inputs, [(0, len(ids) - 1)]).float()
        return Read(tuple((layer.keys, layer.values) for layer in memory.layers), logits)
