"""Forward passes of a transformers model: batches of scored texts, and prompts to continue.

The probabilities of all tokens at all positions of a batch would take hundreds of megabytes. So only the
hidden states of the requested positions reach the output layer, whatever the architecture.

Hundreds of items share a prompt's beginning, such as worked examples. It is read once; its keys and values in
every layer are kept, and the rest of each prompt is read after it.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from simulator.models.errors import Unsupported

# Positions scored per batch; with a vocabulary of 50,000 tokens, 100 MB.
MOST_LOOKS: Final = 512
# Keys and values of each layer, of shape (1, heads, tokens, width). Never modified.
State = tuple[tuple[Any, Any], ...]

MOST_BYTES: Final = 2**30
_TAKEN: Final = ("position_ids", "attention_mask", "past_key_values")


class Row(NamedTuple):
    """One text of a batch.

    Attributes:
        ids: the tokens to read.
        written: the first tokens of an encoder-decoder model's answer; empty for other models.
        looks: for each scored token, the index (in `written`, or else in `ids`) of the position that predicts
            it, and the token.
        top: how many of the likeliest tokens to return.
    """

    ids: tuple[int, ...]
    written: tuple[int, ...]
    looks: tuple[tuple[int, int], ...]
    top: int


class Prediction(NamedTuple):
    """The prediction at one position: the actual token's log-probability, and the likeliest tokens."""

    logprob: float
    top: tuple[tuple[int, float], ...]


def batches(rows: Sequence[Row], budget: int) -> list[list[int]]:
    """Return the indices of `rows` in batches of similar length, the longest first.

    `budget`: most tokens in a batch, padding included; a longer row is a separate batch.
    """
    groups: list[list[int]] = []
    for index in sorted(range(len(rows)), key=lambda each: -len(rows[each].ids)):
        batch = groups[-1] if groups else []
        longest = len(rows[batch[0]].ids) if batch else 0
        looks = sum(len(rows[each].looks) for each in batch) + len(rows[index].looks)
        if batch and longest * (len(batch) + 1) <= budget and looks <= MOST_LOOKS:
            batch.append(index)
        else:
            groups.append([index])
    return groups


def predict(torch: Any, model: Any, rows: Sequence[Row]) -> list[list[Prediction]]:
    """Read `rows` in one pass.

    Returns:
        For each row, the prediction at each of its positions.

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
    # The padding's value does not matter: it comes last and is masked.
    length = max(map(len, texts))
    ids = [[*text, *[text[-1]] * (length - len(text))] for text in texts]
    mask = [[1] * len(text) + [0] * (length - len(text)) for text in texts]
    return torch.tensor(ids, device=device), torch.tensor(mask, device=device)


def logits_at(torch: Any, model: Any, inputs: Mapping[str, Any], places: Sequence[tuple[int, int]]) -> Any:
    """Return the logits at `places`, of shape (places, vocabulary).

    Raises:
        Unsupported: if the model has no output layer.
    """
    output = model.get_output_embeddings()
    if output is None:
        raise Unsupported(f"models of type {model.config.model_type} have no output layer for logits")
    rows, columns = torch.tensor(places, device=model.device).T

    def keep(_: Any, hidden: tuple[Any, ...]) -> tuple[Any, ...]:
        return (hidden[0][rows, columns].unsqueeze(0), *hidden[1:])

    def widen(module: Any, hidden: tuple[Any, ...], logits: Any) -> Any:
        # 16-bit logits would tie where probabilities differ by several percent.
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
    total = torch.logsumexp(logits, dim=-1)
    tokens = torch.tensor([token for token, _ in places], device=logits.device)
    actual = (logits.gather(1, tokens[:, None])[:, 0] - total).tolist()
    most = min(max(top for _, top in places), logits.shape[-1])
    best = torch.topk(logits, most, dim=-1)
    values = (best.values - total[:, None]).tolist()
    tables = zip(actual, best.indices.tolist(), values, places, strict=True)
    for logprob, ids, logprobs, (_, top) in tables:
        yield Prediction(logprob, tuple(zip(ids[:top], logprobs[:top], strict=True)))


def pick(torch: Any, logits: Any, *, temperature: float, top_p: float, generator: Any) -> list[int]:
    """Return one token for each row of `logits`.

    `temperature`: 0 for the likeliest token. `top_p`: sample only from the likeliest tokens whose
    probabilities add up to this.
    """
    if temperature <= 0:
        return [int(token) for token in logits.argmax(dim=-1).tolist()]
    shares = torch.softmax(logits / temperature, dim=-1)
    if top_p < 1:
        ordered, ids = shares.sort(dim=-1, descending=True)
        # The token with which the sum is reached is included.
        ordered[ordered.cumsum(dim=-1) - ordered >= top_p] = 0.0
        shares = torch.zeros_like(shares).scatter(1, ids, ordered)
    return [int(token) for token in torch.multinomial(shares, 1, generator=generator)[:, 0].tolist()]


def prediction_at(torch: Any, logits: Any, token: int, top: int) -> Prediction:
    """Return the log-probability of `token` and the `top` likeliest tokens, from logits (vocabulary,)."""
    logprobs = torch.log_softmax(logits, dim=-1)
    best = torch.topk(logprobs, min(top, len(logprobs)))
    others = zip(best.indices.tolist(), best.values.tolist(), strict=True)
    return Prediction(logprobs[token].item(), tuple(others))


class Heads:
    """A cache of the states of shared prompt beginnings, by their tokens; evicts the least recently used."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        """Make an empty cache of at most `most` bytes."""
        self._most = most
        self._states: OrderedDict[tuple[int, ...], State] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._states)

    def get(self, ids: Sequence[int], read: Callable[[], State]) -> State:
        """Return the state after `ids`: the cached one, else the result of `read`."""
        key = tuple(ids)
        if key in self._states:
            self._states.move_to_end(key)
            return self._states[key]
        state = read()
        size = size_of(state)
        if size <= self._most:
            self._states[key] = state
            self._bytes += size
        while self._bytes > self._most:
            _, oldest = self._states.popitem(last=False)
            self._bytes -= size_of(oldest)
        return state

    def clear(self) -> None:
        """Empty the cache."""
        self._states.clear()
        self._bytes = 0


def size_of(state: State) -> int:
    """Return the size of a state in bytes."""
    return sum(each.numel() * each.element_size() for pair in state for each in pair)


class Read(NamedTuple):
    """A prompt that has been read.

    Attributes:
        state: keys and values of its tokens.
        logits: logits of the next token, 32 bits, of shape (1, vocabulary).
    """

    state: State
    logits: Any


def has_plain_cache(transformers: Any, model: Any) -> bool:
    """Return True if a model's cache is plain keys and values of every token, which can be copied and joined.

    It is not for encoder-decoder and recurrent models, models with sliding-window layers, and models whose
    positions are not given by position ids (ALiBi).
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
    """Reads prompts one by one, so that no prompt's numbers depend on other prompts.

    Padded batches would save a CPU a third of the time for 60 tokens after a shared head, and next to
    nothing for 130 or more: reading, unlike generating, keeps a core busy.
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
            head: how many of them it shares with other prompts. They are always read separately, cached or
                not, so that the numbers do not depend on earlier requests.
        """
        if not 0 < head < len(ids):
            return self._pass(ids, ())
        state = self._heads.get(ids[:head], lambda: self._pass(ids[:head], ()).state)
        return self._pass(ids[head:], state)

    def _pass(self, ids: Sequence[int], state: State) -> Read:
        with self._torch.inference_mode():
            memory = self._memory(config=self._model.config)
            for layer, (keys, values) in enumerate(state):
                memory.update(keys, values, layer)
            tokens = self._torch.tensor([list(ids)], device=self._model.device)
            inputs = {"input_ids": tokens, "past_key_values": memory, "use_cache": True}
            logits = logits_at(self._torch, self._model, inputs, [(0, len(ids) - 1)]).float()
        return Read(tuple((layer.keys, layer.values) for layer in memory.layers), logits)
