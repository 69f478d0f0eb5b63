"""What a model in this process remembers of the beginnings that many prompts have in common.

A prompt of worked examples is the same for hundreds of items. It is read once; what the model keeps of each
of its tokens (keys and values of every layer) is held here, and the rest of each prompt is read after it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Final

# Keys and values of each layer, of shape (1, heads, tokens, width). They are never written to.
State = tuple[tuple[Any, Any], ...]

MOST_BYTES: Final = 2**30


class Heads:
    """States of prompts' beginnings by their tokens; those used longest ago leave first."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        """Keep nothing yet.

        Args:
            most: bytes kept at most; what is larger by itself is read and not kept.
        """
        self._most = most
        self._kept: OrderedDict[tuple[int, ...], State] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, ids: Sequence[int], read: Callable[[], State]) -> State:
        """The state after `ids`: a kept one, or else what `read` gives."""
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
    """Bytes of a state."""
    return sum(each.numel() * each.element_size() for pair in state for each in pair)
