"""Numbers and intervals as they are written and drawn on the researchers' pages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from simulator.stats import Interval

_MINUS = "\N{MINUS SIGN}"


def number(value: float, digits: int = 2) -> str:
    """Return a number with a true minus sign; never a negative zero."""
    rounded = round(value, digits) + 0.0
    text = f"{abs(rounded):.{digits}f}"
    return _MINUS + text if rounded < 0 else text


def count(value: int) -> str:
    """Return a whole number with thin spaces between the thousands."""
    return f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def dollars(value: float) -> str:
    """Return US dollars; cents only where they say something."""
    return f"${value:.2f}" if value >= 1 or value == 0 else f"${value:.4f}"


@dataclass(frozen=True, slots=True)
class Scale:
    """The range that the bars of one column share."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """Return where `value` lies, in percent of the width."""
        width = self.high - self.low
        share = (value - self.low) / width if width else 0.5
        return round(100 * min(1.0, max(0.0, share)), 2)


@dataclass(frozen=True, slots=True)
class Cell:
    """An estimate with its interval, in words and as a bar.

    Attributes:
        low: left end of the bar, percent.
        high: right end.
        at: the estimate's place.
        zero: where zero lies, if it lies on the bar's scale.
    """

    value: str
    interval: str
    low: float
    high: float
    at: float
    zero: float | None


def scale(intervals: Iterable[Interval], *, fixed: tuple[float, float] | None = None) -> Scale:
    """Return the scale that holds all of `intervals`, or the fixed one."""
    if fixed:
        return Scale(*fixed)
    known = list(intervals)
    if not known:
        return Scale(0.0, 1.0)
    low, high = min(interval.reach[0] for interval in known), max(interval.reach[1] for interval in known)
    margin = (high - low) * 0.08 or 0.5
    return Scale(low - margin, high + margin)


def cell(interval: Interval, on: Scale, digits: int) -> Cell:
    """Return an interval as a table shows it."""
    low, high = map(on.place, interval.reach)
    return Cell(
        value=number(interval.value, digits),
        interval=interval.in_brackets(lambda end: number(end, digits)),
        low=low,
        high=high,
        at=on.place(interval.value),
        zero=on.place(0.0) if on.low < 0 < on.high else None,
    )
