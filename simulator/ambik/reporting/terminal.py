"""Sections for a terminal, and as JSON, CSV and LaTeX files (spec 12)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from simulator.ambik.reporting.section import Section, plain
from simulator.errors import InputError
from simulator.runner.telling import say
from simulator.whole import write_whole


def json_text(value: Any) -> str:
    """JSON as it is printed and written."""
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False, indent=1)


def sections_json(sections: Iterable[Section]) -> dict[str, Any]:
    """Sections by kind, those of files by name below it."""
    found: dict[str, Any] = {}
    for one in sections:
        if one.name:
            found.setdefault(one.kind, {})[one.name] = one.to_json()
        else:
            found[one.kind] = one.to_json()
    return found


def print_section(console: Console, section: Section) -> None:
    """Heading, what it was read from, tables, remarks."""
    console.print(Text(section.title, "bold"), soft_wrap=True)
    if section.rows is not None:
        left = f", {section.left_out} left out as faulty" if section.left_out else ""
        of = f" of {', '.join(section.files)}" if section.files else ""
        say(console, f"{section.rows} rows{of}{left}", "dim")
    for table in section.tables.values():
        console.print()
        console.print(table.to_text())
    if section.remarks and section.tables:
        console.print()
    for line in section.remarks:
        say(console, f"· {line}")
    console.print()


def write_out(folder: Path, sections: Iterable[Section]) -> list[Path]:
    """Write ``report.json``, and each table as CSV with every digit and as LaTeX.

    Raises:
        InputError: if a file cannot be written.
    """
    every = tuple(sections)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--out {folder}: is a file; name a folder")
    written = [write_text(folder / "report.json", json_text(sections_json(every)) + "\n")]
    for one in every:
        for name, table in (*one.tables.items(), *one.exact.items()):
            stem = "-".join(map(safe, filter(None, (one.kind, one.name, name))))
            written += [
                write_text(folder / f"{stem}.csv", table.to_csv()),
                write_text(folder / f"{stem}.tex", table.to_latex()),
            ]
    return written


def write_text(path: Path, text: str) -> Path:
    """Write a text; missing folders are made, and the file is there whole or not at all.

    Raises:
        InputError: if it cannot be written.
    """
    return write_whole(path, text.encode())


def safe(name: str) -> str:
    """A name fit for a file."""
    return "".join(sign if sign.isalnum() or sign in "._-" else "-" for sign in name).strip("-.") or "run"
