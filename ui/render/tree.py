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
    """The whole tree, the opening as its root; the root is given once the dialogue has been opened."""
    root = ProviderNode(OPENING, opening, None, "given" if opened else "available")
    return Branch(root, _under(None, nodes))


def _under(parent: str | None, nodes: Sequence[ProviderNode]) -> tuple[Branch, ...]:
    return tuple(
        Branch(node, _under(node.index, nodes)) for node in nodes if _parent(node.index) == parent
    )


def _parent(index: str) -> str | None:
    head, dot, _ = index.rpartition(".")
    return head if dot else None
