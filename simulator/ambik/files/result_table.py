"""Tables of results, CSV, a row for each method and type, and whether they can be right (spec 9, 10.2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Final

from simulator.ambik.terms import AMBIGUITIES, NAMES, TASK_TYPES, TaskType
from simulator.jsonlines import Read, Row
from simulator.tables.cells import Columns, read_table, spelled
from trees.faults import Fault

METRICS: Final = ("icr", "hr", "chr", "ssc", "ambdif", "sr")
"""All that a row may hold; ``sr`` is the success rate on KnowNo's scenarios (Table 8)."""
_COLUMNS: Final = Columns(("model", "method", "type", *METRICS))
ALL: Final = ("all", "pairs")
"""Types of rows that are not of one type: AmbDif is of pairs."""
_SHORT: Final[Mapping[str, TaskType]] = {
    "unambiguous": "unambiguous_direct",
    "clear": "unambiguous_direct",
    "common_sense": "common_sense_knowledge",
}
"""Types as the paper's tables have them."""
_NONE: Final = ("na", "n/a", "-", "nan")
_EXACT: Final = 1e-9
_NO_NUMBER: Final = "is {!r}, not a number; write a fraction of 1, such as 0.25, or 25%"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultRow:
    """A table's row of a method.

    Attributes:
        model: generator, or generator + chooser; empty where the table has no such column.
        method: of the five, or another one by its name.
        type: None for a row of all pairs.
        values: by metric, fractions of 1; those that the row has.
    """

    model: str
    method: str
    type: TaskType | None
    values: Mapping[str, float]


def is_result_table(header: Iterable[str]) -> bool:
    """Return True if columns are those of a table of results, in any letter case; it need not have types."""
    header = tuple(header)
    return any(_COLUMNS.hold(header, "method", metric) for metric in METRICS)


def read_result_table(path: str | Path) -> Read[ResultRow]:
    """Return the rows of a table; a row that cannot be read is a fault, one that cannot be right a warning.

    Raises:
        InputError: if the file cannot be read at all.
    """
    table = read_table(path, _COLUMNS)
    cells = {name: [record.text(name) for record in table.records] for name in METRICS}
    percent = [name for name, texts in cells.items() if any("%" in text for text in texts)]
    rows, lines, faults = table.read(
        lambda row, record: _row(row, percent), lambda record: record.text("method")
    )
    # Trailing noughts are often left out, so that one cell alone does not tell how far it was rounded.
    digits = {name: max(map(_digits, texts), default=0) for name, texts in cells.items()}
    rounding = {name: 0.5 * 10.0**-most + _EXACT for name, most in digits.items()}
    warnings = [
        Fault(str(path), rows[place].method, lines[place], "consistency", message, "warning")
        for place, message in inconsistencies(rows, rounding)
    ]
    if percent:
        message = f"{', '.join(percent)}: percent, read as fractions of 1"
        warnings.insert(0, Fault(str(path), "", 1, "percent", message, "warning"))
    return Read(rows, lines, tuple(sorted((*faults, *warnings), key=lambda fault: fault.line)))


def inconsistencies(
    rows: Sequence[ResultRow], rounding: Mapping[str, float] | None = None
) -> Iterator[tuple[int, str]]:
    """Yield the places of rows that cannot be right, with what is wrong.

    CHR is HR for preferences and 1 - HR for the other types. A pair counts for AmbDif only if the robot asks
    in its ambiguous task, so that AmbDif cannot be above HR of all ambiguous types.

    `rounding`: by metric, how far a value may be off; nothing by default.
    """
    off = {name: (rounding or {}).get(name, _EXACT) for name in METRICS}
    help_rates: defaultdict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for place, row in enumerate(rows):
        if row.type is None or "hr" not in row.values:
            continue
        help_rates[row.model, row.method][row.type] = row.values["hr"]
        if "chr" in row.values:
            expected = row.values["hr"] if row.type == "preferences" else 1 - row.values["hr"]
            if abs(row.values["chr"] - expected) > off["chr"] + off["hr"]:
                rule = "HR" if row.type == "preferences" else "1 - HR"
                message = f"chr: is {row.values['chr']:g}, but {rule} of {row.type} is {expected:.4g}"
                yield place, message
    for place, row in enumerate(rows):
        rates = help_rates[row.model, row.method]
        if "ambdif" not in row.values or not set(AMBIGUITIES) <= rates.keys():
            continue
        highest = max(rates[kind] for kind in AMBIGUITIES)
        if row.values["ambdif"] > highest + off["ambdif"] + off["hr"]:
            message = f"ambdif: is {row.values['ambdif']:g}, but HR of no ambiguous type is above {highest:g}"
            yield place, message


def _row(row: Row, percent: Collection[str]) -> ResultRow:
    written = row.text("method")
    methods = {spelling.casefold(): name for name, title in NAMES.items() for spelling in (name, title)}
    called = spelled(row.get("type", ALL[0]))
    kind = _SHORT.get(called, called)
    values = {name: _fraction(row, name, name in percent) for name in METRICS}
    return ResultRow(
        model=row.get("model", ""),
        method=methods.get(written.casefold(), written),
        type=None if kind in ALL else Row({"type": kind}).one_of("type", TASK_TYPES),
        values={name: value for name, value in values.items() if value is not None},
    )


def _fraction(row: Row, name: str, percent: bool) -> float | None:
    """Return a cell as a fraction of 1.

    `percent`: whether some cell of the column has a percent sign: a number without one may mean either.
    """
    text = row.get(name)
    if text is None or text.casefold() in _NONE:
        return None
    number, sign, rest = text.partition("%")
    try:
        # Where semicolons stand between columns, commas stand in numbers.
        value = float(number.replace(",", "."))
    except ValueError as error:
        raise row.wrong(name, _NO_NUMBER.format(text)) from error
    if rest:
        raise row.wrong(name, _NO_NUMBER.format(text))
    if percent and value and not sign:
        raise row.wrong(name, f"is {text} without %, which other cells of the column have")
    value = float(Decimal(number.replace(",", ".").strip()) / 100) if sign else value
    if not 0 <= value <= 1:
        raise row.wrong(name, f"is {text}, not a fraction from 0 to 1")
    return value


def _digits(text: str) -> int:
    """Return how many digits after the point a cell's fraction of 1 has."""
    number, sign, _ = text.replace(",", ".").partition("%")
    return len(number.strip().partition(".")[2]) + 2 * bool(sign)
