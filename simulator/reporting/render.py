"""Rendering of reports: terminal, JSON, CSV, LaTeX, HTML."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from rich.console import Console
from rich.text import Text

from simulator.errors import InputError
from simulator.figures import Figure, Table, save
from simulator.figures.files import svg_address, svg_data
from simulator.figures.look import DARK, FONT, LIGHT
from simulator.figures.tables import cell_text, escape_latex
from simulator.output_files import write_atomically
from simulator.reporting.section import Drawing, Report, Section, plain_values
from trees.faults import fault_text

SUFFIXES: Final = ("png", "svg", "pdf", "html", "csv", "json")
"""Formats that figures can be written in."""
DRAWN_AS: Final = ("png", "svg", "pdf", "csv")
"""Default formats of figures."""
_DRAWING_SUFFIXES: Final = ("png", "svg", "csv")


def print_report(console: Console, report: Report) -> None:
    """Print a report's tables, texts and remarks; figures are only written to files (`write_report`)."""
    for warning in report.warnings:
        console.print(Text(warning, "yellow"), soft_wrap=True)
    for section in report.sections:
        if not (section.tables or section.text or section.remarks):
            continue
        console.print(Text(f"\n{section.title}", "bold"), soft_wrap=True)
        for number, table in enumerate(section.tables):
            if number:
                console.print()
            # A table with its section's title needs no second one.
            console.print((replace(table, title="") if table.title == section.title else table).to_text())
        if section.text:
            console.print(section.text, markup=False, highlight=False, soft_wrap=True)
        for remark in section.remarks:
            console.print(Text(f"· {remark}", "dim"), soft_wrap=True)


def report_json(report: Report) -> dict[str, Any]:
    """Return a report as plain values at full precision; intervals are objects."""
    values: dict[str, Any] = {"title": report.title, "warnings": list(report.warnings)}
    if report.endings is not None:
        values |= {
            "runs": list(report.runs),
            "statuses": dict(report.endings.statuses),
            "failures": dict(report.endings.failures),
            "left": dict(report.endings.left),
            "aborted": dict(report.endings.aborted),
            "exclude_aborted": report.endings.excluded,
        }
    values["sections"] = [_section_json(section) for section in report.sections]
    problems = report.problems
    return values | {
        "faults": [fault_text(fault) for fault in problems.faults],
        "unreadable": list(problems.unreadable),
    }


def json_text(report: Report) -> str:
    """Return a report as JSON text."""
    return json.dumps(report_json(report), ensure_ascii=False, allow_nan=False, indent=1)


def report_csv(report: Report) -> str:
    """Return the tables of a report as CSV, separated by blank lines."""
    return "\n".join(table.to_csv() for section in report.sections for _, table in section.named_tables())


def report_latex(report: Report) -> str:
    """Return the tables of a report as LaTeX, one after another."""
    return "\n".join(
        latex_table(table, name, _caption(report, section, table))
        for section in report.sections
        for name, table in section.named_tables()
    )


def write_report(report: Report, folder: Path, suffixes: Sequence[str] = DRAWN_AS) -> list[Path]:
    """Write a report into a folder and return the files: ``report.json``, ``report.html``, and one per part.

    Tables are written as CSV (full precision) and LaTeX (caption, label, siunitx columns), figures in the
    formats of `suffixes`, texts as ``.txt``.

    Raises:
        InputError: if the folder is a file, or a file cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--out {folder} is a file; name a folder")
    written = [
        write_atomically(folder / "report.json", json_text(report) + "\n"),
        write_atomically(folder / "report.html", html_page(report)),
    ]
    stems = {name for section in report.sections for name, _ in section.named_tables()}
    for section in report.sections:
        for name, table in section.named_tables():
            written.append(write_atomically(folder / f"{name}.csv", table.to_csv()))
            latex = latex_table(table, name, _caption(report, section, table))
            written.append(write_atomically(folder / f"{name}.tex", latex))
        for figure in section.figures:
            written += _save_figure(figure, folder, suffixes, taken=figure.name in stems)
        if section.text:
            written.append(write_atomically(folder / f"{section.name}.txt", section.text + "\n"))
    return written


def latex_table(table: Table, label: str, caption: str) -> str:
    r"""Return a floating LaTeX table (booktabs, siunitx) with caption, label and aligned decimal points."""
    head = (
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape_latex(caption)}}}",
        rf"\label{{tab:{label}}}",
    )
    return "\n".join([*head, table.to_latex(siunitx=True) + r"\end{table}", ""])


def _caption(report: Report, section: Section, table: Table) -> str:
    """Return a table's title; after its section's, if other sections have a table of this title, too."""
    titles = [{other.title for other in (*part.tables, *part.exact)} for part in report.sections]
    if table.title and sum(table.title in title for title in titles) > 1:
        return f"{section.title}. {table.title}"
    return table.title or section.title


def html_page(report: Report) -> str:
    """Return a report as one self-contained HTML page."""
    environment = Environment(
        loader=PackageLoader("simulator.reporting", "."), undefined=StrictUndefined, autoescape=True
    )
    template = environment.get_template("report.html.jinja")
    return template.render(report=report, address=_address, show=cell_text, light=LIGHT, dark=DARK, font=FONT)


def _section_json(section: Section) -> dict[str, Any]:
    values: dict[str, Any] = {
        "name": section.name,
        "title": section.title,
        "tables": [table.plain() for table in section.tables],
        "figures": [plain_values(figure) for figure in section.figures],
        "remarks": list(section.remarks),
    }
    if section.text:
        values["text"] = section.text
    return values | ({"data": plain_values(section.data)} if section.data else {})


def _save_figure(
    figure: Figure | Drawing, folder: Path, suffixes: Sequence[str], *, taken: bool
) -> list[Path]:
    """Write a figure; its CSV does not replace that of a table of the same name (`taken`)."""
    if isinstance(figure, Figure):
        ends = ("-figure.csv" if taken and suffix == "csv" else f".{suffix}" for suffix in suffixes)
        return [save(figure, folder / f"{figure.name}{end}") for end in ends]
    names = [f"{figure.name}.{suffix}" for suffix in _DRAWING_SUFFIXES if suffix in suffixes]
    return [figure.save(folder / name) for name in names]


def _address(figure: Figure | Drawing) -> str:
    return svg_address(figure) if isinstance(figure, Figure) else svg_data(figure.svg().encode())
