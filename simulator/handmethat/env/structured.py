"""What the robot sees as arrays, a row per entity, for networks that need no words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from simulator.errors import InputError
from simulator.handmethat.env.sight import visible
from simulator.handmethat.hierarchy import STATES, hierarchy
from simulator.handmethat.views import Mode
from simulator.handmethat.world import HUMAN, BitSet, State, World

# More than any household that the rules of sampling allow.
MOST_ENTITIES: Final = 448
_FIRST: Final = State._fields.index(STATES[0])
_NOWHERE: Final = 255
Arrays = dict[str, Any]


def structured_space(task: spaces.Space[str]) -> spaces.Dict:
    """The space of `StructuredObserver.arrays` with the task's words beside it.

    Rows are entities in the order of creation; those not visible, and those beyond the household, are 0
    (``place``: -1). ``kind`` is 1 + the type's number in tables/objects.yaml, ``color`` and ``size`` 1 + the
    value's number, ``states`` one column per state, ``place`` the row of the container or -1 for none,
    ``given`` what the human holds. ``at`` is the row of the place where the robot stands, ``holding`` the
    row of what it holds; `MOST_ENTITIES` stands for the human, and for nothing.
    """
    n, table = MOST_ENTITIES, hierarchy()
    return spaces.Dict(
        {
            "kind": spaces.Box(0, len(table.kinds), (n,), np.int16),
            "color": spaces.Box(0, len(table.colors), (n,), np.int8),
            "size": spaces.Box(0, len(table.sizes), (n,), np.int8),
            "states": spaces.Box(0, 1, (n, len(STATES)), np.int8),
            "place": spaces.Box(-1, n - 1, (n,), np.int16),
            "visible": spaces.Box(0, 1, (n,), np.int8),
            "given": spaces.Box(0, 1, (n,), np.int8),
            "at": spaces.Discrete(n + 1),
            "holding": spaces.Discrete(n + 1),
            "task": task,
        }
    )


class StructuredObserver:
    """Puts states of one household into arrays.

    Args:
        world: the household.
        mode: what the robot sees.
        quirk: see `sight.visible`.

    Raises:
        InputError: if the household has more than `MOST_ENTITIES`.
    """

    def __init__(self, world: World, mode: Mode, *, quirk: bool = False) -> None:
        if len(world) > MOST_ENTITIES:
            raise InputError(
                f"A household of {len(world)} entities: structured observations hold {MOST_ENTITIES}."
            )
        self._world, self._mode, self._quirk = world, mode, quirk
        table, numbers = hierarchy(), _numbers()
        self._fixed: dict[str, NDArray[Any]] = {
            "kind": _padded([numbers.get(kind.name, 0) for kind in world.kinds], np.int16),
            "color": _padded([_number(table.colors, value) for value in world.colors], np.int8),
            "size": _padded([_number(table.sizes, value) for value in world.sizes], np.int8),
        }

    def arrays(self, state: State) -> Arrays:
        """The arrays of `structured_space`, without ``task``."""
        seen = _array(visible(self._world, state, self._mode, quirk=self._quirk))
        place = np.full(MOST_ENTITIES, -1, np.int16)
        where, count = np.frombuffer(state.place, np.uint8).astype(np.int16), len(self._world)
        place[:count] = np.where((where == _NOWHERE) | (seen[:count] == 0), -1, where)
        bits: tuple[BitSet, ...] = state[_FIRST : _FIRST + len(STATES)]  # type: ignore[assignment]
        arrays: Arrays = {key: values * seen.astype(values.dtype) for key, values in self._fixed.items()}
        return arrays | {
            "states": np.stack([_array(field) for field in bits], axis=1) * seen[:, None],
            "place": place,
            "visible": seen,
            "given": _array(state.given) * seen,
            "at": np.int64(MOST_ENTITIES if state.at == HUMAN else state.at),
            "holding": np.int64(MOST_ENTITIES if state.holding < 0 else state.holding),
        }


@cache
def _numbers() -> Mapping[str, int]:
    return {name: number for number, name in enumerate(hierarchy().kinds, start=1)}


def _array(bits: BitSet) -> NDArray[np.int8]:
    """A bit set as an array of 0 and 1, `MOST_ENTITIES` long."""
    raw = np.frombuffer(bits.to_bytes(MOST_ENTITIES // 8, "little"), np.uint8)
    return np.unpackbits(raw, bitorder="little").astype(np.int8)


def _padded(values: Sequence[int], dtype: type[np.int8] | type[np.int16]) -> NDArray[Any]:
    found = np.zeros(MOST_ENTITIES, dtype)
    found[: len(values)] = values
    return found


def _number(options: Sequence[str], value: str | None) -> int:
    return 0 if value is None else 1 + options.index(value)
