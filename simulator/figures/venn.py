"""Venn diagrams of three sets with a count in each of the seven areas, for pages and print.

The circles have the same size, because no three circles have areas proportional to all seven counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Final

from simulator.figures.files import COLUMN
from simulator.figures.look import DARK, LIGHT, print_font
from simulator.figures.printed import save_picture, svg_text
from simulator.output_files import rows_as_csv
from simulator.stats import half_up

_RADIUS: Final = 92.0
_CENTRES: Final = ((142.0, 128.0), (238.0, 128.0), (190.0, 211.0))
_NAMES: Final = ((64.0, 30.0, "start"), (316.0, 30.0, "end"), (190.0, 327.0, "middle"))
_COLOURS: Final = ("clay", "teal", "blue")
# Membership in the three sets -> position of the area's number.
_PLACES: Final[Mapping[tuple[bool, bool, bool], tuple[float, float]]] = {
    (True, False, False): (103.0, 108.0),
    (False, True, False): (277.0, 108.0),
    (False, False, True): (190.0, 259.0),
    (True, True, False): (190.0, 92.0),
    (True, False, True): (133.0, 189.0),
    (False, True, True): (247.0, 189.0),
    (True, True, True): (190.0, 156.0),
}
_WIDTH: Final = 380.0
_HEIGHT: Final = 340.0
_AREAS: Final = 7


@dataclass(frozen=True, slots=True)
class Venn:
    """The number of elements in each combination of three sets.

    Attributes:
        sets: the names of the three sets: left, right, below.
        counts: membership in the three sets -> count, for all combinations except the empty one.

    Raises:
        ValueError: if there are not three different sets and seven counts.
    """

    name: str
    title: str
    sets: tuple[str, str, str]
    counts: Mapping[tuple[bool, bool, bool], int]
    caption: str = ""

    def __post_init__(self) -> None:
        if len(set(self.sets)) != len(_CENTRES):
            raise ValueError("a Venn diagram needs three different sets")
        if set(self.counts) != set(_PLACES) or any(count < 0 for count in self.counts.values()):
            raise ValueError(f"a Venn diagram needs {_AREAS} counts of 0 or more")

    @property
    def total(self) -> int:
        """The sum of all counts."""
        return sum(self.counts.values())

    def share(self, area: tuple[bool, bool, bool]) -> float:
        """Return the share of an area, from 0 to 1; 0 if all counts are 0."""
        return self.counts[area] / self.total if self.total else 0.0

    def area_name(self, area: tuple[bool, bool, bool]) -> str:
        """Return the names of an area's sets, joined by " + "."""
        return " + ".join(name for name, member in zip(self.sets, area, strict=True) if member)

    def svg(self, *, dark: bool = False) -> str:
        """Return the diagram as an SVG element with the counts in its description."""
        look = DARK if dark else LIGHT
        areas = "; ".join(f"{self.area_name(area)} {count}" for area, count in self.counts.items())
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" '
            f'class="venn" font-family="{print_font(chinese=False)}"><title>{escape(self.title)}</title>'
            f"<desc>{escape(areas)}</desc>"
        ]
        for (x, y), colour in zip(_CENTRES, _COLOURS, strict=True):
            fill = look.colour(colour)
            parts.append(
                f'<circle cx="{x:g}" cy="{y:g}" r="{_RADIUS:g}" fill="{fill}" fill-opacity=".2" '
                f'stroke="{fill}" stroke-width="2"/>'
            )
        for (x, y, anchor), name in zip(_NAMES, self.sets, strict=True):
            parts.append(svg_text(x, y, name, look.ink, 15, anchor, bold=True))
        for area, (x, y) in _PLACES.items():
            parts.append(svg_text(x, y, str(self.counts[area]), look.ink, 17, bold=True))
            parts.append(svg_text(x, y + 16, f"{half_up(100 * self.share(area), 1)} %", look.muted, 12))
        return "".join([*parts, "</svg>"])

    def csv(self) -> str:
        """Return the seven counts as CSV."""
        counted = ([*map(int, area), count, f"{self.share(area):.6f}"] for area, count in self.counts.items())
        return rows_as_csv([[*self.sets, "count", "share"], *counted])

    def save(self, path: Path | str, *, width: float = COLUMN) -> Path:
        """Write the diagram as ``.svg``, ``.png`` (300 dpi) or ``.csv``, by the path's suffix.

        Raises:
            InputError: if the suffix is another one, or the file cannot be written.
        """
        return save_picture(Path(path), self.svg(), self.csv(), width, self.caption or self.title)

    def plain(self) -> dict[str, Any]:
        """Return name, title, caption and counts (area name -> count) as plain values."""
        counts = {self.area_name(area): count for area, count in self.counts.items()}
        return {"name": self.name, "title": self.title, "caption": self.caption, "counts": counts}
