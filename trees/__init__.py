"""Response trees: data model and traversal, file readers, checks, and the built-in tasks."""

from trees.model import OPENING, Background, Frontier, Language, Node, Task, Tree, index_key

__all__ = [
    "OPENING",
    "Background",
    "Frontier",
    "Language",
    "Node",
    "Task",
    "Tree",
    "index_key",
]
