"""Who asks back, and when: runs of ClarQ-LLM, HandMeThat and AmbiK in one table and one figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from simulator.asking import askable, askings, may_ask_back
from simulator.commands.asking import asking_figure
from simulator.commands.asking_measures import Row, rows
from simulator.stats import Interval
from ui.i18n import Strings
from ui.research.asking_words import kind_name, robot_name
from ui.research.desk import Desk, RunCard
from ui.research.figures import plot
from ui.research.format import Cell, Scale, cell, scale
from ui.research.view import Page, Visit

BY: Final = ("robot", "kind", "user", "both")
MEASURES: Final = (
    *("when_needed", "when_inferred", "when_nothing", "youden", "decided", "questions", "useful", "price"),
    *("right", "right_asking", "right_silent", "before", "after", "gain"),
)
COMMANDS: Final = (
    "askback run ambik --questions 1",
    "askback run handmethat --limit 20",
    "askback run clarq --limit 4",
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
    """Return which runs, the table, and a plot for each room."""
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
    rooms = [name for name in askable() if any(row.benchmark == name for row in table)]
    figure = asking_figure(over_all)
    return visit.page(
        "asking",
        () if figure is None else (plot(visit.t, figure),),
        choices=choices,
        chosen=chosen,
        by=by,
        every_by=BY,
        commands=COMMANDS,
        groups=[(name, _lines(visit.t, [row for row in table if row.benchmark == name])) for name in rooms],
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
