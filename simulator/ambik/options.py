"""Actions that are offered to people where the data have none."""

from __future__ import annotations

from typing import Final

from simulator.ambik.items import DecideItem
from simulator.ambik.kitchen.options import alternatives, case_of

MOST: Final = 5
ENOUGH: Final = 3
"""With so many, none are made up of things of another kind."""


def kitchen_options(item: DecideItem) -> tuple[str, ...]:
    """Two to five actions that might be meant at the item's step, of the built-in robot's making.

    Nothing of what the data know of the answer goes into them, so the right one may be missing; they are the
    same for everybody, in an order that tells nothing: of their words.
    """
    return tuple(sorted(alternatives(case_of(item), MOST, ENOUGH)))
