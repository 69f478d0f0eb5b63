"""Blocks of shares and amounts, as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from simulator.blocks import Cell, Look, Words


class BarRow(NamedTuple):
    """A name, a share from 0 to 1 for each column, and what is said of a row that stands out."""

    name: Words
    shares: Sequence[float]
    badge: Words = ""


class Bars(NamedTuple):
    """Rows of bars over the same columns, and rows of letters below them.

    Attributes:
        rows: of bars.
        strips: names, and a cell of one or two letters for each column.
        label: what the bars say, for screen readers.
    """

    rows: Sequence[BarRow]
    strips: Sequence[tuple[Words, Sequence[Cell]]]
    label: Words


class Amount(NamedTuple):
    """A name and how much of it there is.

    Attributes:
        name: of it, in the item's language or the page's.
        share: of the longest bar, from 0 to 1.
        value: how much, as people read it.
        note: beside the name.
        badge: what is said of one that stands out.
        look: ``right`` or ``strong`` sets it off, ``wrong`` in another way.
    """

    name: Words
    share: float
    value: str
    note: Words = ""
    badge: Words = ""
    look: Look = ""


class Amounts(NamedTuple):
    """Amounts as bars on one scale.

    Attributes:
        rows: from above.
        head: what names and values are, for screen readers.
    """

    rows: Sequence[Amount]
    head: tuple[Words, Words]
