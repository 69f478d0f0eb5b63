"""`askback stats BENCHMARK` of a declared benchmark: what its items hold, field by field."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import pandas as pd
import typer
from rich.console import Console

from simulator.benchmark import Benchmark
from simulator.figures import Cell, Table
from simulator.reporting import Report, Section, json_text, print_report
from simulator.runner.build import machine_of
from simulator.runner.options import DataOption, ExactJsonOption

_MOST: Final = 20
"""Different values of a field that are still counted one by one."""


def stats_command(benchmark: Benchmark[Any, Any]) -> Callable[..., None]:
    """Return the command that counts a benchmark's items."""

    def stats(data: DataOption = "builtin", as_json: ExactJsonOption = False) -> None:
        assert benchmark.load is not None
        report = items_report(benchmark, data)
        if as_json:
            typer.echo(json_text(report))
        else:
            print_report(Console(), report)

    stats.__doc__ = f"Count the items of {benchmark.title}: values of each field, lengths of texts and lists."
    return stats


def items_report(benchmark: Benchmark[Any, Any], data: str) -> Report:
    """Return how many items there are, how long their texts and lists, and which values repeat.

    Raises:
        InputError: if there are no such data.
    """
    assert benchmark.load is not None
    rows = [machine_of(benchmark).item_row(item) for item in benchmark.load(data)]
    frame = pd.DataFrame([row.data for row in rows])
    fields: list[list[Cell]] = []
    counts: list[list[Cell]] = []
    for name in frame:
        values = frame[name]
        lengths = values.map(
            lambda value: len(value) if isinstance(value, str | list | dict) else None
        ).dropna()
        kinds = values.map(lambda value: json.dumps(value, ensure_ascii=False, sort_keys=True))
        spread: list[Cell] = [None] * 3
        if len(lengths):
            spread = [float(lengths.min()), float(lengths.mean()), float(lengths.max())]
        fields.append([str(name), int(values.notna().sum()), int(kinds.nunique()), *spread])
        if kinds.nunique() <= min(_MOST, len(rows) - 1):
            counts += ([str(name), str(value), int(n)] for value, n in kinds.value_counts(sort=True).items())
    languages = ", ".join(
        f"{n} {language}" for language, n in pd.Series([r.language for r in rows]).value_counts().items()
    )
    tables = [
        Table(["field", "items", "different", "shortest", "mean length", "longest"], fields, "Fields"),
        *([Table(["field", "value", "items"], counts, "Values that repeat")] if counts else []),
    ]
    section = Section(name="items", title=f"{len(rows)} items ({languages})", tables=tables)
    return Report(title=f"{benchmark.title}, {data}", sections=[section])
