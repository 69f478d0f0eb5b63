"""A report of a run in the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from logs import ModelUsage
from simulator.clarq.reporting.report import Report
from simulator.clarq.reporting.tables import Row
from simulator.clarq.results import ResultsFile
from simulator.runner.telling import print_endings, print_usage, say, tell_problems
from simulator.stats import Interval

_DECIDED = {"rule": "the rule", "judges": "judges", "people": "reviewers"}
_BARS = " ▁▂▃▄▅▆▇█"


def print_report(console: Console, report: Report, usage: Sequence[ModelUsage]) -> None:
    """Statuses, S, D and L by language and by type, success by responses, cost."""
    print_endings(
        console,
        [report.run_id],
        report.statuses,
        report.failures,
        aborted=report.aborted,
        excluded=report.exclude_aborted,
    )
    if not report.by_language:
        return
    console.print(_table("S, D and L with 95 % intervals", report.by_language, (3, 2, 1)))
    if len(report.by_type) > 1:
        console.print(_table("by task type", report.by_type, (2, 1, 0)))
    for language, curve in report.curve.items():
        bars = "".join(_BARS[round(share * (len(_BARS) - 1))] for share in curve)
        steps = "  ".join(f"{n}: {share:.2f}" for n, share in enumerate(curve, 1) if n % 2 == 0)
        console.print(f"success by number of responses ({language})  {bars}  [dim]{steps}[/dim]")
    if open_ones := sum(row.needs_judge for row in report.by_language):
        console.print(
            f"[yellow]{open_ones} dialogues need a judge[/yellow] (counted as not successful): "
            "askback score RUN --judge MODEL, or a reviewer in the app."
        )
    if report.decided_by.keys() - {"rule"}:
        shares = ", ".join(f"{count} by {_DECIDED[who]}" for who, count in sorted(report.decided_by.items()))
        console.print(f"S is decided in {shares}; people stand above judges, and most of each count.")
    for pair in report.judges:
        kappa = "" if pair.kappa is None else f", κ {pair.kappa:.3f}"
        said = f"{pair.first} and {pair.second} say the same of {pair.equal} of {pair.n} dialogues{kappa}"
        console.print(Text(said), highlight=False)
    print_usage(console, usage)


def tell_left_out(path: Path, file: ResultsFile) -> None:
    """Say on the other stream how many rows of a results file hold no dialogue, and which cannot be read."""
    if file.unplayed:
        say(Console(stderr=True), f"{path}: {file.unplayed} rows without a dialogue are passed over.")
    tell_problems("clarq", file.faults, ())


def report_json(report: Report) -> dict[str, Any]:
    """The report as plain JSON."""
    plain = asdict(report)
    for key in ("by_language", "by_type"):
        for row, original in zip(plain[key], getattr(report, key), strict=True):
            row |= {
                name: None if (found := getattr(original, name)) is None else found._asdict()
                for name in ("success", "aqd", "aql")
            }
    return plain


def _table(title: str, rows: Sequence[Row], digits: tuple[int, int, int]) -> Table:
    table = Table(title=title, title_justify="left", title_style="dim", box=None, pad_edge=False)
    table.add_column("", no_wrap=True, overflow="ellipsis")
    broken = any(row.aborted for row in rows)
    for heading in ("n", "S", "D", "L", "to judge", *(["aborted"] if broken else [])):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        intervals = zip((row.success, row.aqd, row.aql), digits, strict=True)
        cells = (_cell(interval, places) for interval, places in intervals)
        counts = (row.needs_judge, *([row.aborted] if broken else []))
        table.add_row(row.label, str(row.success.n), *cells, *(str(count or "") for count in counts))
    return table


def _cell(interval: Interval | None, digits: int) -> str:
    if interval is None:
        return "—"
    low, high = f"{interval.low:.{digits}f}", f"{interval.high:.{digits}f}"
    return f"[bold]{interval.value:.{digits}f}[/bold] [dim]{low}…{high}[/dim]"
