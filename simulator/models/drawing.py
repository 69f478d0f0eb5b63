"""Several samples of one prompt, drawn together by a model in this process.

Most of them end long before the longest one does, so those that are over leave the batch: the work is that of
the tokens that are written, not of the longest sample times their number. The prompt is read once for all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def draw(
    torch: Any,
    model: Any,
    read: Sequence[int],
    samples: int,
    *,
    temperature: float,
    top_p: float,
    over: Callable[[list[int]], bool],
) -> list[list[int]] | None:
    """The tokens of each sample, without the prompt's; None if the model's memory cannot drop rows.

    Args:
        torch: the library; its random state decides what is drawn.
        model: a causal model of transformers.
        read: tokens of the prompt.
        samples: how many.
        temperature: above 0.
        top_p: only the likeliest tokens whose probabilities add up to this are drawn.
        over: whether a sample has ended, by what it has written.
    """
    output = model(input_ids=torch.tensor([list(read)], device=model.device), use_cache=True)
    cache = output.past_key_values
    if not hasattr(cache, "batch_select_indices"):  # recurrent models
        return None
    cache.batch_repeat_interleave(samples)
    logits = output.logits[:, -1].expand(samples, -1)
    written: list[list[int]] = [[] for _ in range(samples)]
    left = list(range(samples))
    while True:
        tokens = _drawn(torch, logits.float() / temperature, top_p)
        for row, token in zip(left, tokens.tolist(), strict=True):
            written[row].append(token)
        kept = [place for place, row in enumerate(left) if not over(written[row])]
        if not kept:
            return written
        if len(kept) < len(left):
            places = torch.tensor(kept, device=model.device)
            cache.batch_select_indices(places)
            tokens, left = tokens[places], [left[place] for place in kept]
        logits = model(input_ids=tokens[:, None], past_key_values=cache, use_cache=True).logits[:, -1]


def _drawn(torch: Any, logits: Any, top_p: float) -> Any:
    """One token a row."""
    shares = torch.softmax(logits, dim=-1)
    if top_p < 1:
        ordered, ids = shares.sort(dim=-1, descending=True)
        # The token that reaches the sum belongs to it.
        ordered[ordered.cumsum(dim=-1) - ordered >= top_p] = 0.0
        shares = torch.zeros_like(shares).scatter(1, ids, ordered)
    return torch.multinomial(shares, 1)[:, 0]
