"""How many uncertainties and how deep: a task set's statistics (paper Table I, spec section 2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from trees.model import Task


@dataclass(frozen=True)
class Statistics:
    """Numbers of tasks.

    Attributes:
        tasks: in all.
        uncertainties: by number of nodes, the opening not counted.
        depth: by depth of the deepest node.
    """

    tasks: int
    uncertainties: Mapping[int, int]
    depth: Mapping[int, int]

    def __str__(self) -> str:
        return f"{self.tasks} tasks; uncertainties {_spell(self.uncertainties)}; depth {_spell(self.depth)}"


PUBLISHED = Statistics(
    tasks=310,
    uncertainties={2: 1, 3: 56, 4: 123, 5: 95, 6: 35},
    depth={1: 166, 2: 124, 3: 18, 4: 2},
)
"""The published data, in either language."""


def statistics(tasks: Iterable[Task]) -> Statistics:
    """Return the statistics of `tasks`."""
    trees = [task.tree for task in tasks]
    uncertainties = Counter(tree.uncertainties for tree in trees)
    depth = Counter(tree.depth for tree in trees)
    return Statistics(len(trees), dict(sorted(uncertainties.items())), dict(sorted(depth.items())))


def differences(statistics: Statistics, expected: Statistics = PUBLISHED) -> tuple[str, ...]:
    """Return what differs from what is expected, a phrase each; empty if nothing does."""
    return tuple(_differences(statistics, expected))


def _differences(statistics: Statistics, expected: Statistics) -> Iterator[str]:
    if statistics.tasks != expected.tasks:
        yield f"{statistics.tasks} tasks instead of {expected.tasks}"
    for what, here, there in (
        ("uncertainties", statistics.uncertainties, expected.uncertainties),
        ("depth", statistics.depth, expected.depth),
    ):
        for value in sorted(here.keys() | there.keys()):
            if here.get(value, 0) != there.get(value, 0):
                yield f"{what} {value}: {here.get(value, 0)} tasks instead of {there.get(value, 0)}"


def _spell(counts: Mapping[int, int]) -> str:
    return ", ".join(f"{value}:{count}" for value, count in counts.items())
