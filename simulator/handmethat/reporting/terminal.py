"""A report in the terminal, as CSV, as LaTeX and as JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from logs import ModelUsage
from simulator.handmethat.reporting.report import Report
from simulator.handmethat.reporting.tables import PERSON, Asked, Cell, Gain, Row
from simulator.handmethat.sample import Makeup, sampled
from simulator.handmethat.task import LEVELS
from simulator.runner.telling import print_endings, print_usage, say
from simulator.stats import Interval

_COLUMNS: Final = ("score", "success", "moves")
_TITLE: Final = "score (success %, moves of successes) by level; * full observability; 95 % intervals"


def print_report(console: Console, report: Report, usage: Sequence[ModelUsage] = ()) -> None:
    """Statuses, the table by level, success and score by questions, gains per question, cost."""
    print_endings(
        console,
        report.runs,
        report.statuses,
        report.failures,
        aborted=report.aborted,
        excluded=report.exclude_aborted,
    )
    for run, of in report.items.items():
        tell_makeup(console, of, report.samples.get(run, {}), f"{run}: " if len(report.runs) > 1 else "")
    if report.rows:
        console.print(_level_table(report.rows))
    if any(one.questions for one in report.asked):
        console.print(_asked_table([one for one in report.asked if one.level is None]))
    if report.gains:
        console.print(_gain_table(report.gains))
    print_usage(console, usage)


def tell_makeup(console: Console, of: Makeup, drawn: Mapping[str, Any], before: str = "") -> None:
    """Print what some episodes are, and of what they are a sample, if they are one (`Sample.to_json`)."""
    say(console, f"{before}{of.text}; {sampled(drawn)}" if drawn else f"{before}{of.text}")


def report_json(report: Report) -> dict[str, Any]:
    """The report as plain JSON."""
    return {
        "runs": list(report.runs),
        "rows": [
            {
                **asdict(row.who),
                "label": row.who.label,
                "levels": {str(level): _cell_json(cell) for level, cell in row.levels.items()},
                "all": _cell_json(row.all),
            }
            for row in report.rows
        ],
        "asked": [
            {
                "robot": one.robot,
                "mode": one.mode,
                "level": one.level,
                "questions": one.questions,
                **_cell_json(one.cell),
            }
            for one in report.asked
        ],
        "gains": [
            {
                "robot": one.robot,
                "mode": one.mode,
                "level": one.level,
                "fewer": one.fewer,
                "more": one.more,
                "success": one.success._asdict(),
                "score": one.score._asdict(),
            }
            for one in report.gains
        ],
        "statuses": report.statuses,
        "unscored": report.unscored,
        "failures": report.failures,
        "items": {run: _makeup_json(of) for run, of in report.items.items()},
        "samples": report.samples,
        "aborted": report.aborted,
        "exclude_aborted": report.exclude_aborted,
    }


def report_csv(report: Report) -> str:
    """The table in long form: a line per robot and level (``all`` the last), intervals in columns."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = [f"{name}{end}" for name in _COLUMNS for end in ("", "_low", "_high")]
    writer.writerow(["robot", "mode", "protocol", "questions_allowed", "level", "n", *names, "raw_sum"])
    for row in report.rows:
        who = row.who
        cells: list[tuple[str, Cell]] = [(str(level), cell) for level, cell in row.levels.items()]
        for level, cell in [*cells, ("all", row.all)]:
            numbers = [f"{number:.4f}" for name in _COLUMNS for number in _numbers(cell, name)] + (
                [""] * 3 if cell.moves is None else []
            )
            allowed = "" if who.allowed is None else who.allowed
            head = [who.robot, who.mode, who.protocol, allowed, level, cell.n]
            writer.writerow([*head, *numbers, f"{cell.raw_sum:.4f}"])
    return out.getvalue()


def report_latex(report: Report) -> str:
    """The table in the shape of the paper's Table 2, for booktabs."""
    lines = [
        rf"\begin{{tabular}}{{l{'c' * len(LEVELS)}}}",
        r"\toprule",
        " & ".join(["Robot", *(f"Level {level}" for level in LEVELS)]) + r" \\",
        r"\midrule",
    ]
    for row in report.rows:
        cells = (row.levels.get(level) for level in LEVELS)
        told = ("--" if cell is None else table_cell(cell, row.who.robot == PERSON) for cell in cells)
        lines.append(" & ".join([_escaped(row.who.label), *told]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def table_cell(cell: Cell, person: bool = False) -> str:
    """A cell as the paper prints it: ``88.9 (94.9, 4.2)``; of people only success and moves."""
    success, moves = f"{100 * cell.success.value:.1f}", cell.moves
    inner = success if moves is None else f"{success}, {moves.value:.1f}"
    # PAPER has no scores of people, who are not told about points.
    return f"({inner})" if person else f"{cell.score.value:.1f} ({inner})"


def _level_table(rows: Sequence[Row]) -> Table:
    table = Table(title=_TITLE, title_justify="left", title_style="dim", box=None, pad_edge=False)
    table.add_column("", no_wrap=True, overflow="ellipsis")
    for heading in (*(f"L{level}" for level in LEVELS), "all", "n"):
        table.add_column(heading, justify="right")
    for row in rows:
        cells = [row.levels.get(level) for level in LEVELS]
        person = row.who.robot == PERSON
        told = [_rich_cell(cell, person) for cell in (*cells, row.all)]
        table.add_row(row.who.label, *told, str(row.all.n))
    return table


def _asked_table(rows: Sequence[Asked]) -> Table:
    table = Table(
        title="success and score by the number of questions asked",
        title_justify="left",
        title_style="dim",
        box=None,
        pad_edge=False,
    )
    for heading in ("", "questions", "n", "success %", "score"):
        table.add_column(heading, justify="left" if not heading else "right", no_wrap=True)
    for one in rows:
        name = f"{one.robot}{'*' if one.mode == 'full' else ''}"
        told = (_interval(one.cell.success, 1, 100), _interval(one.cell.score, 1))
        table.add_row(name, str(one.questions), str(one.cell.n), *told)
    return table


def _gain_table(rows: Sequence[Gain]) -> Table:
    table = Table(
        title="gain per question allowed, over the same items",
        title_justify="left",
        title_style="dim",
        box=None,
        pad_edge=False,
    )
    for heading in ("", "level", "questions", "pairs", "success %", "score"):
        table.add_column(heading, justify="left" if not heading else "right", no_wrap=True)
    for one in rows:
        name = f"{one.robot}{'*' if one.mode == 'full' else ''}"
        level = "all" if one.level is None else str(one.level)
        told = (_interval(one.success, 1, 100), _interval(one.score, 1))
        table.add_row(name, level, f"{one.fewer} to {one.more}", str(one.success.n), *told)
    return table


def _rich_cell(cell: Cell | None, person: bool) -> str:
    if cell is None:
        return ""
    low, high = (f"{100 * end:.0f}" for end in (cell.success.low, cell.success.high))
    return f"[bold]{table_cell(cell, person)}[/bold] [dim]{low}…{high}[/dim]"


def _interval(interval: Interval, digits: int, times: float = 1) -> str:
    value, low, high = (f"{times * number:.{digits}f}" for number in interval[:3])
    return f"[bold]{value}[/bold] [dim]{low}…{high}[/dim]"


def _numbers(cell: Cell, name: str) -> tuple[float, ...]:
    interval: Interval | None = getattr(cell, name)
    return () if interval is None else interval[:3]


def _cell_json(cell: Cell) -> dict[str, Any]:
    return {
        "n": cell.n,
        "score": cell.score._asdict(),
        "success": cell.success._asdict(),
        "moves": None if cell.moves is None else cell.moves._asdict(),
        "raw_sum": cell.raw_sum,
    }


def _makeup_json(of: Makeup) -> dict[str, Any]:
    return {**asdict(of), "levels": {str(level): count for level, count in of.levels.items()}}


def _escaped(text: str) -> str:
    for sign in "\\&%$#_{}":
        text = text.replace(sign, {"\\": r"\textbackslash "}.get(sign, f"\\{sign}"))
    return text
