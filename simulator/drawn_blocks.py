"""Blocks that are drawn: shares and amounts as bars, and trees of answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from simulator.benchmark import Move

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


NodeState = Literal["available", "given", "locked"]


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A node of a tree of answers, and the nodes below it.

    Attributes:
        index: its name in moves.
        label: what people see as its name.
        text: what is said when it is given.
        note: what it is about.
        state: whether it may be given now.
        children: the nodes that can be given after it.
    """

    index: str
    label: Words
    text: str
    note: str
    state: NodeState
    children: Sequence[TreeNode] = ()


class Tree(NamedTuple):
    """A tree whose available nodes can be given, as they are or with words around them.

    Attributes:
        root: of the tree.
        hint: what to do, beside the place for a reply.
        several: True if one turn may give more than one.
    """

    root: TreeNode
    hint: Words = ""
    several: bool = False


class ReplayTurn(NamedTuple):
    """A turn of a conversation that is over.

    Attributes:
        move: as it was made.
        did: what it did, in a few words.
        why: the reasons.
        choices: what else could have been done.
        gave: the nodes that it gave.
        available: the nodes that could be given after it.
    """

    move: Move
    did: Words = ""
    why: Sequence[Words] = ()
    choices: Words = ""
    gave: Sequence[str] = ()
    available: Sequence[str] = ()


class TreeReplay(NamedTuple):
    """A conversation that is over, to go through turn by turn beside the tree that its answers came from."""

    turns: Sequence[ReplayTurn]
    root: TreeNode
