"""Numbers as they are told: with unit, denominator and interval, the paper's beside it (spec 13, 14).

Functions of records give fractions; here they become per cent. What people read is rounded half up, to one
decimal place where it is per cent; JSON and CSV keep every digit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final, Literal

from simulator.figures import Cell, Column, Table
from simulator.stats import Interval

Unit = Literal["%", "", "count"]
"""Per cent; a number with decimals; a count."""
_DIGITS: Final[Mapping[Unit, int]] = {"%": 1, "": 2, "count": 0}


@dataclass(frozen=True, slots=True)
class Measure:
    """One number.

    Attributes:
        key: names it in JSON and CSV.
        title: what it is, in words.
        value: a fraction if its unit is per cent; None if it is undefined.
        unit: how it is told.
        of: what its `n` counts.
        n: the denominator; that of an interval if it is None.
        paper: what the paper prints, in its unit; None if it prints nothing of these data.
        note: why it is not what the paper prints, or why it is undefined.
    """

    key: str
    title: str
    value: Interval | float | None
    unit: Unit = "%"
    of: str = ""
    n: int | None = None
    paper: float | None = None
    note: str = ""

    @property
    def counted(self) -> int | None:
        """The denominator."""
        return self.value.n if self.n is None and isinstance(self.value, Interval) else self.n

    @property
    def told(self) -> Interval | float | None:
        """The value in its unit, with every digit."""
        if self.value is None or self.unit != "%":
            return self.value
        return self.value.times(100) if isinstance(self.value, Interval) else 100 * self.value

    def to_json(self) -> dict[str, Any]:
        """Value, ends of the interval and denominator, in the unit; what is not known is left out."""
        told = self.told
        value, low, high = told[:3] if isinstance(told, Interval) else (told, None, None)
        plain = {
            "title": self.title,
            "unit": self.unit,
            "value": value,
            "low": low,
            "high": high,
            "n": self.counted,
            "of": self.of,
            "paper": self.paper,
            "note": self.note,
        }
        return {key: one for key, one in plain.items() if key in ("value", "unit") or one not in (None, "")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What is told of one file, or of several that belong together.

    Attributes:
        kind: of the file (`files.kinds`).
        name: the model's, or the file's; different within a kind.
        title: the heading.
        files: what it was read from.
        rows: that were read.
        left_out: rows that could not be.
        measures: the numbers.
        remarks: what else deserves a look, a sentence each.
        tables: further tables, by name.
        exact: those of them, by name, that are another table with all digits in CSV.
        data: further values for JSON, by name.
        listed: whether people are told the measures as a list, not by the tables alone.
    """

    kind: str
    name: str
    title: str
    files: tuple[str, ...] = ()
    rows: int = 0
    left_out: int = 0
    measures: tuple[Measure, ...] = ()
    remarks: tuple[str, ...] = ()
    tables: Mapping[str, Table] = field(default_factory=dict)
    exact: Mapping[str, Table] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    listed: bool = True

    def measure(self, key: str) -> Measure:
        """Return the measure of a name.

        Raises:
            KeyError: if there is none.
        """
        return {one.key: one for one in self.measures}[key]

    def to_json(self) -> dict[str, Any]:
        """Return the section as a JSON object."""
        return {
            "title": self.title,
            "files": list(self.files),
            "rows": self.rows,
            "left_out": self.left_out,
            "measures": {measure.key: measure.to_json() for measure in self.measures},
            "remarks": list(self.remarks),
            **self.data,
        }


def half_up(number: float, digits: int = 1) -> str:
    """Return a number rounded half up, as the paper's tables are (spec 14).

    A half that binary fractions miss by less than 1e-9 is a half.
    """
    exact = Decimal(repr(round(number, 9)))
    told = exact.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP)
    return f"{abs(told) if told == 0 else told:.{digits}f}"


def shown_value(measure: Measure) -> str:
    """Return the value of a measure as people read it, without interval."""
    told = measure.told
    if told is None:
        return "–"
    number = told.value if isinstance(told, Interval) else told
    return half_up(number, _DIGITS[measure.unit])


def shown_interval(measure: Measure) -> str:
    """Return the interval of a measure as people read it; empty if it has none."""
    told = measure.told
    if not isinstance(told, Interval):
        return ""
    return told.in_brackets(lambda number: half_up(number, _DIGITS[measure.unit]))


def measures_table(measures: Sequence[Measure], title: str = "") -> Table:
    """Measures as people read them: rounded, values aligned on their right."""
    paper = [shown_paper(measure) for measure in measures]
    columns: dict[str, list[str]] = {
        "measure": [measure.title for measure in measures],
        "value": [with_unit(measure) for measure in measures],
        "95 % interval": [shown_interval(measure) for measure in measures],
        "n": ["" if measure.counted is None else str(measure.counted) for measure in measures],
        "of": [measure.of for measure in measures],
        "paper": paper,
    }
    # A column in which nothing stands would only take room.
    kept = {name: cells for name, cells in columns.items() if any(cells)}
    aligned = {
        name: _aligned(cells) if name in ("value", "n", "paper") else cells for name, cells in kept.items()
    }
    return Table(list(aligned), [list(row) for row in zip(*aligned.values(), strict=True)], title)


def exact_table(sections: Iterable[Section]) -> Table:
    """Return every measure of some sections with all digits, a row each."""
    columns: list[Column | str] = [
        "kind",
        "name",
        "measure",
        "unit",
        Column("value", 4),
        "of",
        "denominator",
        "paper",
    ]
    rows: list[list[Cell]] = [
        [
            section.kind,
            section.name,
            measure.key,
            measure.unit,
            measure.told,
            measure.of,
            measure.counted,
            measure.paper,
        ]
        for section in sections
        for measure in section.measures
    ]
    return Table(columns, rows, "All measures")


def notes_of(measures: Iterable[Measure]) -> list[str]:
    """Return the notes, each with the measures that it is about."""
    titles: dict[str, list[str]] = {}
    for measure in measures:
        if measure.note:
            titles.setdefault(measure.note, []).append(measure.title)
    return [f"{'; '.join(about)}: {note}" for note, about in titles.items()]


def with_unit(measure: Measure) -> str:
    """Return the value with its unit; counts and numbers end where those in per cent do."""
    value = shown_value(measure)
    return (
        f"{value} %"
        if measure.unit == "%" and measure.value is not None
        else f"{value}  "
        if measure.unit
        else value
    )


def shown_paper(measure: Measure) -> str:
    """Return what the paper prints, rounded as the value is."""
    return "" if measure.paper is None else half_up(measure.paper, _DIGITS[measure.unit])


def _aligned(cells: Sequence[str]) -> list[str]:
    width = max(map(len, cells))
    return [cell.rjust(width) for cell in cells]
