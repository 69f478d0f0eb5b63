"""Numbers as they are told: with unit, denominator and interval, the paper's beside it (spec 13, 14).

Functions of records give fractions; here they become per cent. What people read is rounded half up, to one
decimal place where it is per cent; JSON and CSV keep every digit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

from simulator.ambient.intervals import Count
from simulator.figures import Cell, Column, Table
from simulator.reporting import Section, file_section
from simulator.stats import Interval
from simulator.tables.builtin import read_yaml

_FOLDER: Final = Path(__file__).parent
_SHOTS: Final = "-n4"
# Files that are called so are named after their folder.
_PLAIN: Final = ("results", "predictions")


@lru_cache(maxsize=1)
def paper() -> Mapping[str, Any]:
    """Return the figures, as `paper.yaml` has them."""
    printed: Mapping[str, Any] = read_yaml(_FOLDER / "paper.yaml")
    return printed


def model_of(file: Path) -> str:
    """Return the model that a results file is of, by its name, or its folder's if it has none of its own."""
    name = file.resolve().parent.name if file.stem in _PLAIN else file.stem
    return name.removesuffix(_SHOTS)


def is_published(kind: str, rows: int) -> bool:
    """Return True if a published file of a kind has so many rows."""
    least, most = paper()["rows"][kind]
    return bool(least <= rows <= most)


def figures(kind: str, name: str, rows: int) -> Mapping[str, Any]:
    """Return the paper's figures for the results of a model; empty if they are none of the published ones."""
    printed = next((model for model in paper()["models"] if model["file"] == name), None)
    return printed if printed is not None and is_published(kind, rows) else {}


Unit = Literal["%", "", "count"]
"""Per cent; a number with decimals; a count."""
_DIGITS: Final[Mapping[Unit, int]] = {"%": 1, "": 2, "count": 0}


@dataclass(frozen=True, slots=True)
class Measure:
    """One number, named by its key in JSON and CSV; its value is a fraction if its unit is per cent.

    `of` says what `n` counts, which is that of an interval if it is None; `paper` is in the measure's unit;
    `note` says why the value is not what the paper prints, or why it is undefined.
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
    def in_unit(self) -> Interval | float | None:
        """The value in its unit, with every digit."""
        if self.value is None or self.unit != "%":
            return self.value
        return self.value.times(100) if isinstance(self.value, Interval) else 100 * self.value

    @property
    def rounded(self) -> str:
        """The value as people read it, without interval and unit."""
        value = self.in_unit
        number = value.value if isinstance(value, Interval) else value
        return "–" if number is None else half_up(number, _DIGITS[self.unit])

    @property
    def with_unit(self) -> str:
        """The value with its unit; counts and numbers end where those in per cent do."""
        unit = " %" if self.unit == "%" and self.value is not None else "  " if self.unit else ""
        return self.rounded + unit

    @property
    def interval(self) -> str:
        """The interval as people read it; empty if there is none."""
        value, digits = self.in_unit, _DIGITS[self.unit]
        return (
            value.in_brackets(lambda number: half_up(number, digits)) if isinstance(value, Interval) else ""
        )

    @property
    def printed(self) -> str:
        """Return what the paper prints, rounded as the value is; empty if it prints nothing."""
        return "" if self.paper is None else half_up(self.paper, _DIGITS[self.unit])

    def to_json(self) -> dict[str, Any]:
        """Return value, ends of the interval and denominator, in the unit; what is not known is left out."""
        measured = self.in_unit
        value, low, high = measured[:3] if isinstance(measured, Interval) else (measured, None, None)
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
        return {
            key: part for key, part in plain.items() if key in ("value", "unit") or part not in (None, "")
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The answers of a model, or of some people, in one file or run, and their measures (`measured`).

    `kind` is of `wording.yaml`, `name` different within a kind; `records` are the rows of a file (``run
    NAME`` in `files`), and `run` is of those of the log; `exact` are those `tables` that are another with all
    digits; what is not `listed` is told by its tables alone.
    """

    kind: str
    name: str
    records: Sequence[Any] = ()
    files: tuple[str, ...] = ()
    run: str = ""
    left_out: int = 0
    measures: tuple[Measure, ...] = ()
    remarks: tuple[str, ...] = ()
    tables: Mapping[str, Table] = field(default_factory=dict)
    exact: Mapping[str, Table] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    listed: bool = True

    def measured(self, values: Mapping[str, Any], *, remarks: Iterable[str] = (), **parts: Any) -> Results:
        """Return them with what they come to; of `values`, those that the wording of their kind names.

        `parts`: further fields, and what `worded` wants.
        """
        own = {name: parts.pop(name) for name in ("measures", "tables", "exact", "data") if name in parts}
        own = {"measures": worded(self.kind, values, **parts), **own}
        return replace(self, remarks=(*remarks, *self.remarks), **own)

    def measure(self, key: str) -> Measure:
        """Return the measure of a name."""
        return {measure.key: measure for measure in self.measures}[key]

    def section(self) -> Section:
        """Return the section of a report: the measures side by side, further tables, remarks."""
        tables = {"measures": measures_table(self.measures)} if self.listed and self.measures else {}
        return file_section(
            self.kind,
            self.name,
            title=wording()[self.kind]["title"].format(name=self.name),
            files=self.files,
            rows=len(self.records),
            left_out=self.left_out,
            tables=[replace(table, name=name) for name, table in {**tables, **self.tables}.items()],
            exact=[replace(table, name=f"{name}-exact") for name, table in self.exact.items()],
            remarks=(*notes_of(self.measures), *self.remarks),
            data={
                "kind": self.kind,
                "name": self.name,
                "measures": {measure.key: measure.to_json() for measure in self.measures},
                **self.data,
            },
        )


@lru_cache(maxsize=1)
def wording() -> Mapping[str, Any]:
    """Return the texts of `wording.yaml`."""
    words: Mapping[str, Any] = read_yaml(_FOLDER / "wording.yaml")
    return words


def worded(
    kind: str,
    values: Mapping[str, Any],
    *,
    paper: Mapping[str, Any] | None = None,
    notes: Mapping[str, str] | None = None,
    key: str = "{key}",
    **words: object,
) -> tuple[Measure, ...]:
    """Return those of the values that the wording of their kind names, in its order and words.

    `key`: the measures' keys, made of those of the wording.
    """
    made = []
    for name, (title, unit, counted) in wording()[kind]["measures"].items():
        if name not in values:
            continue
        value = values[name]
        number, n = value if isinstance(value, Count) else (value, None)
        printed, note = (paper or {}).get(name), (notes or {}).get(name) or ""
        title, counted = title.format(**words), counted.format(**words)
        made.append(Measure(key.replace("{key}", name), title, number, unit, counted, n, printed, note))
    return tuple(made)


def by_text(counts: Mapping[int, int]) -> dict[str, int]:
    """Return counts as JSON can hold them."""
    return {str(size): count for size, count in counts.items()}


def sizes(counts: Mapping[int, int]) -> str:
    """Return counts in words."""
    return ", ".join(f"{size}: {count}" for size, count in counts.items())


def half_up(number: float, digits: int = 1) -> str:
    """Return a number rounded half up, as the paper's tables are (spec 14).

    A half that binary fractions miss by less than 1e-9 is a half.
    """
    exact = Decimal(repr(round(number, 9)))
    rounded = exact.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP)
    return f"{abs(rounded) if rounded == 0 else rounded:.{digits}f}"


def measures_table(measures: Sequence[Measure]) -> Table:
    """Return measures as people read them: rounded, values aligned on their right."""
    columns = {
        "measure": [measure.title for measure in measures],
        "value": _align([measure.with_unit for measure in measures]),
        "95 % interval": [measure.interval for measure in measures],
        "n": _align(["" if measure.counted is None else str(measure.counted) for measure in measures]),
        "of": [measure.of for measure in measures],
        "paper": _align([measure.printed for measure in measures]),
    }
    # A column in which nothing stands would only take room.
    kept = {name: cells for name, cells in columns.items() if any(map(str.strip, cells))}
    return Table(list(kept), [list(row) for row in zip(*kept.values(), strict=True)])


def exact_table(results: Iterable[Results]) -> Table:
    """Return every measure of some results with all digits, a row each."""
    heads = ("kind", "name", "measure", "unit", Column("value", 4), "of", "denominator", "paper")
    rows: list[list[Cell]] = [
        [
            result.kind,
            result.name,
            measure.key,
            measure.unit,
            measure.in_unit,
            measure.of,
            measure.counted,
            measure.paper,
        ]
        for result in results
        for measure in result.measures
    ]
    return Table(heads, rows, "All measures")


def notes_of(measures: Iterable[Measure]) -> list[str]:
    """Return the notes, each with the measures that it is about."""
    titles: dict[str, list[str]] = {}
    for measure in measures:
        if measure.note:
            titles.setdefault(measure.note, []).append(measure.title.strip())
    return [f"{'; '.join(about)}: {note}" for note, about in titles.items()]


def _align(cells: Sequence[str]) -> list[str]:
    width = max(map(len, cells), default=0)
    return [cell.rjust(width) for cell in cells]
