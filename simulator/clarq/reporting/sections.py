"""What is told of a run of dialogues: S, D and L by language and type, success by responses, who decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from rich.console import Console

from simulator.clarq.reporting.report import Report, report
from simulator.clarq.reporting.tables import Row
from simulator.clarq.results import ResultsFile
from simulator.figures import Cell, Column, Table
from simulator.frames import Frames
from simulator.reporting import Section
from simulator.runner.run_summary import print_problems, say

_DECIDED: Final = {"rule": "the rule", "judges": "judges", "people": "reviewers"}
_BARS: Final = " ▁▂▃▄▅▆▇█"


def run_sections(source: Frames) -> Iterator[Section]:
    """Yield a section for each run."""
    for run in source.runs:
        yield run_section(report(source.reader, run, exclude_aborted=source.exclude_aborted))


def run_section(report: Report) -> Section:
    """Return what is told of a run."""
    by_language = _table("language", report.by_language, (3, 2, 1))
    by_type = _table("type", report.by_type, (2, 1, 0))
    return Section(
        name="dialogues",
        title=f"{report.run_id}: S, D and L with 95 % intervals",
        tables=[by_language, by_type] if report.by_language else [],
        text="\n".join(_curves(report)),
        remarks=[*_remarks(report)],
        data={
            "run": report.run_id,
            "curve": report.curve,
            "unscored": report.unscored,
            "decided_by": report.decided_by,
            "judges": [asdict(pair) for pair in report.judges],
        },
    )


def tell_left_out(path: Path, file: ResultsFile) -> None:
    """Say on the other stream how many rows of a results file hold no dialogue, and which cannot be read."""
    if file.unplayed:
        say(Console(stderr=True), f"{path}: {file.unplayed} rows without a dialogue are passed over.")
    print_problems("clarq", file.faults, ())


def _table(name: str, rows: Sequence[Row], digits: tuple[int, int, int]) -> Table:
    intervals = (Column(head, places) for head, places in zip("SDL", digits, strict=True))
    cells: list[list[Cell]] = [
        [row.label, row.success.n, row.success, row.aqd, row.aql, row.needs_judge, row.aborted]
        for row in rows
    ]
    heads: list[Column | str] = [
        name,
        Column("n", 0),
        *intervals,
        Column("to judge", 0),
        Column("aborted", 0),
    ]
    return Table(heads, cells, f"By {name}", f"by_{name}")


def _curves(report: Report) -> Iterator[str]:
    """Yield success by responses, a line for each language."""
    for language, curve in report.curve.items():
        bars = "".join(_BARS[round(share * (len(_BARS) - 1))] for share in curve)
        steps = "  ".join(f"{n}: {share:.2f}" for n, share in enumerate(curve, 1) if n % 2 == 0)
        yield f"success by number of responses ({language})  {bars}  {steps}"


def _remarks(report: Report) -> Iterator[str]:
    if waiting := sum(row.needs_judge for row in report.by_language):
        yield (
            f"{waiting} dialogues need a judge (counted as not successful): "
            "askback score RUN --judge MODEL, or a reviewer in the app."
        )
    if report.decided_by.keys() - {"rule"}:
        shares = ", ".join(f"{count} by {_DECIDED[who]}" for who, count in sorted(report.decided_by.items()))
        yield f"S is decided in {shares}; people stand above judges, and most of each count."
    for pair in report.judges:
        kappa = "" if pair.kappa is None else f", κ {pair.kappa:.3f}"
        yield f"{pair.first} and {pair.second} say the same of {pair.equal} of {pair.n} dialogues{kappa}"
