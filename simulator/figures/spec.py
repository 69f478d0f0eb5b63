"""Descriptions of figures: panels of lines, bars and levels, as plain values.

A figure is checked on construction: what could not be drawn completely and correctly raises a `ValueError`
that names the mark, or its type and field. Sequences (lists, arrays) are stored as tuples of plain numbers,
so figures with equal values compare equal.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Final, Literal, TypeAlias

import numpy as np
from pydantic import AfterValidator, AllowInfNan, BeforeValidator, Field, Strict
from pydantic.dataclasses import dataclass

from simulator.figures.look import COLOURS, is_colour
from simulator.stats import Interval

# By rounding error, a mean of equal values may lie just outside its interval.
TOLERANCE: Final = 1e-9
# Shares rounded to two digits add up to 1 within this.
ROUNDED: Final = 0.011


def _as_tuple(values: Any) -> Any:
    """Return a sequence as a tuple of Python's own numbers, and anything else unchanged."""
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        return values
    return tuple(value.item() if isinstance(value, np.generic) else value for value in values)


def _as_python(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _check_colour(colour: str) -> str:
    if not is_colour(colour):
        raise ValueError(f"{colour!r} is neither a known colour ({', '.join(COLOURS)}, muted) nor #rrggbb")
    return colour


def _check_ascending(ends: tuple[float, float]) -> tuple[float, float]:
    if ends[0] >= ends[1]:
        raise ValueError("must be two ascending numbers")
    return ends


Style = Literal["solid", "dashed", "dotted"]
Name = Annotated[str, Field(pattern=r"\S")]
Colour = Annotated[str, AfterValidator(_check_colour)]
Number = Annotated[int, Strict()] | Annotated[float, Strict(), AllowInfNan(False)]
Numbers = Annotated[Sequence[Number], BeforeValidator(_as_tuple), Field(min_length=1)]
Categories = Annotated[Sequence[str], BeforeValidator(_as_tuple), Field(min_length=1)]
Count = Annotated[int, Strict(), Field(ge=0)]
Counts = Annotated[Count | Sequence[Count], BeforeValidator(_as_tuple)]
Range: TypeAlias = tuple[float, float]
Ends = Annotated[tuple[Number, Number], AfterValidator(_check_ascending)]


@dataclass(frozen=True, slots=True)
class Line:
    """A curve, with a shaded band if it has intervals.

    Attributes:
        name: in the legend; a name is drawn the same way in all panels.
        x: positions, ascending.
        colour: a name in `look.COLOURS`, ``muted``, or ``#rrggbb``; chosen if None.
        n: number of observations of all values, or of each.
    """

    name: Name
    x: Numbers
    y: Numbers
    low: Numbers | None = None
    high: Numbers | None = None
    style: Style = "solid"
    colour: Colour | None = None
    n: Counts | None = None

    def __post_init__(self) -> None:
        _check_values(self, len(self.x))
        if any(b <= a for a, b in zip(self.x, self.x[1:], strict=False)):
            raise ValueError(f"{self.name!r}: x must ascend, each value once")


@dataclass(frozen=True, slots=True)
class Bars:
    """One bar per category, with whiskers if it has intervals; several `Bars` are drawn side by side.

    Attributes:
        name: in the legend.
        categories: distinct labels of the bars; the series has no bar for a category left out.
        n: number of observations of all bars, or of each.
        colour: as in `Line`.
    """

    name: Name
    categories: Categories
    y: Numbers
    low: Numbers | None = None
    high: Numbers | None = None
    n: Counts | None = None
    colour: Colour | None = None

    def __post_init__(self) -> None:
        _require_distinct(self.categories, f"{self.name!r}: two categories are called")
        _check_values(self, len(self.categories))

    @classmethod
    def from_intervals(
        cls, name: str, intervals: Iterable[tuple[str, Interval]], *, counted: bool = True
    ) -> Bars:
        """Return bars from (category, interval) pairs; `counted`: include the number of observations."""
        categories, values = zip(*intervals, strict=True)
        low, high = zip(*(value.reach for value in values), strict=True)
        n = [value.n for value in values] if counted else None
        return cls(name, categories, [value.value for value in values], low, high, n)


@dataclass(frozen=True, slots=True)
class Stacked:
    """One part of a stacked bar per category; the `Stacked` of a panel add up to 1 in each category.

    Attributes:
        categories: distinct labels of the bars.
        y: the part's share of each bar, from 0 to 1.
        n: number of observations of all bars, or of each.
        colour: as in `Line`.
    """

    name: Name
    categories: Categories
    y: Numbers
    n: Counts | None = None
    colour: Colour | None = None

    def __post_init__(self) -> None:
        _require_distinct(self.categories, f"{self.name!r}: two categories are called")
        _check_values(self, len(self.categories))
        if any(not 0 <= share <= 1 + TOLERANCE for share in self.y):
            raise ValueError(f"{self.name!r}: y must be shares from 0 to 1")


@dataclass(frozen=True, slots=True)
class Level:
    """A horizontal line across a panel, such as the level of chance.

    Attributes:
        colour: as in `Line`; ``muted`` if None.
    """

    y: Annotated[Number, BeforeValidator(_as_python)]
    name: Name
    colour: Colour | None = None


Mark: TypeAlias = Line | Bars | Stacked | Level


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes.

    Attributes:
        title: unique in the figure.
        marks: marks of one type (lines, bars or stacked parts), and levels.
        y_range: range of the vertical axis, which must include all marks; computed if None.
        x_range: range of the horizontal axis, for lines only; computed if None.
        x_ticks: labelled positions of the horizontal axis, for lines only; chosen if None.
    """

    title: str
    x_label: str
    y_label: str
    marks: Annotated[Sequence[Mark], BeforeValidator(tuple)]
    y_range: Annotated[Ends | None, BeforeValidator(_as_tuple)] = (0, 1)
    x_range: Annotated[Ends | None, BeforeValidator(_as_tuple)] = None
    x_ticks: Numbers | None = None

    def __post_init__(self) -> None:
        panel = f"panel {self.title!r}"
        kinds = dict.fromkeys(type(mark).__name__ for mark in self.marks if not isinstance(mark, Level))
        if len(kinds) != 1:
            present = " and ".join(kinds) or "none"
            raise ValueError(f"{panel}: needs marks of one kind (Line, Bars or Stacked), but has {present}")
        _require_distinct([mark.name for mark in self.marks], f"{panel}: two marks have the name")
        if "Line" not in kinds and (self.x_range is not None or self.x_ticks is not None):
            raise ValueError(f"{panel}: x_range and x_ticks are for lines")
        totals: defaultdict[str, float] = defaultdict(float)
        for mark in self.marks:
            _require_inside(extent(mark), self.y_range, f"{panel}, {mark.name!r}: y", "y_range")
            if isinstance(mark, Line):
                _require_inside(mark.x, self.x_range, f"{panel}, {mark.name!r}: x", "x_range")
            if isinstance(mark, Stacked):
                for category, share in zip(mark.categories, mark.y, strict=True):
                    totals[category] += share
        for category, total in totals.items():
            if abs(total - 1) > ROUNDED:
                raise ValueError(f"{panel}: the parts of {category!r} add up to {total:.4g}, not to 1")


@dataclass(frozen=True, slots=True)
class Figure:
    """Panels in a grid, filled row by row, with one legend.

    Attributes:
        name: valid as a file name and as an HTML id.
        columns: number of columns of the grid; chosen if None.
    """

    name: Annotated[str, Field(pattern=r"^\w[\w.-]*$")]
    title: str
    panels: Annotated[Sequence[Panel], BeforeValidator(tuple), Field(min_length=1)]
    caption: str = ""
    columns: Annotated[int | None, Field(ge=1)] = None

    def __post_init__(self) -> None:
        figure = f"figure {self.name!r}"
        _require_distinct([panel.title for panel in self.panels], f"{figure}: two panels have the title")
        if self.columns is not None and self.columns > len(self.panels):
            raise ValueError(f"{figure}: columns must be from 1 to {len(self.panels)}, not {self.columns}")
        looks: dict[str, tuple[str | None, str]] = {}
        for mark in (mark for panel in self.panels for mark in panel.marks):
            look = (mark.colour, getattr(mark, "style", ""))
            if looks.setdefault(mark.name, look) != look:
                raise ValueError(
                    f"{figure}: {mark.name!r} has two colours or styles; the legend can show only one"
                )

    def plain(self) -> dict[str, Any]:
        """Return the figure as plain JSON values; each mark has its type under ``mark``."""
        panels = [
            {
                **asdict(panel),
                "marks": [{"mark": type(mark).__name__.lower(), **asdict(mark)} for mark in panel.marks],
            }
            for panel in self.panels
        ]
        return {**asdict(self), "panels": panels}


def extent(mark: Mark) -> tuple[float, ...]:
    """Return all values that a mark covers, including the ends of its intervals."""
    if isinstance(mark, Level):
        return (mark.y,)
    if isinstance(mark, Stacked):
        return (0, 1)
    from_zero = (0.0,) if isinstance(mark, Bars) else ()
    return (*from_zero, *mark.y, *(mark.low or ()), *(mark.high or ()))


def points(mark: Mark) -> list[dict[str, Any]]:
    """Return the values of a mark: x or category, y, and low, high and n if it has them."""
    if isinstance(mark, Level):
        return [{"y": mark.y}]
    heading, places = ("x", mark.x) if isinstance(mark, Line) else ("category", mark.categories)
    columns: dict[str, Any] = {heading: places, "y": mark.y}
    for name in ("low", "high"):
        if getattr(mark, name, None) is not None:
            columns[name] = getattr(mark, name)
    if mark.n is not None:
        columns["n"] = mark.n if isinstance(mark.n, tuple) else (mark.n,) * len(mark.y)
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _check_values(mark: Line | Bars | Stacked, length: int) -> None:
    """Raise `ValueError` if a field has another length than x, or a value is outside its interval."""
    low, high = getattr(mark, "low", None), getattr(mark, "high", None)
    for field, values in (("y", mark.y), ("low", low), ("high", high), ("n", mark.n)):
        if isinstance(values, tuple) and len(values) != length:
            raise ValueError(f"{mark.name!r}: {field} has {len(values)} values for {length} positions")
    if (low is None) != (high is None):
        raise ValueError(f"{mark.name!r}: an interval needs both low and high")
    for place, (a, y, b) in enumerate(zip(low or (), mark.y, high or (), strict=False)):
        if not a - TOLERANCE <= y <= b + TOLERANCE:
            raise ValueError(f"{mark.name!r}: y[{place}] = {y} is not between low {a} and high {b}")


def _require_distinct(names: Iterable[Hashable], message: str) -> None:
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise ValueError(f"{message} {name!r}")


def _require_inside(values: Sequence[float], within: Range | None, label: str, field: str) -> None:
    if within is None:
        return
    for value in values:
        if not within[0] - TOLERANCE <= value <= within[1] + TOLERANCE:
            raise ValueError(f"{label} reaches {value}, outside {field} {within}; widen it, or give None")
