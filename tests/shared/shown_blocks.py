"""The blocks of a page, for tests that ask what people see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from simulator.blocks import Card
from simulator.drawn_blocks import Tree, TreeNode


def in_cards(view: Any, kind: type[Any]) -> list[Any]:
    """Return the blocks of a kind that stand in a view's cards."""
    inside = [block for card in view.blocks if isinstance(card, Card) for block in card.blocks]
    return [block for block in inside if isinstance(block, kind)]


def tree_states(view: Any) -> dict[str, str]:
    """Return the state of each node of a view's tree, the root's first; nothing if it shows none."""
    return {node.index: node.state for tree in in_cards(view, Tree) for node in _nodes(tree.root)}


def _nodes(node: TreeNode) -> Iterator[TreeNode]:
    yield node
    for child in node.children:
        yield from _nodes(child)
