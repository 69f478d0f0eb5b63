"""Colours and strokes of figures, on light and dark backgrounds.

The eight colours have pairwise CIEDE2000 distances of at least 13, with normal and with protan, deutan and
tritan vision (Machado et al. 2009, full severity). Series also differ by marker, and from the ninth on by
dash and hatch, so they can be told apart without colour.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

FONT: Final = (
    'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", Arial, "PingFang SC", '
    '"Hiragino Sans GB", "Microsoft YaHei", "Noto Sans CJK SC", "Source Han Sans SC", sans-serif'
)
"""Fonts of pages."""
# Liberation Sans has Arial's widths: an SVG laid out with one reads the same with the other.
_LATIN: Final = "Arial, Liberation Sans, DejaVu Sans, sans-serif"
_CHINESE: Final = (
    "Noto Sans CJK SC, Noto Sans CJK JP, Noto Sans SC, Source Han Sans SC, PingFang SC, Hiragino Sans GB, "
    "Microsoft YaHei, WenQuanYi Micro Hei"
)
COLOURS: Final = ("teal", "clay", "blue", "gold", "plum", "rose", "grey", "ink")


@dataclass(frozen=True, slots=True)
class Look:
    """A palette for one background, each colour as ``#rrggbb``.

    Attributes:
        ground: background.
        ink: titles and error bars.
        muted: axis labels and levels.
        line: grid lines.
        axis: axes and ticks.
        series: colour name (`COLOURS`) -> colour on this background.
    """

    ground: str
    ink: str
    muted: str
    line: str
    axis: str
    series: dict[str, str]

    def colour(self, name: str) -> str:
        """Return the colour of a name; a ``#rrggbb`` is returned unchanged."""
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

DASHES: Final = {"solid": [1, 0], "dashed": [6, 3], "dotted": [2, 2.5]}
"""Name of a dash -> lengths of its strokes and gaps."""
MARKERS: Final = {
    "circle": "M-1,0A1,1,0,1,1,1,0A1,1,0,1,1,-1,0Z",
    "square": "M-.9,-.9H.9V.9H-.9Z",
    "diamond": "M0,-1.3L1.2,0L0,1.3L-1.2,0Z",
    "triangle-up": "M0,-1.2L1.15,.9H-1.15Z",
    "triangle-down": "M0,1.2L1.15,-.9H-1.15Z",
    "cross": "M-.4,-1.2H.4V-.4H1.2V.4H.4V1.2H-.4V.4H-1.2V-.4H-.4Z",
    "x": "M0,-.5L.7,-1.2L1.2,-.7L.5,0L1.2,.7L.7,1.2L0,.5L-.7,1.2L-1.2,.7L-.5,0L-1.2,-.7L-.7,-1.2Z",
    "star": "M0,-1.5L.4,-.5L1.45,-.45L.6,.2L.9,1.2L0,.65L-.9,1.2L-.6,.2L-1.45,-.45L-.4,-.5Z",
}
"""Name of a marker -> its SVG path; all look equally large."""
BOX: Final = "M-1.3,-1.3H1.3V1.3H-1.3Z"
"""The path of bars in the legend."""
RULE: Final = "M-2.8,0H2.8"
"""The path of lines in the legend, below their marker."""

_HEX: Final = re.compile(r"#[0-9a-fA-F]{6}")


class Stroke(NamedTuple):
    """The style of a series in all panels.

    Attributes:
        colour: a name in `COLOURS`, or ``#rrggbb``.
        marker: one of `MARKERS`.
        dash: one of `DASHES`.
    """

    colour: str
    marker: str
    dash: str
    hatched: bool


def print_font(chinese: bool) -> str:
    """Return fonts for print, in which a figure with Chinese has a single one for all its texts."""
    return f"{_CHINESE}, {_LATIN}" if chinese else _LATIN


def is_colour(text: str) -> bool:
    """Return True if a mark may have this colour: a name in `COLOURS`, ``muted``, or ``#rrggbb``."""
    return text in (*COLOURS, "muted") or bool(_HEX.fullmatch(text))


def strokes(series: Iterable[tuple[str, str | None, str]]) -> dict[str, Stroke]:
    """Return the stroke of each series by name; unset colours cycle through those not set by any series.

    Args:
        series: the distinct names in order, each with its colour (None if unset) and dash.
    """
    series = list(series)
    taken = {colour for _, colour, _ in series}
    free = [colour for colour in COLOURS if colour not in taken] or list(COLOURS)
    dashes = [*DASHES]
    by_name: dict[str, Stroke] = {}
    assigned = 0
    for place, (name, colour, dash) in enumerate(series):
        cycle = 0
        if colour is None:
            cycle, index = divmod(assigned, len(free))
            colour, assigned = free[index], assigned + 1
        cycled_dash = dashes[(dashes.index(dash) + cycle) % len(dashes)]
        by_name[name] = Stroke(colour, [*MARKERS][place % len(MARKERS)], cycled_dash, cycle % 2 == 1)
    return by_name


def luminance(colour: str) -> float:
    """Return the relative luminance of ``#rrggbb`` (WCAG 2), from 0 to 1."""
    parts = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def text_on(colour: str) -> str:
    """Return white or ink, whichever has more contrast with a colour."""
    light = luminance(colour)
    return "#ffffff" if 1.05 / (light + 0.05) >= (light + 0.05) / (luminance(LIGHT.ink) + 0.05) else LIGHT.ink
