"""Sections on files that are no runs: pairs, cases of metrics, printed results (spec 2.1, 10)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from simulator.ambik.data import Loaded
from simulator.ambik.files.metric_cases import MetricCase
from simulator.ambik.files.result_table import METRICS, ResultRow
from simulator.ambik.files.versions import TITLES
from simulator.ambik.measuring.cases import agrees, computed, expected
from simulator.ambik.pairs import Scenario
from simulator.ambik.settings import Metrics
from simulator.ambik.statistics import statistics
from simulator.ambik.terms import AMBIGUITIES, NAMES
from simulator.figures import Cell, Column, Table
from simulator.jsonlines import Read
from simulator.reporting import Section, file_section
from simulator.stats import Interval

RELEASED: Final = 500
_BOTH: Final[tuple[Metrics, ...]] = ("paper", "reference")


def pairs_section(loaded: Loaded, files: tuple[str, ...]) -> Section:
    """Shares of types, and which member serves calibration."""
    found = statistics(loaded.pairs)
    rows: list[list[Cell]] = [[kind, found.types[kind], found.shares[kind]] for kind in AMBIGUITIES]
    tables = [Table(["type", Column("pairs", 0), Column("%", 1, 100)], rows, "Types", "types")]
    if found.balance:
        balance: list[list[Cell]] = [
            [member, *counts.values(), sum(counts.values())] for member, counts in found.balance.items()
        ]
        heads: list[Column | str] = ["used as", *(Column(kind, 0) for kind in AMBIGUITIES), Column("all", 0)]
        tables.append(Table(heads, balance, "Calibration: which member is used", "balance"))
    return file_section(
        "pairs",
        Path(files[0]).parent.name if len(files) > 1 else Path(files[0]).stem,
        title="Pairs",
        files=files,
        rows=found.pairs,
        left_out=len(loaded.faults),
        tables=tables,
        remarks=tuple(loaded.report.lines()),
        data={
            "versions": [TITLES[file.version] for file in loaded.report.files],
            "types": dict(found.types),
            "shares": dict(found.shares),
            "calibration": dict(found.balance),
            "oddities": loaded.report.counts,
            "checks": _checks(loaded),
        },
    )


def _checks(loaded: Loaded) -> Mapping[str, Any]:
    """Return what spec 2.1 tells of the published files, by its names."""
    found = statistics(loaded.pairs)
    told: dict[str, Any] = {}
    if found.pairs == RELEASED and all(file.version == "paper" for file in loaded.report.files):
        told["B1.types_500"] = {kind: 100 * found.types[kind] / found.pairs for kind in AMBIGUITIES}
    if found.balance:
        told["B5.calibration_balance"] = {
            "amb (take_amb=1)": dict(found.balance["ambiguous"]),
            "unamb (0)": dict(found.balance["clear"]),
        }
    return told


def scenarios_section(read: Read[Scenario], file: str) -> Section:
    """Return how many scenarios of each type there are."""
    counts: dict[str, int] = {}
    for row in read.rows:
        counts[row.type] = counts.get(row.type, 0) + 1
    rows: list[list[Cell]] = [[kind, count] for kind, count in sorted(counts.items())]
    return file_section(
        "scenarios",
        Path(file).stem,
        title="KnowNo's scenarios",
        files=(file,),
        rows=len(read.rows),
        left_out=len(read.faults),
        tables=[Table(["type", Column("scenarios", 0)], rows, name="types")],
        data={"types": counts},
    )


def cases_section(read: Read[MetricCase], file: str, shown: Metrics | None = None) -> Section:
    """Cases of metrics, by the paper's rule and as the published code has it.

    Args:
        read: the cases.
        file: their file.
        shown: one of the two alone; both by default.
    """
    modes = _BOTH if shown is None else (shown,)
    rows = [
        [case.id, case.metric, *(cell for mode in modes for cell in _compared(case, mode))]
        for case in read.rows
    ]
    heads = ["case", "metric", *(head for mode in modes for head in (mode, f"{mode}: found"))]
    cases = {mode: [case for case in read.rows if mode in case.told] for mode in modes}
    equal = {mode: sum(agrees(case, mode) for case in some) for mode, some in cases.items()}
    return file_section(
        "metric_cases",
        Path(file).stem,
        title="Cases of metrics",
        files=(file,),
        rows=len(read.rows),
        left_out=len(read.faults),
        tables=[Table(heads, rows, name="cases")],
        remarks=tuple(f"{mode}: {count} of {len(cases[mode])} equal" for mode, count in equal.items()),
        data={
            "equal": equal,
            # Cases that have another value than by the paper's rule.
            "unexpected": len(cases["paper"]) - equal["paper"] if "paper" in equal else 0,
            "told": {mode: len(some) for mode, some in cases.items()},
            "cases": {
                case.id: {
                    "metric": case.metric,
                    **{
                        mode: {
                            "expected": expected(case, mode),
                            "found": computed(case, mode),
                            "equal": agrees(case, mode),
                        }
                        for mode in modes
                        if mode in case.told
                    },
                }
                for case in read.rows
            },
        },
    )


def _compared(case: MetricCase, mode: Metrics) -> tuple[str, str]:
    """Return what should be found, and what is; nothing where the file has no such value."""
    if mode not in case.told:
        return "", _told(computed(case, mode))
    found = "the same" if agrees(case, mode) else f"NOT: {_told(computed(case, mode))}"
    return _told(expected(case, mode)), found


def _told(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{str(key).replace('_', ' ')}: {_told(one)}" for key, one in value.items())
    if isinstance(value, Interval):
        value = value.value
    return "–" if value is None else f"{value:.4g}"


def results_section(read: Read[ResultRow], file: str) -> Section:
    """Return a table of results as it is, with what in it cannot be right."""
    held = [name for name in METRICS if any(name in row.values for row in read.rows)]
    rows: list[list[Cell]] = [
        [
            row.model,
            NAMES.get(row.method, row.method),  # type: ignore[call-overload]
            row.type or "all",
            *(row.values.get(name) for name in held),
        ]
        for row in read.rows
    ]
    heads: list[Column | str] = ["model", "method", "type", *(Column(name, 2) for name in held)]
    wrong = [fault for fault in read.faults if fault.code == "consistency"]
    bad = sum(fault.severity != "warning" for fault in read.faults)
    said = [
        f"line {fault.line}, {NAMES.get(fault.task, fault.task)}: {fault.message}"  # type: ignore[call-overload]
        for fault in wrong
    ]
    rule = (
        "CHR is HR for preferences and 1 - HR for the other types; AmbDif is not above the highest HR of an "
        "ambiguous type. Values may be off by half of the last digit that their column has."
    )
    return file_section(
        "result_table",
        Path(file).stem,
        title="Results as they are printed",
        files=(file,),
        rows=len(read.rows),
        left_out=bad,
        tables=[Table(heads, rows, name="results")],
        remarks=(rule, *(said or ["every row is consistent"])),
        data={
            "results": [
                {"model": row.model, "method": row.method, "type": row.type, **row.values}
                for row in read.rows
            ],
            "inconsistent": [{"line": one.line, "method": one.task, "message": one.message} for one in wrong],
        },
    )
