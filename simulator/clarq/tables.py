"""A report of a run in the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from logs import ModelUsage
from simulator.clarq.report import Report, Row
from simulator.stats import Interval

_BARS = " ▁▂▃▄▅▆▇█"


def print_report(console: Console, report: Report, usage: Sequence[ModelUsage]) -> None:
    """Statuses, S, D and L by language and by type, success by responses, cost."""
    statuses = ", ".join(f"{count} {status}" for status, count in sorted(report.statuses.items()))
    console.print(f"\n[bold]{report.run_id}[/bold]  {statuses or 'nothing played yet'}")
    if not report.by_language:
        return
    console.print(_table("S, D and L with 95 % intervals", report.by_language))
    if len(report.by_type) > 1:
        console.print(_table("by task type", report.by_type))
    for language, curve in report.curve.items():
        bars = "".join(_BARS[round(share * (len(_BARS) - 1))] for share in curve)
        steps = "  ".join(f"{n}: {share:.2f}" for n, share in enumerate(curve, 1) if n % 2 == 0)
        console.print(f"success by number of responses ({language})  {bars}  [dim]{steps}[/dim]")
    if open_ones := sum(row.needs_judge for row in report.by_language):
        console.print(
            f"[yellow]{open_ones} dialogues need a judge[/yellow] (counted as not successful): "
            "askback score RUN --judge MODEL, or a reviewer in the app."
        )
    for one in usage:
        cost = "no price known" if one.cost is None else f"${one.cost:.4f}"
        console.print(f"[dim]{one.model}: {one.calls} calls, {one.cached} from the cache, {cost}[/dim]")


def report_json(report: Report) -> dict[str, Any]:
    """The report as plain JSON."""
    plain = asdict(report)
    for key in ("by_language", "by_type"):
        for row, original in zip(plain[key], getattr(report, key), strict=True):
            row |= {name: getattr(original, name)._asdict() for name in ("success", "aqd", "aql")}
    return plain


def _table(title: str, rows: Sequence[Row]) -> Table:
    table = Table(title=title, title_justify="left", title_style="dim", box=None, pad_edge=False)
    table.add_column("")
    for heading in ("n", "S", "D", "L", "judge"):
        table.add_column(heading, justify="right")
    for row in rows:
        open_ones = str(row.needs_judge) if row.needs_judge else ""
        cells = (_cell(row.success, 3), _cell(row.aqd, 2), _cell(row.aql, 1))
        table.add_row(row.label, str(row.success.n), *cells, open_ones)
    return table


def _cell(interval: Interval, digits: int) -> str:
    low, high = f"{interval.low:.{digits}f}", f"{interval.high:.{digits}f}"
    return f"[bold]{interval.value:.{digits}f}[/bold] [dim]{low} … {high}[/dim]"
