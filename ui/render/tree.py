"""A tree of answers: its shape drawn small, and how it was given turn by turn."""

from __future__ import annotations

import json
from dataclasses import dataclass

from simulator.tree_blocks import TreeNode, TreeReplay


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


def small_map(root: TreeNode) -> Map:
    """Return leaves side by side, every parent above the middle of its children."""
    dots: list[Dot] = []
    leaves = 0
    deepest = 0

    def place(node: TreeNode, depth: int) -> float:
        nonlocal leaves, deepest
        deepest = max(deepest, depth)
        below = [(child, place(child, depth + 1)) for child in node.children]
        if below:
            x = (below[0][1] + below[-1][1]) / 2
        else:
            x = MARGIN + STEP_X * leaves
            leaves += 1
        y = MARGIN + STEP_Y * depth
        dots.extend(Dot(child.index, at, y + STEP_Y, (x, y)) for child, at in below)
        return x

    x = place(root, 0)
    dots.append(Dot(root.index, x, MARGIN, None))
    return Map(2 * MARGIN + STEP_X * (leaves - 1), 2 * MARGIN + STEP_Y * deepest, tuple(reversed(dots)))


def steps_data(block: TreeReplay) -> str:
    """Return JSON for the browser: per turn, which nodes it gave and which could be given after it."""
    return json.dumps([{"gave": list(turn.gave), "available": list(turn.available)} for turn in block.turns])
