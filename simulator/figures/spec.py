"""What a figure is: panels of lines, bars and levels, as plain values that two libraries draw.

A figure is checked where it is made: what cannot be drawn whole, or would be drawn wrong, is a `ValueError`
that names the mark, or its kind and field. Sequences (lists, arrays) are kept as tuples of plain numbers, so
figures compare equal when their values do.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Final, Literal, TypeAlias

import numpy as np
from pydantic import AfterValidator, AllowInfNan, BeforeValidator, Field, Strict
from pydantic.dataclasses import dataclass

from simulator.figures.look import is_colour
from simulator.stats import Interval

# Bounds come out of floating-point sums: a mean of equal values may lie a last digit outside of its interval.
TOLERANCE: Final = 1e-9
# Shares that a table gives with two digits add up to 1 within this.
ROUNDED: Final = 0.011


def _as_tuple(values: Any) -> Any:
    """Return a sequence as a tuple, numpy's numbers as Python's; what is no sequence as it is."""
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        return values
    return tuple(value.item() if isinstance(value, np.generic) else value for value in values)


def _as_python(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _checked_colour(colour: str) -> str:
    if not is_colour(colour):
        raise ValueError(f"{colour!r} is neither a colour of the house nor #rrggbb")
    return colour


def _ascending(ends: tuple[float, float]) -> tuple[float, float]:
    if ends[0] >= ends[1]:
        raise ValueError("must be two ascending numbers")
    return ends


Style = Literal["solid", "dashed", "dotted"]
Name = Annotated[str, Field(pattern=r"\S")]
Colour = Annotated[str, AfterValidator(_checked_colour)]
Number = Annotated[int, Strict()] | Annotated[float, Strict(), AllowInfNan(False)]
Numbers = Annotated[Sequence[Number], BeforeValidator(_as_tuple), Field(min_length=1)]
Categories = Annotated[Sequence[str], BeforeValidator(_as_tuple), Field(min_length=1)]
Count = Annotated[int, Strict(), Field(ge=0)]
Counts = Annotated[Count | Sequence[Count], BeforeValidator(_as_tuple)]
Range: TypeAlias = tuple[float, float]
Ends = Annotated[tuple[Number, Number], AfterValidator(_ascending)]


@dataclass(frozen=True, slots=True)
class Line:
    """A curve, with a shaded band where it has an interval.

    Attributes:
        name: in the legend; the same name looks the same in all panels.
        x: where, ascending.
        y: the value at each x.
        low: lower ends of the intervals, at each x.
        high: upper ends.
        style: of the stroke.
        colour: one of the house's (`look.COLOURS`, ``ink``, ``muted``) or ``#rrggbb``; chosen if None.
        n: observations behind all values, or behind each.
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
    """One bar per category, with whiskers where it has an interval; several `Bars` stand side by side.

    Attributes:
        name: in the legend.
        categories: under the bars, each once; a category that is left out has no bar in this series.
        y: the height of each bar.
        low: lower ends of the intervals.
        high: upper ends.
        n: observations behind all bars, or behind each.
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
        _require_once(self.categories, f"{self.name!r}: two categories are called")
        _check_values(self, len(self.categories))

    @classmethod
    def of(cls, name: str, intervals: Iterable[tuple[str, Interval]], *, counted: bool = True) -> Bars:
        """Return bars with the ends of their intervals, by category; `counted`: with what each is of."""
        categories, values = zip(*intervals, strict=True)
        low, high = zip(*(value.reach for value in values), strict=True)
        n = [value.n for value in values] if counted else None
        return cls(name, categories, [value.value for value in values], low, high, n)


@dataclass(frozen=True, slots=True)
class Stacked:
    """One part of each category's whole; the `Stacked` of a panel stand on each other and add up to 1.

    Attributes:
        categories: under the bars, each once.
        y: this part's share of each, from 0 to 1.
        n: observations behind all wholes, or behind each.
        colour: as in `Line`.
    """

    name: Name
    categories: Categories
    y: Numbers
    n: Counts | None = None
    colour: Colour | None = None

    def __post_init__(self) -> None:
        _require_once(self.categories, f"{self.name!r}: two categories are called")
        _check_values(self, len(self.categories))
        if any(not 0 <= share <= 1 + TOLERANCE for share in self.y):
            raise ValueError(f"{self.name!r}: y must hold shares from 0 to 1")


@dataclass(frozen=True, slots=True)
class Level:
    """A horizontal line across a panel: chance, say.

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
        title: above it; panels of one figure have different titles.
        y_label: of the vertical axis.
        marks: lines, or bars, or stacked parts; levels with any of them.
        y_range: of the vertical axis, which must hold all that is drawn; from the values if None.
        x_range: of the horizontal axis of lines, likewise.
        x_ticks: where it is labelled; chosen if None.
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
            held = " and ".join(kinds) or "nothing but levels"
            raise ValueError(f"{panel}: needs marks of one kind (Line, Bars or Stacked), not {held}")
        _require_once([mark.name for mark in self.marks], f"{panel}: two marks have the name")
        if "Line" not in kinds and (self.x_range is not None or self.x_ticks is not None):
            raise ValueError(f"{panel}: x_range and x_ticks are for lines")
        wholes: defaultdict[str, float] = defaultdict(float)
        for mark in self.marks:
            _require_inside(extent(mark), self.y_range, f"{panel}, {mark.name!r}: y", "y_range")
            if isinstance(mark, Line):
                _require_inside(mark.x, self.x_range, f"{panel}, {mark.name!r}: x", "x_range")
            if isinstance(mark, Stacked):
                for category, share in zip(mark.categories, mark.y, strict=True):
                    wholes[category] += share
        for category, total in wholes.items():
            if abs(total - 1) > ROUNDED:
                raise ValueError(f"{panel}: the parts of {category!r} add up to {total:.4g}, not to 1")


@dataclass(frozen=True, slots=True)
class Figure:
    """Panels in a grid, filled row by row, with one legend.

    Attributes:
        name: short, fit for a file name and for the id of an element on a page.
        columns: of the grid; chosen if None.
    """

    name: Annotated[str, Field(pattern=r"^\w[\w.-]*$")]
    title: str
    panels: Annotated[Sequence[Panel], BeforeValidator(tuple), Field(min_length=1)]
    caption: str = ""
    columns: Annotated[int | None, Field(ge=1)] = None

    def __post_init__(self) -> None:
        figure = f"figure {self.name!r}"
        _require_once([panel.title for panel in self.panels], f"{figure}: two panels have the title")
        if self.columns is not None and self.columns > len(self.panels):
            raise ValueError(f"{figure}: columns must be from 1 to {len(self.panels)}, not {self.columns}")
        seen: dict[str, tuple[str | None, str]] = {}
        for mark in (mark for panel in self.panels for mark in panel.marks):
            look = (mark.colour, getattr(mark, "style", ""))
            if seen.setdefault(mark.name, look) != look:
                raise ValueError(
                    f"{figure}: {mark.name!r} has two colours or styles; the legend can show one"
                )

    def plain(self) -> dict[str, Any]:
        """Return plain values: the panels, each with its marks, of which each says what it is."""
        panels = [
            {
                **asdict(panel),
                "marks": [{"mark": type(mark).__name__.lower(), **asdict(mark)} for mark in panel.marks],
            }
            for panel in self.panels
        ]
        return {**asdict(self), "panels": panels}


def extent(mark: Mark) -> tuple[float, ...]:
    """Return all vertical positions that a mark takes, those of its interval included."""
    if isinstance(mark, Level):
        return (mark.y,)
    if isinstance(mark, Stacked):
        return (0, 1)
    from_zero = (0.0,) if isinstance(mark, Bars) else ()
    return (*from_zero, *mark.y, *(mark.low or ()), *(mark.high or ()))


def _check_values(mark: Line | Bars | Stacked, length: int) -> None:
    """Refuse values of other numbers than there are places, and intervals that do not hold their values."""
    low, high = getattr(mark, "low", None), getattr(mark, "high", None)
    for field, values in (("y", mark.y), ("low", low), ("high", high), ("n", mark.n)):
        if isinstance(values, tuple) and len(values) != length:
            raise ValueError(f"{mark.name!r}: there are {length} places, but {len(values)} in {field}")
    if (low is None) != (high is None):
        raise ValueError(f"{mark.name!r}: an interval needs both low and high")
    for place, (a, y, b) in enumerate(zip(low or (), mark.y, high or (), strict=False)):
        if not a - TOLERANCE <= y <= b + TOLERANCE:
            raise ValueError(f"{mark.name!r}: y[{place}] = {y} is not between low {a} and high {b}")


def _require_once(names: Iterable[Hashable], what: str) -> None:
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise ValueError(f"{what} {name!r}")


def _require_inside(values: Sequence[float], within: Range | None, what: str, field: str) -> None:
    if within is None:
        return
    for value in values:
        if not within[0] - TOLERANCE <= value <= within[1] + TOLERANCE:
            raise ValueError(f"{what} reaches {value}, outside of {field} {within}; widen it, or give None")
