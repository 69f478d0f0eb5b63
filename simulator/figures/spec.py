"""What a figure is: panels of lines, bars and levels, as plain values that two libraries draw.

A figure is checked where it is made: what cannot be drawn whole, or would be drawn wrong, is a `ValueError`
that names the mark. Sequences (lists, arrays) are kept as tuples of plain numbers, so figures compare equal
when their values do.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Final, Literal, TypeAlias, get_args

from simulator.figures.look import is_colour

Style = Literal["solid", "dashed", "dotted"]
Range: TypeAlias = tuple[float, float]

# Bounds come out of floating-point sums: a mean of equal values may lie a last digit outside of its interval.
TOLERANCE: Final = 1e-9
# Shares that a table gives with two digits add up to 1 within this.
ROUNDED: Final = 0.011
_NAME: Final = re.compile(r"\w[\w.-]*")


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

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    style: Style = "solid"
    colour: str | None = None
    n: int | Sequence[int] | None = None

    def __post_init__(self) -> None:
        of = _begin(self, self.name)
        _keep(self, "x", _numbers(self.x, f"{of}: x"))
        if any(b <= a for a, b in zip(self.x, self.x[1:], strict=False)):
            raise ValueError(f"{of}: x must ascend, each value once")
        _keep_values(self, of, len(self.x), "x")
        if self.style not in get_args(Style):
            raise ValueError(f"{of}: style must be one of {', '.join(get_args(Style))}, not {self.style!r}")


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

    name: str
    categories: Sequence[str]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    n: int | Sequence[int] | None = None
    colour: str | None = None

    def __post_init__(self) -> None:
        of = _begin(self, self.name)
        _keep(self, "categories", _names(self.categories, of))
        _keep_values(self, of, len(self.categories), "categories")


@dataclass(frozen=True, slots=True)
class Stacked:
    """One part of each category's whole; the `Stacked` of a panel stand on each other and add up to 1.

    Attributes:
        name: in the legend.
        categories: under the bars, each once.
        y: this part's share of each, from 0 to 1.
        n: observations behind all wholes, or behind each.
        colour: as in `Line`.
    """

    name: str
    categories: Sequence[str]
    y: Sequence[float]
    n: int | Sequence[int] | None = None
    colour: str | None = None

    def __post_init__(self) -> None:
        of = _begin(self, self.name)
        _keep(self, "categories", _names(self.categories, of))
        _keep_values(self, of, len(self.categories), "categories")
        if any(not 0 <= share <= 1 + TOLERANCE for share in self.y):
            raise ValueError(f"{of}: y must hold shares from 0 to 1")


@dataclass(frozen=True, slots=True)
class Level:
    """A horizontal line across a panel: chance, say.

    Attributes:
        y: where.
        name: in the legend.
        colour: as in `Line`; ``muted`` if None.
    """

    y: float
    name: str
    colour: str | None = None

    def __post_init__(self) -> None:
        of = _begin(self, self.name)
        _keep(self, "y", _numbers((self.y,), f"{of}: y")[0])


Mark: TypeAlias = Line | Bars | Stacked | Level


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes.

    Attributes:
        title: above it; panels of one figure have different titles.
        x_label: of the horizontal axis.
        y_label: of the vertical axis.
        marks: lines, or bars, or stacked parts; levels with any of them.
        y_range: of the vertical axis, which must hold all that is drawn; from the values if None.
        x_range: of the horizontal axis of lines, likewise.
        x_ticks: where it is labelled; chosen if None.
    """

    title: str
    x_label: str
    y_label: str
    marks: Sequence[Mark]
    y_range: Range | None = (0, 1)
    x_range: Range | None = None
    x_ticks: Sequence[float] | None = None

    def __post_init__(self) -> None:
        of = f"panel {self.title!r}"
        _keep(self, "marks", tuple(self.marks))
        if not all(isinstance(mark, Mark) for mark in self.marks):
            raise ValueError(f"{of}: marks must be Line, Bars, Stacked or Level")
        kinds = {type(mark).__name__: None for mark in self.marks if not isinstance(mark, Level)}
        if len(kinds) != 1:
            told = " and ".join(kinds) or "nothing but levels"
            raise ValueError(f"{of}: needs marks of one kind (Line, Bars or Stacked), not {told}")
        _once([mark.name for mark in self.marks], f"{of}: two marks have the name")
        for name in ("y_range", "x_range"):
            if (pair := getattr(self, name)) is not None:
                _keep(self, name, _range(pair, f"{of}: {name}"))
        if self.x_ticks is not None:
            _keep(self, "x_ticks", _numbers(self.x_ticks, f"{of}: x_ticks"))
        lines = "Line" in kinds
        if not lines and (self.x_range is not None or self.x_ticks is not None):
            raise ValueError(f"{of}: x_range and x_ticks are for lines")
        for mark in self.marks:
            _inside(extent(mark), self.y_range, f"{of}, {mark.name!r}: y", "y_range")
            if isinstance(mark, Line):
                _inside(mark.x, self.x_range, f"{of}, {mark.name!r}: x", "x_range")
        _check_wholes([mark for mark in self.marks if isinstance(mark, Stacked)], of)


@dataclass(frozen=True, slots=True)
class Figure:
    """Panels in a grid, filled row by row, with one legend.

    Attributes:
        name: short, fit for a file name and for the id of an element on a page.
        title: what it shows.
        panels: at least one.
        caption: how to read it; a sentence or two.
        columns: of the grid; chosen if None.
    """

    name: str
    title: str
    panels: Sequence[Panel]
    caption: str = ""
    columns: int | None = None

    def __post_init__(self) -> None:
        of = f"figure {self.name!r}"
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"{of}: the name must consist of letters, digits, '_', '-' and '.'")
        _keep(self, "panels", tuple(self.panels))
        if not self.panels:
            raise ValueError(f"{of} has no panels")
        _once([panel.title for panel in self.panels], f"{of}: two panels have the title")
        if self.columns is not None and not 1 <= self.columns <= len(self.panels):
            raise ValueError(f"{of}: columns must be from 1 to {len(self.panels)}, not {self.columns}")
        seen: dict[str, tuple[str | None, str]] = {}
        for mark in (mark for panel in self.panels for mark in panel.marks):
            look = (mark.colour, getattr(mark, "style", ""))
            if seen.setdefault(mark.name, look) != look:
                raise ValueError(f"{of}: {mark.name!r} has two colours or styles; the legend can show one")


def extent(mark: Mark) -> tuple[float, ...]:
    """Return all vertical positions that a mark takes, those of its interval included."""
    if isinstance(mark, Level):
        return (mark.y,)
    if isinstance(mark, Stacked):
        return (0, 1)
    from_zero = (0.0,) if isinstance(mark, Bars) else ()
    return (*from_zero, *mark.y, *(mark.low or ()), *(mark.high or ()))


def _begin(mark: Mark, name: str) -> str:
    """Return what to call a mark in errors, once its name and colour have passed."""
    kind = type(mark).__name__
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"a {kind} has no name")
    if mark.colour is not None and not is_colour(mark.colour):
        raise ValueError(f"{kind} {name!r}: {mark.colour!r} is neither a colour of the house nor #rrggbb")
    return f"{kind} {name!r}"


def _keep(thing: object, field: str, value: object) -> None:
    object.__setattr__(thing, field, value)


def _keep_values(mark: Line | Bars | Stacked, of: str, length: int, against: str) -> None:
    """Check and keep y, low, high and n of a mark; each must have `length` entries."""
    for field in ("y", "low", "high"):
        values = getattr(mark, field, None)
        if values is None:
            continue
        values = _numbers(values, f"{of}: {field}")
        if len(values) != length:
            raise ValueError(f"{of}: {length} {against} but {len(values)} in {field}")
        _keep(mark, field, values)
    low, high = getattr(mark, "low", None), getattr(mark, "high", None)
    if (low is None) != (high is None):
        raise ValueError(f"{of}: an interval needs both low and high")
    if low is not None and high is not None:
        for place, (a, y, b) in enumerate(zip(low, mark.y, high, strict=True)):
            if not a - TOLERANCE <= y <= b + TOLERANCE:
                raise ValueError(f"{of}: y[{place}] = {y} is not between low {a} and high {b}")
    if mark.n is not None:
        _keep(mark, "n", _counts(mark.n, of, length))


def _numbers(values: Sequence[float], what: str) -> tuple[float, ...]:
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise ValueError(f"{what} must be a sequence of numbers, not {values!r}")
    kept = tuple(_number(value, f"{what}[{place}]") for place, value in enumerate(values))
    if not kept:
        raise ValueError(f"{what} is empty; leave out what has no values")
    return kept


def _number(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"{what} is {value!r}, not a number; leave out what is not known")
    if not math.isfinite(value):
        raise ValueError(f"{what} is {value}, not a finite number; leave out what is not known")
    return int(value) if isinstance(value, Integral) else float(value)


def _counts(n: int | Sequence[int], of: str, length: int) -> int | tuple[int, ...]:
    several = not isinstance(n, Integral)
    counts = tuple(n) if isinstance(n, Sequence) or hasattr(n, "__iter__") else (n,)
    if several and len(counts) != length:
        raise ValueError(f"{of}: n must be one number or {length} of them, not {len(counts)}")
    for count in counts:
        if isinstance(count, bool) or not isinstance(count, Integral) or count < 0:
            raise ValueError(f"{of}: n holds {count!r}, which counts nothing")
    kept = tuple(int(count) for count in counts)
    return kept if several else kept[0]


def _names(names: Sequence[str], of: str) -> tuple[str, ...]:
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{of}: categories must be texts")
    if not len(names):
        raise ValueError(f"{of}: categories is empty; leave out what has no values")
    _once(names, f"{of}: two categories are called")
    return tuple(names)


def _once(names: Sequence[str], what: str) -> None:
    for place, name in enumerate(names):
        if name in names[:place]:
            raise ValueError(f"{what} {name!r}")


def _range(pair: Sequence[float], what: str) -> Range:
    ends = _numbers(pair, what)
    if len(ends) != 2 or ends[0] >= ends[1]:
        raise ValueError(f"{what} must be two ascending numbers, not {pair!r}")
    return ends[0], ends[1]


def _inside(values: Sequence[float], within: Range | None, what: str, field: str) -> None:
    if within is None:
        return
    for value in values:
        if not within[0] - TOLERANCE <= value <= within[1] + TOLERANCE:
            raise ValueError(f"{what} reaches {value}, outside of {field} {within}; widen it, or give None")


def _check_wholes(parts: Sequence[Stacked], of: str) -> None:
    whole: dict[str, float] = {}
    for part in parts:
        for category, share in zip(part.categories, part.y, strict=True):
            whole[category] = whole.get(category, 0) + share
    for category, total in whole.items():
        if abs(total - 1) > ROUNDED:
            raise ValueError(f"{of}: the parts of {category!r} add up to {total:.4g}, not to 1")
