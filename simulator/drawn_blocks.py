"""Graphical blocks: bars of shares and amounts, and trees of answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from simulator.benchmark import Move

if TYPE_CHECKING:
    from simulator.blocks import Cell, Look, Words


class BarRow(NamedTuple):
    """A name, a share from 0 to 1 for each column, and a badge for a row that stands out."""

    name: Words
    shares: Sequence[float]
    badge: Words = ""


class Bars(NamedTuple):
    """Rows of bars over the same columns, and rows of letters below them.

    Attributes:
        strips: pairs of a name and, for each column, a cell of one or two letters.
        label: a description of the bars, for screen readers.
    """

    rows: Sequence[BarRow]
    strips: Sequence[tuple[Words, Sequence[Cell]]]
    label: Words


class Amount(NamedTuple):
    """A named amount.

    Attributes:
        name: the name, in the item's language or the page's.
        share: the length, as a share of the longest bar, from 0 to 1.
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
        head: the headings of names and values, for screen readers.
    """

    rows: Sequence[Amount]
    head: tuple[Words, Words]


NodeState = Literal["available", "given", "locked"]


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A node of a tree of answers, and the nodes below it.

    Attributes:
        index: the name in moves.
        text: the answer that it gives.
        children: the nodes that become available after it.
    """

    index: str
    label: Words
    text: str
    note: str
    state: NodeState
    children: Sequence[TreeNode] = ()


class Tree(NamedTuple):
    """A tree whose available nodes can be given as answers, verbatim or in other words.

    Attributes:
        hint: instructions, next to the input.
        several: True if one turn may give several nodes.
    """

    root: TreeNode
    hint: Words = ""
    several: bool = False


class ReplayTurn(NamedTuple):
    """A turn of a finished conversation.

    Attributes:
        did: what it did, in a few words.
        gave: the nodes that it gave.
        available: the nodes that were available after it.
    """

    move: Move
    did: Words = ""
    why: Sequence[Words] = ()
    choices: Words = ""
    gave: Sequence[str] = ()
    available: Sequence[str] = ()


class TreeReplay(NamedTuple):
    """A finished conversation, to go through turn by turn next to the tree of its answers."""

    turns: Sequence[ReplayTurn]
    root: TreeNode
