"""Key-value memory of answers generated in parallel: one place per answer, one pass per token.

Each place has its own length, so answers of different lengths can come and go. The memory is updated in
place, while the library's own is copied completely at every token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from simulator.models.forward import State

# Attention covers a multiple of `_STEP` tokens, and memory grows in multiples of `_GROWTH`; masked tokens do
# not change the sums of the others.
_STEP: Final = 64
_GROWTH: Final = 256


class Slots:
    """Keys and values of the answers in progress, of shape (places, heads, tokens, width) in each layer."""

    def __init__(self, torch: Any, transformers: Any, model: Any) -> None:
        self._torch = torch
        self._memory = transformers.Cache
        self._model = model
        self._layers: list[_Layer] = []
        self._lengths: list[int] = []

    @property
    def width(self) -> int:
        """Return the number of places."""
        return len(self._lengths)

    def resize(self, width: int) -> None:
        """Set the number of places; removed places must be free."""
        self._lengths = [*self._lengths[:width], *[0] * (width - len(self._lengths))]
        if not width:
            self._layers = []

    def put(self, place: int, state: State) -> None:
        """Start an answer in `place` after a prompt with this state."""
        if not self._layers:
            self._layers = [_Layer() for _ in state]
        length = int(state[0][0].shape[2])
        with self._torch.inference_mode():
            self._make_room(length, state)
            for layer, (keys, values) in zip(self._layers, state, strict=True):
                layer.keys[place, :, :length] = keys[0]
                layer.values[place, :, :length] = values[0]
        self._lengths[place] = length

    def move(self, place: int, to: int) -> None:
        """Move an answer to another place."""
        length = self._lengths[to] = self._lengths[place]
        with self._torch.inference_mode():
            for layer in self._layers:
                layer.keys[to, :, :length] = layer.keys[place, :, :length]
                layer.values[to, :, :length] = layer.values[place, :, :length]
        self.free(place)

    def free(self, place: int) -> None:
        """Free a place for another answer."""
        self._lengths[place] = 0

    def step(self, tokens: Sequence[int]) -> Any:
        """Add a token to the answer in each place.

        Returns:
            Logits of the next token, 32 bits, of shape (places, vocabulary).
        """
        torch, device = self._torch, self._model.device
        with torch.inference_mode():
            covered = -(-(max(self._lengths) + 1) // _STEP) * _STEP
            self._make_room(covered)
            lengths = torch.tensor(self._lengths, device=device)
            at = (torch.arange(self.width, device=device), lengths)
            for layer in self._layers:
                layer.at, layer.covered = at, covered
            dtype = self._layers[0].keys.dtype
            # An additive mask, which every attention implementation understands.
            mask = torch.zeros((self.width, 1, 1, covered), dtype=dtype, device=device)
            later = torch.arange(covered, device=device) > lengths[:, None]
            mask.masked_fill_(later[:, None, None], torch.finfo(dtype).min)
            output = self._model(
                input_ids=torch.tensor(tokens, device=device)[:, None],
                position_ids=lengths[:, None],
                attention_mask=mask,
                past_key_values=self._memory(layers=self._layers),
                use_cache=True,
            )
        self._lengths = [length + 1 if length else 0 for length in self._lengths]
        return output.logits[:, -1].float()

    def _make_room(self, length: int, like: State | None = None) -> None:
        """Make room for `length` tokens in every place."""
        first = self._layers[0].keys
        if first is not None and first.shape[0] >= self.width and first.shape[2] >= length:
            return
        room = max(-(-length // _GROWTH) * _GROWTH, 0 if first is None else first.shape[2])
        for number, layer in enumerate(self._layers):
            keys, values = like[number] if layer.keys is None and like else (layer.keys, layer.values)
            copy = layer.keys is not None
            layer.keys = self._widen(keys, room, copy)
            layer.values = self._widen(values, room, copy)

    def _widen(self, tensor: Any, room: int, copy: bool) -> Any:
        _, heads, _, width = tensor.shape
        wider = self._torch.zeros((self.width, heads, room, width), dtype=tensor.dtype, device=tensor.device)
        if copy:
            places = min(self.width, tensor.shape[0])
            wider[:places, :, : tensor.shape[2]] = tensor[:places]
        return wider


class _Layer:
    """Keys and values of one layer, with the interface of the library's cache layers."""

    is_initialized = True
    is_sliding = False

    def __init__(self) -> None:
        self.keys: Any = None
        self.values: Any = None
        self.at: Any = None
        self.covered = 0

    def update(self, keys: Any, values: Any, *_: Any, **__: Any) -> tuple[Any, Any]:
        """Add the new token's keys and values to each place; return all keys and values."""
        places, lengths = self.at
        used = places.shape[0]
        self.keys[places, :, lengths] = keys[:, :, 0]
        self.values[places, :, lengths] = values[:, :, 0]
        return self.keys[:used, :, : self.covered], self.values[:used, :, : self.covered]

    def get_seq_length(self) -> int:
        """Return the number of tokens in the longest place."""
        return self.covered - 1

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Return how many tokens attention covers, and the first of them."""
        return self.covered, 0

    def get_max_length(self) -> int:
        """Return -1 for no maximum."""
        return -1
