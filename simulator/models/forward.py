"""What a model of transformers reads: batches of texts that are scored, and prompts that are gone on with.

The table of all tokens' probabilities at all places of a batch would be hundreds of megabytes; so the hidden
states of the wanted places alone are let through to the output layer, whatever the architecture.

A prompt of worked examples is the same for hundreds of items. Such a beginning is read once; what the model
keeps of each of its tokens (keys and values of every layer) is remembered, and the rest of each prompt is
read after it.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from simulator.models.errors import Unsupported

# Places looked at per batch; with 50,000 tokens in the vocabulary, 100 MB.
MOST_LOOKS: Final = 512
# Keys and values of each layer, of shape (1, heads, tokens, width). They are never written to.
State = tuple[tuple[Any, Any], ...]

MOST_BYTES: Final = 2**30
_TAKEN: Final = ("position_ids", "attention_mask", "past_key_values")


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
    """The expectation in one place: log-probability of what comes there, and the likeliest tokens."""

    logprob: float
    top: tuple[tuple[int, float], ...]


def batches(rows: Sequence[Row], budget: int) -> list[list[int]]:
    """Return the indices of `rows` in batches of about the same length, the longest first.

    `budget`: tokens in a batch at most, padding included; a longer row is a batch of its own.
    """
    made: list[list[int]] = []
    for index in sorted(range(len(rows)), key=lambda each: -len(rows[each].ids)):
        batch = made[-1] if made else []
        longest = len(rows[batch[0]].ids) if batch else 0
        looks = sum(len(rows[each].looks) for each in batch) + len(rows[index].looks)
        if batch and longest * (len(batch) + 1) <= budget and looks <= MOST_LOOKS:
            batch.append(index)
        else:
            made.append([index])
    return made


def look(torch: Any, model: Any, rows: Sequence[Row]) -> list[list[Look]]:
    """Read `rows` in one pass.

    Returns:
        For each row, what was expected in each of its places.

    Raises:
        Unsupported: if the model has no output layer.
    """
    places = [(number, place) for number, row in enumerate(rows) for place, _ in row.looks]
    logits = logits_at(torch, model, _inputs(torch, model.device, rows), places).float()
    looks = _read(torch, logits, [(token, row.top) for row in rows for _, token in row.looks])
    return [[next(looks) for _ in row.looks] for row in rows]


def _inputs(torch: Any, device: Any, rows: Sequence[Row]) -> dict[str, Any]:
    ids, mask = _pad(torch, device, [row.ids for row in rows])
    inputs = {"input_ids": ids, "attention_mask": mask, "use_cache": False}
    if rows[0].written:
        inputs["decoder_input_ids"], _ = _pad(torch, device, [row.written for row in rows])
    return inputs


def _pad(torch: Any, device: Any, texts: Sequence[Sequence[int]]) -> tuple[Any, Any]:
    # What stands in the padding matters to nobody: it comes after everything, and it is masked.
    length = max(map(len, texts))
    ids = [[*text, *[text[-1]] * (length - len(text))] for text in texts]
    mask = [[1] * len(text) + [0] * (length - len(text)) for text in texts]
    return torch.tensor(ids, device=device), torch.tensor(mask, device=device)


def logits_at(torch: Any, model: Any, inputs: Mapping[str, Any], places: Sequence[tuple[int, int]]) -> Any:
    """Return the scores before the softmax, of shape (places, vocabulary).

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


def _read(torch: Any, logits: Any, places: Sequence[tuple[int, int]]) -> Any:
    whole = torch.logsumexp(logits, dim=-1)
    tokens = torch.tensor([token for token, _ in places], device=logits.device)
    there = (logits.gather(1, tokens[:, None])[:, 0] - whole).tolist()
    most = min(max(top for _, top in places), logits.shape[-1])
    best = torch.topk(logits, most, dim=-1)
    values = (best.values - whole[:, None]).tolist()
    tables = zip(there, best.indices.tolist(), values, places, strict=True)
    for logprob, ids, logprobs, (_, top) in tables:
        yield Look(logprob, tuple(zip(ids[:top], logprobs[:top], strict=True)))


def pick(torch: Any, logits: Any, *, temperature: float, top_p: float, generator: Any) -> list[int]:
    """Return one token for each row.

    `temperature`: 0 for the likeliest token. `top_p`: only the likeliest tokens whose probabilities add up to
    this are drawn.
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
    """Return the log-probability of `token` and the `top` likeliest, by scores of shape (vocabulary,)."""
    logprobs = torch.log_softmax(logits, dim=-1)
    best = torch.topk(logprobs, min(top, len(logprobs)))
    others = zip(best.indices.tolist(), best.values.tolist(), strict=True)
    return Look(logprobs[token].item(), tuple(others))


class Heads:
    """States of prompts' beginnings by their tokens; those used longest ago leave first."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        """Keep nothing yet."""
        self._most = most
        self._kept: OrderedDict[tuple[int, ...], State] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, ids: Sequence[int], read: Callable[[], State]) -> State:
        """Return the state after `ids`: a kept one, or else what `read` gives."""
        key = tuple(ids)
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        state = read()
        size = size_of(state)
        if size <= self._most:
            self._kept[key] = state
            self._bytes += size
        while self._bytes > self._most:
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= size_of(oldest)
        return state

    def clear(self) -> None:
        """Forget all of them."""
        self._kept.clear()
        self._bytes = 0


def size_of(state: State) -> int:
    """Return the bytes of a state."""
    return sum(each.numel() * each.element_size() for pair in state for each in pair)


class Read(NamedTuple):
    """A prompt that has been read.

    Attributes:
        state: what the model keeps of its tokens.
        logits: scores of what comes next, 32 bits, of shape (1, vocabulary).
    """

    state: State
    logits: Any


def can_go_on(transformers: Any, model: Any) -> bool:
    """Return True if a model's memory is keys and values of every token, which can be copied and joined.

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
        all(each in takes for each in _TAKEN)
        and bool(layers)
        and all(type(layer) is plain for layer in layers)
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
        """Return the device that the model runs on."""
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
