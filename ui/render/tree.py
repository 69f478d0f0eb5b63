"""The tree of answers as nested branches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simulator.clarq.views import ProviderNode
from trees import OPENING


@dataclass(frozen=True, slots=True)
class Branch:
    """A node and the branches below it."""

    node: ProviderNode
    children: tuple[Branch, ...]


def branches(opening: str, opened: bool, nodes: Sequence[ProviderNode]) -> Branch:
    """Return the whole tree, the opening as its root; the root is given once the dialogue has been opened."""
    root = ProviderNode(OPENING, opening, None, "given" if opened else "available")
    return Branch(root, _under(None, nodes))


def _under(parent: str | None, nodes: Sequence[ProviderNode]) -> tuple[Branch, ...]:
    return tuple(Branch(node, _under(node.index, nodes)) for node in nodes if _parent(node.index) == parent)


@dataclass(frozen=True, slots=True)
class Dot:
    """A node on the small map: its place, and its parent's to draw the line to (the root has none)."""

    index: str
    x: float
    y: float
    parent: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Map:
    """The tree's shape, drawn small: width and height in units of the view box."""

    width: float
    height: float
    dots: tuple[Dot, ...]


STEP_X, STEP_Y, MARGIN = 44.0, 46.0, 20.0


def small_map(root: Branch) -> Map:
    """Return leaves side by side, every parent above the middle of its children."""
    dots: list[Dot] = []
    leaves = 0
    deepest = 0

    def place(branch: Branch, depth: int) -> float:
        nonlocal leaves, deepest
        deepest = max(deepest, depth)
        below = [(child, place(child, depth + 1)) for child in branch.children]
        if below:
            x = (below[0][1] + below[-1][1]) / 2
        else:
            x = MARGIN + STEP_X * leaves
            leaves += 1
        y = MARGIN + STEP_Y * depth
        dots.extend(Dot(child.node.index, at, y + STEP_Y, (x, y)) for child, at in below)
        return x

    x = place(root, 0)
    dots.append(Dot(root.node.index, x, MARGIN, None))
    return Map(2 * MARGIN + STEP_X * (leaves - 1), 2 * MARGIN + STEP_Y * deepest, tuple(reversed(dots)))


def _parent(index: str) -> str | None:
    head, dot, _ = index.rpartition(".")
    return head if dot else None
