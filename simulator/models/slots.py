"""Answers that are being written side by side: a place for each, and one pass that adds a token to all.

Every place has room of its own, so that answers of any length stand beside each other, come and go. The
memory is written in place; a library's own is copied whole at each token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from simulator.models.forward import State

# Tokens by which the room of all places grows. It is looked at in whole steps, too: what is masked then
# leaves the sums of the others as they are.
_STEP: Final = 64
_GROWTH: Final = 256


class Slots:
    """Memory of so many answers, of shape (places, heads, tokens, width) in each layer."""

    def __init__(self, torch: Any, transformers: Any, model: Any) -> None:
        self._torch = torch
        self._memory = transformers.Cache
        self._model = model
        self._layers: list[_Layer] = []
        self._lengths: list[int] = []

    @property
    def width(self) -> int:
        """Return how many places there are."""
        return len(self._lengths)

    def resize(self, width: int) -> None:
        """Have `width` places; those that are taken away have to be free."""
        self._lengths = [*self._lengths[:width], *[0] * (width - len(self._lengths))]
        if not width:
            self._layers = []

    def put(self, place: int, state: State) -> None:
        """Let an answer begin in `place`, after what has been read."""
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
        """Let a place be taken by another answer."""
        self._lengths[place] = 0

    def step(self, tokens: Sequence[int]) -> Any:
        """Add a token to the answer in each place.

        Returns:
            Scores of what comes next, 32 bits, of shape (places, vocabulary).
        """
        torch, device = self._torch, self._model.device
        with torch.inference_mode():
            seen = -(-(max(self._lengths) + 1) // _STEP) * _STEP
            self._make_room(seen)
            lengths = torch.tensor(self._lengths, device=device)
            at = (torch.arange(self.width, device=device), lengths)
            for layer in self._layers:
                layer.at, layer.seen = at, seen
            dtype = self._layers[0].keys.dtype
            # Added to the scores, which every way of computing attention understands.
            mask = torch.zeros((self.width, 1, 1, seen), dtype=dtype, device=device)
            mask.masked_fill_(
                (torch.arange(seen, device=device) > lengths[:, None])[:, None, None], torch.finfo(dtype).min
            )
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
        """Make room for `length` tokens in as many places as there are."""
        first = self._layers[0].keys
        if first is not None and first.shape[0] >= self.width and first.shape[2] >= length:
            return
        room = max(-(-length // _GROWTH) * _GROWTH, 0 if first is None else first.shape[2])
        for number, layer in enumerate(self._layers):
            keys, values = like[number] if layer.keys is None and like else (layer.keys, layer.values)
            old = layer.keys is not None
            layer.keys = self._widen(keys, room, old)
            layer.values = self._widen(values, room, old)

    def _widen(self, tensor: Any, room: int, old: bool) -> Any:
        _, heads, _, width = tensor.shape
        made = self._torch.zeros((self.width, heads, room, width), dtype=tensor.dtype, device=tensor.device)
        if old:
            places = min(self.width, tensor.shape[0])
            made[:places, :, : tensor.shape[2]] = tensor[:places]
        return made


class _Layer:
    """Keys and values of one layer, as the library's own memories have them."""

    is_initialized = True
    is_sliding = False

    def __init__(self) -> None:
        self.keys: Any = None
        self.values: Any = None
        self.at: Any = None
        self.seen = 0

    def update(self, keys: Any, values: Any, *_: Any, **__: Any) -> tuple[Any, Any]:
        """Write what is new into each place; everything that is there."""
        places, lengths = self.at
        used = places.shape[0]
        self.keys[places, :, lengths] = keys[:, :, 0]
        self.values[places, :, lengths] = values[:, :, 0]
        return self.keys[:used, :, : self.seen], self.values[:used, :, : self.seen]

    def get_seq_length(self) -> int:
        """Return the number of tokens in the longest place."""
        return self.seen - 1

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Return how many places can be looked at, and the first of them."""
        return self.seen, 0

    def get_max_length(self) -> int:
        """Return -1: there is no largest one."""
        return -1
