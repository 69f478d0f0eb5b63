"""Sections for a terminal of eighty columns, and as files (spec 12, 13)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from simulator.ambient.reporting.measures import (
    Measure,
    Section,
    exact_table,
    measures_table,
    notes_of,
    shown_interval,
    shown_paper,
    with_unit,
)
from simulator.figures import Table
from simulator.runner.run_summary import say
from simulator.whole import write_whole


def print_section(console: Console, section: Section) -> None:
    """Heading, denominators, measures with the paper's beside them, further tables, remarks."""
    console.print(Text(section.title, "bold"), soft_wrap=True)
    rows = f"{section.rows} rows" + (f", {section.left_out} left out as faulty" if section.left_out else "")
    files = f" of {', '.join(section.files)}" if len(section.files) == 1 else ""
    say(console, f"{rows}{files}", "dim")
    if section.listed and section.measures:
        console.print(_list(section.measures))
    for table in section.tables.values():
        console.print()
        console.print(table.to_text())
    for line in (*notes_of(section.measures), *section.remarks):
        say(console, f"· {line}")
    console.print()


def _list(measures: Sequence[Measure]) -> RichTable:
    """Return the same as `measures_table`, with what a number is of beside it, so that it fits."""
    made = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    made.add_column("measure", overflow="fold")
    for name in ("value", "95 %", "of"):
        made.add_column(name, justify="left" if name == "of" else "right", no_wrap=name != "of")
    printed = any(one.paper is not None for one in measures)
    if printed:
        made.add_column("paper", justify="right", no_wrap=True)
    for measure in measures:
        of = f"{'' if measure.counted is None else measure.counted} {measure.of}".strip()
        paper = [Text(shown_paper(measure))] if printed else []
        interval = Text(shown_interval(measure), "dim")
        made.add_row(Text(measure.title), Text(with_unit(measure), "bold"), interval, Text(of), *paper)
    return made


def sections_json(sections: Sequence[Section]) -> dict[str, Any]:
    """Sections by kind and name, with every digit."""
    plain: dict[str, Any] = {}
    for section in sections:
        plain.setdefault(section.kind, {})[section.name] = section.to_json()
    return plain


def json_text(plain: Any) -> str:
    """JSON as it is printed and written; what is not a number is null already."""
    return json.dumps(plain, ensure_ascii=False, allow_nan=False, indent=1)


def latex_text(sections: Sequence[Section]) -> str:
    """Return the tables of all sections as LaTeX, each under its name."""
    parts = []
    for section in sections:
        tables = {"measures": measures_table(section.measures)} if section.listed and section.measures else {}
        for name, table in (tables | dict(section.tables)).items():
            parts.append(f"% {section.kind}, {section.name}: {name}\n{table.to_latex()}")
    return "\n".join(parts)


def write_out(folder: Path, sections: Sequence[Section]) -> list[Path]:
    """Write everything: ``scores.json``, ``measures.csv``, and each table as CSV and LaTeX.

    Raises:
        InputError: if a file cannot be written.
    """
    written = [
        _write(folder / "scores.json", json_text(sections_json(sections)) + "\n"),
        _write(folder / "measures.csv", exact_table(sections).to_csv()),
        _write(folder / "measures.tex", latex_text(sections)),
    ]
    for section in sections:
        for name, table in section.tables.items():
            stem = "-".join(_safe(part) for part in (section.kind, section.name, name))
            exact = section.exact.get(name, table)
            written += [
                _write(folder / f"{stem}.csv", exact.to_csv()),
                _write(folder / f"{stem}.tex", table.to_latex()),
            ]
    return written


def write_text(path: Path, text: str) -> Path:
    """Write a text; missing folders are made, and the file is there whole or not at all.

    Raises:
        InputError: if it cannot be written.
    """
    return write_whole(path, text.encode())


def write_table(path: Path, table: Table, exact: Table | None = None) -> list[Path]:
    """Write a table as CSV, with all digits if there is another for that, and as LaTeX.

    Args:
        path: without suffix.
        table: as people read it.
        exact: for CSV.

    Raises:
        InputError: if it cannot be written.
    """
    return [
        _write(path.with_name(f"{path.name}.csv"), (exact or table).to_csv()),
        _write(path.with_name(f"{path.name}.tex"), table.to_latex()),
    ]


def _write(path: Path, text: str) -> Path:
    return write_text(path, text)


def _safe(name: str) -> str:
    return "".join(sign if sign.isalnum() or sign in "._-" else "_" for sign in name)
