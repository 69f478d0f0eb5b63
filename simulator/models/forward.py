"""Passes over batches of texts, looked at in a few places only.

The table of all tokens' probabilities at all places of a batch would be hundreds of megabytes; so the hidden
states of the wanted places alone are let through to the output layer, whatever the architecture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from simulator.models.errors import Unsupported

# Places looked at per batch; with 50,000 tokens in the vocabulary, 100 MB.
MOST_LOOKS: Final = 512


class Row(NamedTuple):
    """One text of a batch.

    Attributes:
        ids: tokens read.
        written: tokens of an encoder-decoder model's answer so far; empty for other models.
        looks: of each place looked at, its index (in `written`, or else in `ids`) and the token that comes
            after it.
        top: how many of the likeliest tokens are wanted.
    """

    ids: tuple[int, ...]
    written: tuple[int, ...]
    looks: tuple[tuple[int, int], ...]
    top: int


class Look(NamedTuple):
    """What was expected in one place: log-probability of what comes there, and the likeliest tokens."""

    logprob: float
    top: tuple[tuple[int, float], ...]


def batches(rows: Sequence[Row], budget: int) -> list[list[int]]:
    """Indices of `rows` in batches of about the same length, the longest first.

    Args:
        rows: what is to be read.
        budget: tokens in a batch at most, padding included; a longer row is a batch of its own.
    """
    found: list[list[int]] = []
    for index in sorted(range(len(rows)), key=lambda each: -len(rows[each].ids)):
        batch = found[-1] if found else []
        longest = len(rows[batch[0]].ids) if batch else 0
        looks = sum(len(rows[each].looks) for each in batch) + len(rows[index].looks)
        if batch and longest * (len(batch) + 1) <= budget and looks <= MOST_LOOKS:
            batch.append(index)
        else:
            found.append([index])
    return found


def look(torch: Any, model: Any, rows: Sequence[Row]) -> list[list[Look]]:
    """Read `rows` in one pass.

    Args:
        torch: the library.
        model: a model of transformers with an output layer.
        rows: either all of them have something written or none has.

    Returns:
        For each row, what was expected in each of its places.

    Raises:
        Unsupported: if the model has no output layer.
    """
    places = [(number, place) for number, row in enumerate(rows) for place, _ in row.looks]
    logits = logits_at(torch, model, _inputs(torch, model.device, rows), places).float()
    found = _read(torch, logits, [(token, row.top) for row in rows for _, token in row.looks])
    return [[next(found) for _ in row.looks] for row in rows]


def _inputs(torch: Any, device: Any, rows: Sequence[Row]) -> dict[str, Any]:
    ids, mask = _padded(torch, device, [row.ids for row in rows])
    inputs = {"input_ids": ids, "attention_mask": mask, "use_cache": False}
    if rows[0].written:
        inputs["decoder_input_ids"], _ = _padded(torch, device, [row.written for row in rows])
    return inputs


def _padded(torch: Any, device: Any, texts: Sequence[Sequence[int]]) -> tuple[Any, Any]:
    # What stands in the padding matters to nobody: it comes after everything, and it is masked.
    length = max(map(len, texts))
    ids = [[*text, *[text[-1]] * (length - len(text))] for text in texts]
    mask = [[1] * len(text) + [0] * (length - len(text)) for text in texts]
    return torch.tensor(ids, device=device), torch.tensor(mask, device=device)


def logits_at(torch: Any, model: Any, inputs: Mapping[str, Any], places: Sequence[tuple[int, int]]) -> Any:
    """Scores before the softmax, of shape (places, vocabulary).

    Args:
        torch: the library.
        model: a model of transformers with an output layer.
        inputs: what it is given.
        places: rows and columns looked at.

    Raises:
        Unsupported: if the model has no output layer.
    """
    output = model.get_output_embeddings()
    if output is None:
        raise Unsupported(f"models of type {model.config.model_type} have no output layer to be looked at")
    rows, columns = torch.tensor(places, device=model.device).T

    def keep(_: Any, hidden: tuple[Any, ...]) -> tuple[Any, ...]:
        return (hidden[0][rows, columns].unsqueeze(0), *hidden[1:])

    def widen(module: Any, hidden: tuple[Any, ...], logits: Any) -> Any:
        # Scores of 16 bits would tie where probabilities differ by several percent.
        if logits.dtype == torch.float32 or type(module) is not torch.nn.Linear:
            return logits
        bias = None if module.bias is None else module.bias.float()
        return torch.nn.functional.linear(hidden[0].float(), module.weight.float(), bias)

    handles = output.register_forward_pre_hook(keep), output.register_forward_hook(widen)
    try:
        with torch.inference_mode():
            logits = model(**inputs).logits
    finally:
        for handle in handles:
            handle.remove()
    return logits.reshape(len(places), -1)


def _read(torch: Any, logits: Any, wanted: Sequence[tuple[int, int]]) -> Any:
    whole = torch.logsumexp(logits, dim=-1)
    tokens = torch.tensor([token for token, _ in wanted], device=logits.device)
    there = (logits.gather(1, tokens[:, None])[:, 0] - whole).tolist()
    most = min(max(top for _, top in wanted), logits.shape[-1])
    best = torch.topk(logits, most, dim=-1)
    values = (best.values - whole[:, None]).tolist()
    tables = zip(there, best.indices.tolist(), values, wanted, strict=True)
    for logprob, ids, logprobs, (_, top) in tables:
        yield Look(logprob, tuple(zip(ids[:top], logprobs[:top], strict=True)))
