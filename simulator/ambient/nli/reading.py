"""Pairs of sentences as a model reads them, and its numbers for them; torch is passed in, not imported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simulator.ambient.nli.families import Scores

Pair = tuple[str, str]
MAX_LENGTH: Final = 128
BATCH: Final = 64


def encode(tokenizer: Any, pairs: Sequence[Pair], max_length: int) -> Any:
    """A batch of pairs as padded tensors, cut to a length in tokens, the longer sentence first.

    A tokenizer that has no sign to stand between two sentences (those of causal models) gets them on lines.
    """
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    cut = {"truncation": True, "max_length": max_length, "padding": True, "return_tensors": "pt"}
    if tokenizer.sep_token_id is None:
        return tokenizer([f"{premise}\n{hypothesis}" for premise, hypothesis in pairs], **cut)
    premises, hypotheses = zip(*pairs, strict=True)
    return tokenizer(list(premises), list(hypotheses), **cut)


def forward(model: Any, batch: Any) -> Any:
    """A model's numbers for an encoded batch, a tensor of shape (pairs, classes)."""
    # Causal models would else keep what only a continuation needs.
    extra = {"use_cache": False} if hasattr(model.config, "use_cache") else {}
    return model(**batch.to(model.device), **extra).logits.float()


def read_pairs(
    torch: Any, model: Any, tokenizer: Any, pairs: Sequence[Pair], *, max_length: int, batch: int = BATCH
) -> list[Scores]:
    """A model's numbers for pairs, in their order.

    Args:
        torch: the library.
        model: for sequence classification, not in training.
        tokenizer: its own.
        pairs: premise and hypothesis each.
        max_length: in tokens.
        batch: pairs that are read at a time; those of about the same length together.
    """
    found: list[Scores] = [()] * len(pairs)
    with torch.inference_mode():
        for places in batches(pairs, batch):
            encoded = encode(tokenizer, [pairs[place] for place in places], max_length)
            for place, row in zip(places, forward(model, encoded).tolist(), strict=True):
                found[place] = tuple(row)
    return found


def batches(pairs: Sequence[Pair], size: int) -> Iterator[list[int]]:
    """The places of `pairs` in batches of about the same length, the longest first."""
    ordered = sorted(range(len(pairs)), key=lambda place: -sum(map(len, pairs[place])))
    for start in range(0, len(ordered), size):
        yield ordered[start : start + size]
