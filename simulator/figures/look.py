"""Colours, strokes and fonts of the house's figures, on light and on dark ground.

The eight colours keep a CIEDE2000 distance of at least 13 from each other, seen with normal and with
protan, deutan and tritan vision (Machado et al. 2009, full severity). Names differ by marker as well, and
after eight of them by dash and hatch, so nothing hangs on colour alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

COLOURS: Final = ("teal", "clay", "blue", "gold", "plum", "rose", "grey", "ink")


@dataclass(frozen=True, slots=True)
class Look:
    """Colours of one ground, each ``#rrggbb``.

    Attributes:
        ground: behind the figure.
        ink: of titles and of error bars.
        muted: of axis labels and levels.
        line: of the grid.
        axis: of axes and ticks.
        series: the house's colour names -> what they are on this ground.
    """

    ground: str
    ink: str
    muted: str
    line: str
    axis: str
    series: dict[str, str]

    def colour(self, name: str) -> str:
        """Return a colour of the house by its name; what is no name is a colour already."""
        return self.muted if name == "muted" else self.series.get(name, name)


LIGHT: Final = Look(
    ground="#ffffff",
    ink="#2a2520",
    muted="#655c52",
    line="#ece6db",
    axis="#9a8f80",
    series={
        "teal": "#1f6a5c",
        "clay": "#bc4a0f",
        "blue": "#51a1e5",
        "gold": "#ccb223",
        "plum": "#692ba1",
        "rose": "#d36e9c",
        "grey": "#91866d",
        "ink": "#2a2520",
    },
)
DARK: Final = Look(
    ground="#221e1a",
    ink="#f0e9de",
    muted="#b7ab9c",
    line="#3b342c",
    axis="#7d7264",
    series={
        "teal": "#2e9a8b",
        "clay": "#e5620b",
        "blue": "#9dd2f7",
        "gold": "#ffd810",
        "plum": "#c15ae3",
        "rose": "#f48db5",
        "grey": "#877357",
        "ink": "#f0e9de",
    },
)

MARKERS: Final = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "star")
DASHES: Final = ("solid", "dashed", "dotted")

_HEX: Final = re.compile(r"#[0-9a-fA-F]{6}")


class Stroke(NamedTuple):
    """The stroke of a name in all panels.

    Attributes:
        colour: of the house, or ``#rrggbb``.
        marker: one of `MARKERS`.
        dash: one of `DASHES`.
    """

    colour: str
    marker: str
    dash: str
    hatched: bool


def is_colour(text: str) -> bool:
    """Return True if a mark may have this colour: a name of the house or ``#rrggbb``."""
    return text in (*COLOURS, "muted") or bool(_HEX.fullmatch(text))


def strokes(series: Iterable[tuple[str, str | None, str]]) -> dict[str, Stroke]:
    """Return how each name is drawn; colours go round in order, without those asked for by name.

    Args:
        series: name, colour asked for (or None) and dash of each, in order, every name once.
    """
    wanted = list(series)
    taken = {colour for _, colour, _ in wanted}
    free = [colour for colour in COLOURS if colour not in taken] or list(COLOURS)
    drawn: dict[str, Stroke] = {}
    chosen = 0
    for place, (name, colour, dash) in enumerate(wanted):
        times = 0
        if colour is None:
            times, index = divmod(chosen, len(free))
            colour, chosen = free[index], chosen + 1
        again = DASHES[(DASHES.index(dash) + times) % len(DASHES)]
        drawn[name] = Stroke(colour, MARKERS[place % len(MARKERS)], again, times % 2 == 1)
    return drawn


def luminance(colour: str) -> float:
    """Return relative luminance of ``#rrggbb`` (WCAG 2), 0 to 1."""
    parts = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def text_on(colour: str) -> str:
    """Return white or ink, whichever reads better on a colour."""
    light = luminance(colour)
    return "#ffffff" if 1.05 / (light + 0.05) >= (light + 0.05) / (luminance(LIGHT.ink) + 0.05) else LIGHT.ink
