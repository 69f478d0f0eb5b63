"""Who asks back, and when: runs of all benchmarks in which somebody may, in one table and one figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from simulator import catalog
from simulator.asking import askable, askings, load_asking, may_ask_back
from simulator.commands.asking import asking_figure
from simulator.commands.asking_measures import Row, rows
from simulator.stats import Interval
from ui.i18n import Strings
from ui.research.declared import Words
from ui.research.desk import Desk, RunCard
from ui.research.figures import plot
from ui.research.format import Cell, Scale, cell, scale
from ui.research.view import Page, Visit

BY: Final = ("robot", "kind", "user", "both")
MEASURES: Final = (
    *("when_needed", "when_inferred", "when_nothing", "youden", "decided", "questions", "useful", "price"),
    *("right", "right_asking", "right_silent", "before", "after", "gain"),
)
_SHARE: Final = scale((), fixed=(0.0, 1.0))
_GAIN: Final = scale((), fixed=(-1.0, 1.0))


@dataclass(frozen=True, slots=True)
class Choice:
    """A run that can be compared."""

    card: RunCard
    chosen: bool


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table.

    Attributes:
        robot: who could ask, in words.
        kind: of tasks, likewise.
        cells: by measure; None where nothing is known.
    """

    row: Row
    robot: str
    kind: str
    cells: dict[str, Cell | None]


def asking_page(visit: Visit, desk: Desk) -> Page:
    """Return which runs, the table of each benchmark, and a plot."""
    at, reader = visit.at, desk.reader
    cards = [card for card in desk.cards() if may_ask_back(card.run.benchmark, card.seats)]
    choices = sorted(
        (Choice(card, card.run.id in at.runs) for card in cards), key=lambda entry: not entry.chosen
    )
    chosen = [choice.card.run.id for choice in choices if choice.chosen]
    measured = askings(reader, chosen)
    by = at.by if at.by in BY else BY[0]
    table = rows(measured.askings, by_kind=by in ("kind", "both"), by_user=by in ("user", "both"))
    over_all = rows(measured.askings, by_user=by in ("user", "both"))
    benchmarks = [catalog.find(name) for name in askable()]
    compared = [each for each in benchmarks if any(row.benchmark == each.name for row in table)]
    figure = asking_figure(over_all)
    return visit.page(
        "asking",
        () if figure is None else (plot(visit.t, figure),),
        choices=choices,
        chosen=chosen,
        by=by,
        every_by=BY,
        commands=[each.example_command(visit.t.language) for each in benchmarks],
        groups=[
            (each.title, _lines(visit.t, [row for row in table if row.benchmark == each.name]))
            for each in compared
        ],
        meanings=[(each.title, notes) for each in compared if (notes := load_asking(each.name).NOTES)],
        measures=[name for name in MEASURES if any(getattr(row, name) is not None for row in table)],
        left_out=measured.left_out,
        aborted=sum(measured.aborted.values()),
    )


def _lines(t: Strings, rows: Sequence[Row]) -> list[Line]:
    known = [row.questions for row in rows if row.questions is not None]
    most = max([1.0, *(interval.reach[1] for interval in known)])
    dearest = max([1.0, *(row.price.reach[1] for row in rows if row.price is not None)])
    scales: dict[str, Scale] = {
        "questions": scale((), fixed=(0.0, most)),
        "price": scale((), fixed=(0.0, dearest)),
        "gain": _GAIN,
        "youden": _GAIN,
    }
    return [
        Line(
            row,
            robot_name(t, row),
            kind_name(t, row),
            {
                name: _cell(getattr(row, name), scales.get(name, _SHARE), name in ("gain", "youden"))
                for name in MEASURES
            },
        )
        for row in rows
    ]


def _cell(interval: Interval | None, on: Scale, signed: bool) -> Cell | None:
    return None if interval is None else cell(interval, on, 2, signed=signed)


def robot_name(t: Strings, row: Row) -> str:
    """Return who could ask, with how they played in brackets; names of methods and models stay."""
    return f"{row.seat} ({', '.join(map(t.phrase, row.manner))})" if row.manner else row.seat


def kind_name(t: Strings, row: Row) -> str:
    """Return the kind of tasks that a row is of: of all of them together, if it names none."""
    if not row.kind:
        return t("research.asking.kind_all")
    return Words(t, row.benchmark)(f"asking.kind.{row.kind}", t.phrase(row.kind))
