"""`askback report asking`: who asked when, and what it brought, over all rooms in which somebody may ask."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.text import Text

from logs import LogReader
from logs.cli import LogOption
from logs.paths import default_path
from simulator.asking import BENCHMARKS, Asking, Found, Row, askings, rows
from simulator.errors import InputError
from simulator.figures import Bars, Cell, Figure, Panel, Table, save
from simulator.runner.options import ExactJsonOption, ExcludeAbortedOption
from simulator.runner.telling import print_aborted
from simulator.stats import Interval
from simulator.whole import write_whole

DRAWN_AS: Final = ("png", "svg", "csv")
NAMES: Final = {"clarq": "ClarQ-LLM", "handmethat": "HandMeThat", "ambik": "AmbiK"}
_NAMES: Final = ("benchmark", "robot", "user", "kind")
# Cells of the taxonomy: heading, field of a row.
_CELLS: Final = {
    "person": "when_needed",
    "inferred": "when_inferred",
    "nothing": "when_nothing",
}
NOTES: Final = (
    "person: something is open that only this person can know, so asking is needed; inferred: common "
    "knowledge, or what people do, settles what is open; nothing: nothing is open. In the last two asking is "
    "not needed.",
    "ClarQ-LLM: person until every node has been given, then nothing. HandMeThat: nothing at level 1, "
    "inferred at levels 2 and 3, person at level 4. AmbiK: person where preferences settle it, "
    "inferred where common sense or safety does, nothing in clear and clarified tasks.",
    "J (Youden's): share that asked under person, less share that asked where it was not needed; whoever "
    "always asks, or never does, has 0.",
    "Useful: the answer told something that was open and had not been told (ClarQ-LLM: a node; HandMeThat: "
    "fewer things fit; AmbiK: what the intent wants). Price: points of HandMeThat's score per question.",
    "Right: ClarQ-LLM, success; HandMeThat, the human has what was meant; AmbiK, the action realises the "
    "user's intent. Before and after: episodes with a choice before any question and at the end.",
    "What a failing seat aborted is not right in the end, and tells of asking only if something was asked.",
    "Intervals are 95 %: Wilson's for shares where each item was played once, else bootstrap over items.",
)


# A terminal of eighty columns shows two intervals beside the names: one table there is several.
_SHOWN: Final[dict[str, dict[str, str]]] = {
    "Who asked, by what was open": {**_CELLS, "J": "youden"},
    "Questions": {"per episode": "questions", "useful": "useful"},
    "Price of a question": {"points": "price"},
    "Right in the end": {"of those that asked": "right_asking", "of those that did not": "right_silent"},
    "All of them": {"asked as needed": "decided", "right in the end": "right"},
    "Right before any question, and in the end": {"before": "before", "after": "after", "gain": "gain"},
}
_SHOWN_BY_KIND: Final = ("Who asked, by what was open", "All of them")
_COLUMNS: Final = {
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
# What a page has room for; CSV has everything.
_PRINTED: Final = {**_CELLS, "J": "youden", "questions": "questions", "useful": "useful", "right": "right"}


@dataclass(frozen=True, slots=True)
class Report:
    """What is told of some runs.

    Attributes:
        rows: by robot.
        by_kind: by robot and kind.
        figure: who asked under which need; None if nothing is known of any.
    """

    found: Found
    rows: tuple[Row, ...]
    by_kind: tuple[Row, ...]
    figure: Figure | None


def report_asking(
    runs: Annotated[
        list[str], typer.Argument(help="names of runs (askback log list shows them)", metavar="RUN…")
    ],
    users: Annotated[bool, typer.Option("--users", help="a row for each who answered, too")] = False,
    out: Annotated[
        Path | None, typer.Option(help="folder for the figure (png, svg, csv) and the tables (csv, tex)")
    ] = None,
    as_json: ExactJsonOption = False,
    log: LogOption = None,
    exclude_aborted: ExcludeAbortedOption = False,
) -> None:
    """Who asked when it was needed and when it was not, and whether the end was right with and without.

    Runs of ClarQ-LLM, HandMeThat and AmbiK stand in one table, people and models together.
    """
    if out is not None and out.exists() and not out.is_dir():
        raise InputError(f"--out {out}: is a file; name a folder")
    with LogReader(log or default_path()) as reader:
        made = report(askings(reader, runs, exclude_aborted=exclude_aborted), users=users)
    written = [] if out is None else write(made, out)
    if as_json:
        typer.echo(json.dumps(plain(made), ensure_ascii=False, allow_nan=False, indent=1))
    else:
        _print(Console(), made)
    for path in written:
        typer.echo(f"wrote {path}", err=True)


def report(found: Found, *, users: bool = False) -> Report:
    """Tables and figure of records."""
    over_all = rows(found.askings, by_user=users)
    by_kind = rows(found.askings, by_user=users, by_kind=True)
    return Report(found, over_all, by_kind, asking_figure(over_all))


def whole_table(title: str, some: Sequence[Row]) -> Table:
    """Everything that is told of some rows in one table, for files."""
    cells = [_cells(one, _NAMES, _COLUMNS) for one in some]
    return Table([*_NAMES, *_COLUMNS], cells, title)


def printed_table(title: str, some: Sequence[Row]) -> Table:
    """Give what fits a page: shares with their n, J with its interval, no column without cells."""
    names = [name for name in _NAMES if any(_name(one, name) for one in some)]
    told = {head: field for head, field in _PRINTED.items() if any(getattr(one, field) for one in some)}
    cells = [
        [
            *(_name(one, name) for name in names),
            *(_told(getattr(one, field), whole=head == "J") for head, field in told.items()),
        ]
        for one in some
    ]
    return Table([*names, *told], cells, title)


def asking_figure(some: Sequence[Row]) -> Figure | None:
    """Who asked under which need, one panel per room; robots are told apart by colour and named once."""
    panels = [
        _panel(benchmark, those)
        for benchmark in BENCHMARKS
        if (those := [one for one in some if one.benchmark == benchmark and one.decided is not None])
    ]
    if not panels:
        return None
    caption = "Share of decisions in which the robot asked, by what settles what is open; 95 % intervals."
    return Figure("asking-figure", "Who asks, and where only this person knows", panels, caption, columns=1)


def plain(made: Report) -> dict[str, Any]:
    """The report as plain values, with every digit."""
    return {
        "rows": [_plain_row(one) for one in made.rows],
        "by_kind": [_plain_row(one) for one in made.by_kind],
        "episodes": [_plain_episode(one) for one in made.found.askings],
        "left_out": made.found.left_out,
        "aborted": dict(made.found.aborted),
        "exclude_aborted": made.found.exclude_aborted,
        "notes": list(NOTES),
    }


def write(made: Report, folder: Path) -> list[str]:
    """Write the tables (CSV with every digit, LaTeX), the figure and ``asking.json``.

    Raises:
        InputError: if a file cannot be written.
    """
    text = json.dumps(plain(made), ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    written = [write_whole(folder / "asking.json", text.encode())]
    for name, some in (("asking", made.rows), ("asking-by-kind", made.by_kind)):
        table = whole_table("Asking back", some)
        written.append(write_whole(folder / f"{name}.csv", table.to_csv().encode()))
        short = printed_table("Asking back", some)
        written.append(write_whole(folder / f"{name}.tex", short.to_latex().encode()))
    if made.figure is not None:
        written += [save(made.figure, folder / f"{made.figure.name}.{suffix}") for suffix in DRAWN_AS]
    return list(map(str, written))


def _narrow(title: str, columns: dict[str, str], some: Sequence[Row], names: Sequence[str]) -> Table | None:
    """Some columns, without rows of which nothing is known, and without names that no row has."""
    known = [one for one in some if any(getattr(one, field) is not None for field in columns.values())]
    if not known:
        return None
    told = [name for name in names if any(_name(one, name) for one in known)]
    columns = {
        head: field
        for head, field in columns.items()
        if any(getattr(one, field) is not None for one in known)
    }
    cells = [_cells(one, told, columns, short=True) for one in known]
    return Table([*told, *columns], cells, title)


def _name(one: Row, name: str) -> str:
    return NAMES[one.benchmark] if name == "benchmark" else str(getattr(one, name))


def _cells(one: Row, names: Sequence[str], columns: dict[str, str], *, short: bool = False) -> list[Cell]:
    told = {head: getattr(one, field) for head, field in columns.items()}
    return [
        *(_name(one, name) for name in names),
        *(_told(cell) if short and head in _CELLS else cell for head, cell in told.items()),
    ]


def _told(cell: Interval | None, *, whole: bool = False) -> str | None:
    """A share with what it is of, ``0.61 (92)``, or with its interval."""
    if cell is None:
        return None
    return f"{cell.value:.2f} [{cell.low:.2f}, {cell.high:.2f}]" if whole else f"{cell.value:.2f} ({cell.n})"


def _panel(benchmark: str, some: Sequence[Row]) -> Panel:
    return Panel(NAMES[benchmark], "what is open", "share that asked", [_bars(one) for one in some])


def _bars(one: Row) -> Bars:
    cells = {head: share for head, field in _CELLS.items() if (share := getattr(one, field)) is not None}
    shares = list(cells.values())
    return Bars(
        _label(one),
        list(cells),
        [share.value for share in shares],
        [share.low for share in shares],
        [share.high for share in shares],
        n=[share.n for share in shares],
    )


def _label(one: Row) -> str:
    return f"{one.robot} / {one.user}" if one.user else one.robot


def _plain_row(one: Row) -> dict[str, Any]:
    return {
        name: value._asdict() if isinstance(value := getattr(one, name), Interval) else value
        for name in one.__slots__
    }


def _plain_episode(one: Asking) -> dict[str, Any]:
    return asdict(one) | {"told": asdict(one.told) | {"manner": ", ".join(one.told.manner)}}


def _print(console: Console, made: Report) -> None:
    parts: list[tuple[str, Sequence[Row], Sequence[str], Sequence[str]]]
    parts = [("", made.rows, _NAMES, tuple(_SHOWN))]
    for benchmark in BENCHMARKS:
        those = tuple(one for one in made.by_kind if one.benchmark == benchmark)
        parts.append((f"{NAMES[benchmark]}, by kind: ", those, _NAMES[1:], _SHOWN_BY_KIND))
    for prefix, some, names, titles in parts:
        for title in titles:
            table = _narrow(prefix + title, _SHOWN[title], some, names)
            if table is not None:
                console.print(table.to_text())
                console.print()
    print_aborted(console, made.found.aborted, excluded=made.found.exclude_aborted)
    left = ", ".join(f"{count} {why}" for why, count in made.found.left_out.items())
    open_ = sum(one.open for one in made.rows)
    lines = [
        *([f"Left out: {left}."] if left else []),
        *([f"{open_} episodes of ClarQ-LLM wait for a judge: their success is a lower bound."] * bool(open_)),
        *NOTES,
    ]
    for line in lines:
        console.print(Text(f"· {line}", "dim"), soft_wrap=True)
