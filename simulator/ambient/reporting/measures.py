"""Measures for reports: numbers with unit, denominator, interval and the paper's figure (spec 13, 14).

Functions of records return fractions, which become per cent here. Displayed numbers are rounded half up, per
cent to one decimal place; JSON and CSV have full precision.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

from simulator.ambient.intervals import Count
from simulator.figures import Cell, Column, Table
from simulator.reporting import Section, file_section
from simulator.stats import Interval, half_up
from simulator.tables.builtin import read_yaml

_FOLDER: Final = Path(__file__).parent
_SHOTS: Final = "-n4"
# Files with these names are named after their folder.
_GENERIC: Final = ("results", "predictions")


@lru_cache(maxsize=1)
def paper() -> Mapping[str, Any]:
    """Return the paper's figures from `paper.yaml`."""
    printed: Mapping[str, Any] = read_yaml(_FOLDER / "paper.yaml")
    return printed


def model_of(file: Path) -> str:
    """Return the model of a results file: the file's stem, or its folder's name if the stem is generic."""
    name = file.resolve().parent.name if file.stem in _GENERIC else file.stem
    return name.removesuffix(_SHOTS)


def is_published(kind: str, rows: int) -> bool:
    """Return True if published files of a kind have that number of rows."""
    least, most = paper()["rows"][kind]
    return bool(least <= rows <= most)


def paper_figures(kind: str, name: str, rows: int) -> Mapping[str, Any]:
    """Return the paper's figures for a model; empty if the results are not published ones."""
    printed = next((model for model in paper()["models"] if model["file"] == name), None)
    return printed if printed is not None and is_published(kind, rows) else {}


Unit = Literal["%", "", "count"]
"""Per cent; a number with decimal places; a count."""
_DIGITS: Final[Mapping[Unit, int]] = {"%": 1, "": 2, "count": 0}


@dataclass(frozen=True, slots=True)
class Measure:
    """A number of a report, with its `key` in JSON and CSV; a fraction if the unit is per cent.

    `n` is the denominator (None for that of an interval) and `base` what it counts; `paper` is the paper's
    figure in the measure's unit; `note` says why the value differs from it or is undefined.
    """

    key: str
    title: str
    value: Interval | float | None
    unit: Unit = "%"
    base: str = ""
    n: int | None = None
    paper: float | None = None
    note: str = ""

    @property
    def count(self) -> int | None:
        """The denominator."""
        return self.value.n if self.n is None and isinstance(self.value, Interval) else self.n

    @property
    def in_unit(self) -> Interval | float | None:
        """The value in its unit, with full precision."""
        if self.value is None or self.unit != "%":
            return self.value
        return self.value.times(100) if isinstance(self.value, Interval) else 100 * self.value

    @property
    def rounded(self) -> str:
        """The rounded value, without interval and unit."""
        value = self.in_unit
        number = value.value if isinstance(value, Interval) else value
        return "–" if number is None else half_up(number, _DIGITS[self.unit])

    @property
    def with_unit(self) -> str:
        """The rounded value with its unit, padded so that counts align with percentages."""
        unit = " %" if self.unit == "%" and self.value is not None else "  " if self.unit else ""
        return self.rounded + unit

    @property
    def interval(self) -> str:
        """The rounded interval; empty if there is none."""
        value, digits = self.in_unit, _DIGITS[self.unit]
        return (
            value.in_brackets(lambda number: half_up(number, digits)) if isinstance(value, Interval) else ""
        )

    @property
    def printed(self) -> str:
        """The paper's figure, rounded like the value; empty if there is none."""
        return "" if self.paper is None else half_up(self.paper, _DIGITS[self.unit])

    def to_json(self) -> dict[str, Any]:
        """Return value, ends of the interval and denominator, in the unit, without unknown parts."""
        measured = self.in_unit
        value, low, high = measured[:3] if isinstance(measured, Interval) else (measured, None, None)
        plain = {
            "title": self.title,
            "unit": self.unit,
            "value": value,
            "low": low,
            "high": high,
            "n": self.count,
            "of": self.base,
            "paper": self.paper,
            "note": self.note,
        }
        return {
            key: part for key, part in plain.items() if key in ("value", "unit") or part not in (None, "")
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The answers in one file or run, of a model or of people, and their measures (`measured`).

    `kind` is one of `wording.yaml`, `name` unique within a kind; `files` are names of files or ``run NAME``,
    `run` is set for records from the log; `exact` has full-precision versions of `tables` if they differ;
    `listed` is False if the measures are shown only in `tables`.
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
        """Return the results with measures made from `values` by the wording of their kind.

        `parts`: further fields of the results, and arguments of `build_measures`.
        """
        fields = {name: parts.pop(name) for name in ("measures", "tables", "exact", "data") if name in parts}
        fields = {"measures": build_measures(self.kind, values, **parts), **fields}
        return replace(self, remarks=(*remarks, *self.remarks), **fields)

    def measure(self, key: str) -> Measure:
        """Return the measure with a key."""
        return {measure.key: measure for measure in self.measures}[key]

    def section(self) -> Section:
        """Return the report's section: a table of measures, further tables, remarks."""
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


def build_measures(
    kind: str,
    values: Mapping[str, Any],
    *,
    paper: Mapping[str, Any] | None = None,
    notes: Mapping[str, str] | None = None,
    key: str = "{key}",
    **words: object,
) -> tuple[Measure, ...]:
    """Return a measure for each value named in the wording of its kind, in the wording's order.

    `key`: a template for the measures' keys; `words`: values for placeholders in the wording.
    """
    measures = []
    for name, (title, unit, counted) in wording()[kind]["measures"].items():
        if name not in values:
            continue
        value = values[name]
        number, n = value if isinstance(value, Count) else (value, None)
        printed, note = (paper or {}).get(name), (notes or {}).get(name) or ""
        title, counted = title.format(**words), counted.format(**words)
        measures.append(Measure(key.replace("{key}", name), title, number, unit, counted, n, printed, note))
    return tuple(measures)


def string_keys(counts: Mapping[int, int]) -> dict[str, int]:
    """Return counts with string keys, for JSON."""
    return {str(size): count for size, count in counts.items()}


def format_counts(counts: Mapping[int, int]) -> str:
    """Format counts as ``size: count, …``."""
    return ", ".join(f"{size}: {count}" for size, count in counts.items())


def measures_table(measures: Sequence[Measure]) -> Table:
    """Return a table of rounded measures, right-aligned, without empty columns."""
    columns = {
        "measure": [measure.title for measure in measures],
        "value": _align([measure.with_unit for measure in measures]),
        "95 % interval": [measure.interval for measure in measures],
        "n": _align(["" if measure.count is None else str(measure.count) for measure in measures]),
        "of": [measure.base for measure in measures],
        "paper": _align([measure.printed for measure in measures]),
    }
    filled = {name: cells for name, cells in columns.items() if any(map(str.strip, cells))}
    return Table(list(filled), [list(row) for row in zip(*filled.values(), strict=True)])


def exact_table(results: Iterable[Results]) -> Table:
    """Return a table of all measures with full precision, one per row."""
    heads = ("kind", "name", "measure", "unit", Column("value", 4), "of", "denominator", "paper")
    rows: list[list[Cell]] = [
        [
            result.kind,
            result.name,
            measure.key,
            measure.unit,
            measure.in_unit,
            measure.base,
            measure.count,
            measure.paper,
        ]
        for result in results
        for measure in result.measures
    ]
    return Table(heads, rows, "All measures")


def notes_of(measures: Iterable[Measure]) -> list[str]:
    """Return the distinct notes, each after the titles of its measures."""
    titles: dict[str, list[str]] = {}
    for measure in measures:
        if measure.note:
            titles.setdefault(measure.note, []).append(measure.title.strip())
    return [f"{'; '.join(measured)}: {note}" for note, measured in titles.items()]


def _align(cells: Sequence[str]) -> list[str]:
    width = max(map(len, cells), default=0)
    return [cell.rjust(width) for cell in cells]
