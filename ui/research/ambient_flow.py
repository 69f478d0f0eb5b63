"""How far examples are, as a flow from left to right (the idea of the paper's Fig. 2), with live counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from simulator.ambient.annotation.consolidation import Flow
from ui.i18n import Strings

_HEIGHT: Final = 190.0
_BAR: Final = 16.0
_COLUMNS: Final = (8.0, 236.0, 464.0, 692.0)
_LABEL: Final = 200.0
_SLOT: Final = 46.0
_TOP: Final = 10.0
_LEAST: Final = 2.0


@dataclass(frozen=True, slots=True)
class Node:
    """A bar with its name and number; `y` and `height` in units of the drawing."""

    name: str
    text: str
    count: int
    x: float
    y: float
    height: float

    @property
    def middle(self) -> float:
        """Where its name stands."""
        return self.y + max(self.height, _SLOT - 10) / 2 if self.height < _SLOT else self.y + self.height / 2


@dataclass(frozen=True, slots=True)
class Band:
    """What goes from one bar to another, as the path of an area."""

    path: str
    to: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """The whole; `said` in words, for those who do not see it."""

    nodes: tuple[Node, ...]
    bands: tuple[Band, ...]
    width: float
    height: float
    said: str
    bar: float = _BAR


def drawing(t: Strings, counts: Flow) -> Drawing:
    """Return the diagram of a run."""
    kept = counts.annotated - counts.dropped
    columns: tuple[tuple[tuple[str, int], ...], ...] = (
        (("generated", counts.generated),),
        (("annotated", counts.annotated), ("waiting", counts.generated - counts.annotated)),
        (("kept", kept), ("dropped", counts.dropped)),
        (
            ("validated", counts.validated),
            ("due", counts.due),
            ("discuss", counts.discuss),
            ("discarded", counts.discarded),
        ),
    )
    unit = _HEIGHT / max(counts.generated, 1)
    nodes = [_column(t, counts, x, unit) for counts, x in zip(columns, _COLUMNS, strict=True)]
    bands = [
        band
        for place, column in enumerate(nodes[1:])
        for band in _bands(nodes[place][0], column, unit)
        if band is not None
    ]
    flat = tuple(node for column in nodes for node in column)
    bottom = max(node.y + max(node.height, _SLOT - 8) for node in flat)
    description = "; ".join(f"{node.text} {node.count}" for node in flat)
    return Drawing(flat, tuple(bands), _COLUMNS[-1] + _BAR + _LABEL, bottom + _TOP, description)


def _column(t: Strings, counts: Sequence[tuple[str, int]], x: float, unit: float) -> list[Node]:
    made, y = [], _TOP
    for name, count in counts:
        height = max(count * unit, _LEAST)
        made.append(Node(name, t(f"research.ambient.flow.{name}"), count, x, round(y, 1), round(height, 1)))
        y += max(height, _SLOT - 8) + 8
    return made


def _bands(source: Node, nodes: Sequence[Node], unit: float) -> list[Band | None]:
    """Return the bands from a bar to those of the next column, one below the other."""
    made: list[Band | None] = []
    left, right = source.x + _BAR, nodes[0].x
    bend = (left + right) / 2
    top = source.y
    for node in nodes:
        height = node.count * unit
        if not node.count:
            continue
        low, end = top + height, node.y + height
        made.append(
            Band(
                f"M{left:g} {top:.1f}C{bend:g} {top:.1f} {bend:g} {node.y:.1f} {right:g} {node.y:.1f}"
                f"V{end:.1f}C{bend:g} {end:.1f} {bend:g} {low:.1f} {left:g} {low:.1f}Z",
                node.name,
            )
        )
        top = low
    return made
