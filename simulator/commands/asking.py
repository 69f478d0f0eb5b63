"""`askback report asking`: who asked when, and with what success, in all benchmarks with asking back."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.text import Text

from logs import LogReader
from logs.cli import LogOption
from logs.paths import default_path
from simulator import catalog
from simulator.asking import Asking, AskingRecords, askable, asking_spec, read_asking
from simulator.commands.asking_measures import Row, rows
from simulator.commands.report import RunsArgument
from simulator.errors import InputError
from simulator.figures import Bars, Cell, Figure, Panel, Table, save
from simulator.output_files import write_atomically
from simulator.reporting import Report, Section, plain_values
from simulator.runner.options import ExactJsonOption, ExcludeAbortedOption, WithExcludedOption
from simulator.runner.run_summary import print_aborted
from simulator.stats import Interval, half_up

Columns = Mapping[str, str]
"""Heading -> field of a row."""
ToCell = Callable[[str, Any], Cell]
"""A function from a heading and a row's value to the cell that is shown."""
DRAWN_AS: Final = ("png", "svg", "csv")
_TITLE: Final = "Asking back"
_NAMES: Final = ("benchmark", "robot", "user", "kind")
# The cells of the taxonomy.
_NEEDS: Final[Columns] = {
    "person": "when_needed",
    "inferred": "when_inferred",
    "nothing": "when_nothing",
}
# A terminal of eighty columns has room for two intervals next to the names, so it shows several tables.
_SHOWN: Final[Mapping[str, Columns]] = {
    "Who asked, by what was open": {**_NEEDS, "J": "youden"},
    "Questions": {"per episode": "questions", "useful": "useful"},
    "Price of a question": {"points": "price"},
    "Right in the end": {"of those that asked": "right_asking", "of those that did not": "right_silent"},
    "All of them": {"asked as needed": "decided", "right in the end": "right"},
    "Right before any question, and in the end": {"before": "before", "after": "after", "gain": "gain"},
}
_SHOWN_BY_KIND: Final = ("Who asked, by what was open", "All of them")
_COLUMNS: Final[Columns] = {
    "episodes": "episodes",
    "asked, person": "when_needed",
    "asked, inferred": "when_inferred",
    "asked, nothing": "when_nothing",
    "asked where not needed": "when_not",
    "J": "youden",
    "asked as needed": "decided",
    "questions": "questions",
    "useful": "useful",
    "price": "price",
    "right": "right",
    "right, asked": "right_asking",
    "right, not asked": "right_silent",
    "before": "before",
    "after": "after",
    "gain": "gain",
    "open": "open",
    "aborted": "aborted",
}
# The columns that fit a page; CSV has all of them.
_PRINTED: Final[Columns] = {
    **_NEEDS,
    "J": "youden",
    "questions": "questions",
    "useful": "useful",
    "right": "right",
}


@dataclass(frozen=True, slots=True)
class AskingReport:
    """The asking-back report on runs: the records, and the rows of its tables."""

    records: AskingRecords
    rows: tuple[Row, ...]
    by_kind: tuple[Row, ...]


def report_asking(
    runs: RunsArgument,
    users: Annotated[
        bool, typer.Option("--users", help="separate rows for each player that answered")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="folder for the figure (png, svg, csv) and the tables (csv, tex)")
    ] = None,
    as_json: ExactJsonOption = False,
    log: LogOption = None,
    exclude_aborted: ExcludeAbortedOption = False,
    with_excluded: WithExcludedOption = False,
) -> None:
    """Show who asked when it was needed and when it was not, and whether the end was right.

    Runs of all benchmarks with asking back are in one table, people and models together.
    """
    if out is not None and out.exists() and not out.is_dir():
        raise InputError(f"--out {out} is a file; name a folder")
    with LogReader(log or default_path(), with_excluded=with_excluded) as reader:
        report = build_report(read_asking(reader, runs, exclude_aborted=exclude_aborted), users=users)
    written = [] if out is None else write(report, out)
    if as_json:
        typer.echo(json.dumps(plain(report), ensure_ascii=False, allow_nan=False, indent=1))
    else:
        _print(Console(), report)
    for path in written:
        typer.echo(f"wrote {path}", err=True)


def build_report(records: AskingRecords, *, users: bool = False) -> AskingReport:
    """Return the report on records; `users`: with separate rows for each player that answered."""
    overall = rows(records.askings, by_user=users)
    return AskingReport(records, overall, rows(records.askings, by_user=users, by_kind=True))


def full_table(rows: Sequence[Row], title: str = "") -> Table:
    """Return one table with all columns, for files."""
    return _table(title, rows, _NAMES, _COLUMNS, lambda head, cell: cell)


def full_report(records: AskingRecords, *, by_kind: bool = False, users: bool = False) -> Report:
    """Return a report with one table of all columns, the figure, and every episode as data."""
    report = build_report(records, users=users)
    lines, figure = report.by_kind if by_kind else report.rows, asking_figure(report.rows)
    section = Section(
        name="asking",
        title=_TITLE,
        tables=[full_table(lines)],
        figures=[] if figure is None else [figure],
        remarks=notes(lines),
        data=plain(report),
    )
    return Report(title=section.title, sections=[section])


def printed_table(rows: Sequence[Row]) -> Table:
    """Return a table that fits a page: shares with their n, J with its interval, no empty columns."""
    return _filled_table(
        _TITLE,
        rows,
        _NAMES,
        _PRINTED,
        lambda head, cell: cell.bracketed() if cell and head == "J" else _with_n(cell),
    )


def _shown_table(title: str, columns: Columns, rows: Sequence[Row], names: Sequence[str]) -> Table | None:
    """Return a table of the rows that have a value in any of the columns; None if no row has."""
    known = [row for row in rows if any(getattr(row, field) is not None for field in columns.values())]
    if not known:
        return None
    return _filled_table(
        title, known, names, columns, lambda head, cell: _with_n(cell) if head in _NEEDS else cell
    )


def _filled_table(
    title: str, rows: Sequence[Row], names: Sequence[str], columns: Columns, shown: ToCell
) -> Table:
    """Return a table without empty names and columns."""
    filled = {
        head: field for head, field in columns.items() if any(getattr(row, field) is not None for row in rows)
    }
    return _table(
        title, rows, [name for name in names if any(_name(row, name) for row in rows)], filled, shown
    )


def _table(title: str, rows: Sequence[Row], names: Sequence[str], columns: Columns, shown: ToCell) -> Table:
    cells = [
        [
            *(_name(row, name) for name in names),
            *(shown(head, getattr(row, field)) for head, field in columns.items()),
        ]
        for row in rows
    ]
    return Table([*names, *columns], cells, title)


def _name(row: Row, name: str) -> str:
    return catalog.find(row.benchmark).title if name == "benchmark" else str(getattr(row, name))


def _with_n(cell: Interval | None) -> str | None:
    """Return a share with its n: ``0.61 (92)``."""
    return None if cell is None else f"{half_up(cell.value)} ({cell.n})"


def asking_figure(rows: Sequence[Row]) -> Figure | None:
    """Return the figure of who asked under which need: a panel per benchmark; None without decisions."""
    panels = [
        Panel(catalog.find(name).title, "what is open", "share that asked", bars)
        for name in askable()
        if (bars := [_bars(row) for row in rows if row.benchmark == name and row.decided is not None])
    ]
    if not panels:
        return None
    caption = "Share of decisions in which the robot asked, by what settles what is open; 95 % intervals."
    return Figure("asking-figure", "Who asks, and where only this person knows", panels, caption, columns=1)


def _bars(row: Row) -> Bars:
    shares = {head: share for head, field in _NEEDS.items() if (share := getattr(row, field)) is not None}
    return Bars.from_intervals(f"{row.robot} / {row.user}" if row.user else row.robot, shares.items())


def notes(rows: Iterable[Row]) -> tuple[str, ...]:
    """Return notes on how to read tables with these rows, for each of their benchmarks."""
    names = {row.benchmark for row in rows}
    parts = {name: asking_spec(name).notes for name in askable() if name in names}
    titled = [(catalog.find(name).title, part) for name, part in parts.items() if part is not None]
    need = " ".join(f"{title}: {part.need}." for title, part in titled)
    useful = "; ".join(f"{title}: {part.useful}" for title, part in titled)
    right = "; ".join(f"{title}, {part.right}" for title, part in titled)
    price = "; ".join(part.price for _, part in titled if part.price)
    return (
        "person: something is open that only this person can know, so asking is needed; inferred: common "
        "knowledge, or what people do, settles what is open; nothing: nothing is open. In the last two "
        "asking is not needed.",
        *([need] if need else []),
        "J (Youden's): share that asked under person, less share that asked where it was not needed; "
        "always asking gives 0, and so does never asking.",
        "Useful: the answer gave something that was open and had not been given"
        + (f" ({useful})." if useful else ".")
        + (f" Price: {price} per question." if price else ""),
        (f"Right: {right}. " if right else "")
        + "Before and after: episodes with a choice before any question and at the end.",
        "What a failing seat aborted is not right in the end, and tells of asking only if something was "
        "asked.",
        "Intervals are 95 %: Wilson's for shares where each item was played once, else bootstrap over items; "
        "J's is Newcombe's where one of its two shares does not vary. (n): items; of useful, questions.",
    )


def plain(report: AskingReport) -> dict[str, Any]:
    """Return the report as JSON values, with every digit."""
    return {
        "rows": plain_values(report.rows),
        "by_kind": plain_values(report.by_kind),
        "episodes": [_plain_episode(episode) for episode in report.records.askings],
        "left_out": report.records.left_out,
        "aborted": dict(report.records.aborted),
        "exclude_aborted": report.records.exclude_aborted,
        "notes": list(notes(report.rows)),
    }


def _plain_episode(episode: Asking) -> dict[str, Any]:
    """Return an episode as JSON values, with its record under the name that it has always had there."""
    values = asdict(episode)
    record = values.pop("record")
    return values | {"told": record | {"manner": ", ".join(episode.record.manner)}}


def write(report: AskingReport, folder: Path) -> list[str]:
    """Write the tables (CSV with every digit, LaTeX), the figure and ``asking.json``.

    Raises:
        InputError: if a file cannot be written.
    """
    text = json.dumps(plain(report), ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    written = [write_atomically(folder / "asking.json", text)]
    for name, lines in (("asking", report.rows), ("asking-by-kind", report.by_kind)):
        written.append(write_atomically(folder / f"{name}.csv", full_table(lines, _TITLE).to_csv()))
        written.append(write_atomically(folder / f"{name}.tex", printed_table(lines).to_latex()))
    if (figure := asking_figure(report.rows)) is not None:
        written += [save(figure, folder / f"{figure.name}.{suffix}") for suffix in DRAWN_AS]
    return list(map(str, written))


def _print(console: Console, report: AskingReport) -> None:
    tables = [_shown_table(title, columns, report.rows, _NAMES) for title, columns in _SHOWN.items()]
    for benchmark in askable():
        by_kind = [row for row in report.by_kind if row.benchmark == benchmark]
        prefix = f"{catalog.find(benchmark).title}, by kind: "
        tables += [
            _shown_table(prefix + title, _SHOWN[title], by_kind, _NAMES[1:]) for title in _SHOWN_BY_KIND
        ]
    for table in filter(None, tables):
        console.print(table.to_text())
        console.print()
    records = report.records
    print_aborted(console, records.aborted, excluded=records.exclude_aborted)
    left_out = ", ".join(f"{count} {why}" for why, count in records.left_out.items())
    waiting = Counter[str]()
    for row in report.rows:
        waiting[catalog.find(row.benchmark).title] += row.open
    lines = [
        *([f"Left out: {left_out}."] if left_out else []),
        *(
            f"{count} episodes of {title} wait for a judge: their success is a lower bound."
            for title, count in waiting.items()
            if count
        ),
        *notes(report.rows),
    ]
    for line in lines:
        console.print(Text(f"· {line}", "dim"), soft_wrap=True)
