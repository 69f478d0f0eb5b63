"""The next token: the likeliest one, or one that is drawn."""

from __future__ import annotations

from typing import Any

from simulator.models.forward import Look


def pick(torch: Any, logits: Any, *, temperature: float, top_p: float, generator: Any) -> list[int]:
    """One token for each row.

    Args:
        torch: the library.
        logits: scores of shape (rows, vocabulary).
        temperature: 0 for the likeliest token.
        top_p: only the likeliest tokens whose probabilities add up to this are drawn.
        generator: where chance comes from.
    """
    if temperature <= 0:
        return [int(token) for token in logits.argmax(dim=-1).tolist()]
    shares = torch.softmax(logits / temperature, dim=-1)
    if top_p < 1:
        ordered, ids = shares.sort(dim=-1, descending=True)
        # The token that reaches the sum belongs to it.
        ordered[ordered.cumsum(dim=-1) - ordered >= top_p] = 0.0
        shares = torch.zeros_like(shares).scatter(1, ids, ordered)
    return [int(token) for token in torch.multinomial(shares, 1, generator=generator)[:, 0].tolist()]


def chance(torch: Any, logits: Any, token: int, top: int) -> Look:
    """Log-probability of `token` and the `top` likeliest tokens, by scores of shape (vocabulary,)."""
    logprobs = torch.log_softmax(logits, dim=-1)
    best = torch.topk(logprobs, min(top, len(logprobs)))
    others = zip(best.indices.tolist(), best.values.tolist(), strict=True)
    return Look(logprobs[token].item(), tuple(others))
