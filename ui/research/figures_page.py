"""The paper's figures of chosen runs, in the paper's order; each is asked for by itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from simulator.ambibench.features import SETTINGS
from simulator.ambibench.reporting.figures import FIGURES, Drawn
from simulator.ambibench.reporting.tables import named_tables
from simulator.ambibench.rows import BENCHMARK, settings_of
from simulator.ambibench.score import MODES, TIES
from ui.render.environment import render
from ui.research.ambibench_desk import FORMS, SUFFIXES, ReportRequest, Reports
from ui.research.ambibench_plots import titled
from ui.research.desk import Desk, RunCard
from ui.research.view import Page, Visit

PERSON: Final = "person"
_COMMAND: Final = "askback "
# How `reporting.figures` begins to say what it lacks.
_KINDS: Final = {
    "no people": "people",
    "outputs of": "unsorted",
    "no model has": "both",
    "no t0pp": "alone",
    "no buckets": "buckets",
}
_WHERE: Final = re.compile(r"in setting (\w+)(?: with (\w+) instructions)?(?:, held-out pair (\w+))?")


@dataclass(frozen=True, slots=True)
class Choice:
    """A run that figures can be drawn of.

    Attributes:
        settings: of its items.
        chosen: whether it is.
    """

    card: RunCard
    actors: tuple[str, ...]
    settings: tuple[str, ...]
    chosen: bool


@dataclass(frozen=True, slots=True)
class Lack:
    """What a figure lacks.

    Attributes:
        kind: ``models``, ``people``, ``unsorted`` (outputs), ``both`` (settings), ``alone`` (the model that
            Fig. 19 shows by itself) or ``buckets``.
        setting: in which it is lacking; `instruction` and `fold` likewise. Empty if it tells nothing.
        command: what plays it; empty if no command does.
    """

    kind: str
    setting: str = ""
    instruction: str = ""
    fold: str = ""
    command: str = ""


def figures_page(visit: Visit, desk: Desk) -> Page:
    """Return which runs, and a place for each figure."""
    choices = _choices(visit, desk)
    chosen = [choice for choice in choices if choice.chosen]
    return visit.page(
        "figures",
        choices=choices,
        chosen=chosen,
        actors=_actors(chosen),
        labels=dict(visit.at.labels),
        modes=MODES,
        ties=TIES,
        numbers=list(FIGURES),
        suffixes=SUFFIXES,
    )


def figure_part(visit: Visit, reports: Reports, number: str) -> Page:
    """Return one figure, or what it lacks."""
    made = reports.drawn(ReportRequest.read(visit.at), number)
    plots = () if made.figure is None else (titled(visit.t, made.figure, f"figure_{_key(number)}"),)
    html = render(
        "research/figure",
        visit.t,
        at=visit.at,
        number=number,
        key=_key(number),
        drawn=made.figure is not None,
        figures={plot.id: plot for plot in plots},
        lacks=lacks(made),
        suffixes=SUFFIXES,
    )
    return Page(html, plots)


def tables_part(visit: Visit, reports: Reports) -> Page:
    """Return the tables of the chosen runs, to be taken home."""
    report = reports.report(ReportRequest.read(visit.at))
    there = {name: table.title for name, table in named_tables(report.frame, report.agreements).items()}
    html = render(
        "research/figure_tables",
        visit.t,
        at=visit.at,
        tables=there,
        forms=FORMS,
        trials=len(report.trials),
    )
    return Page(html)


def lacks(made: Drawn) -> list[Lack]:
    """Return what a figure lacks, the command apart."""
    return [_lack(missing) for missing in made.missing]


def _lack(missing: str) -> Lack:
    text, _, how = missing.partition(": ")
    kind = next((kind for beginning, kind in _KINDS.items() if text.startswith(beginning)), "models")
    where = _WHERE.search(text)
    setting, instruction, fold = where.groups("") if where else ("", "", "")
    return Lack(kind, setting, instruction, fold, how if how.startswith(_COMMAND) else "")


def _key(number: str) -> str:
    return number.replace("-", "_")


def _choices(visit: Visit, desk: Desk) -> list[Choice]:
    chosen = visit.at.runs
    choices = [
        Choice(
            card,
            tuple(dict.fromkeys(card.seats.values())) or (PERSON,),
            settings_of(desk.reader, card.run),
            card.run.id in chosen,
        )
        for card in desk.cards()
        if card.run.benchmark == BENCHMARK
    ]
    # What is chosen stands on top, to be seen without scrolling.
    return sorted(choices, key=lambda choice: not choice.chosen)


def _actors(chosen: Sequence[Choice]) -> list[str]:
    """Return everybody in the chosen runs, people first, then in the order of the settings."""
    by_setting = sorted(chosen, key=lambda group: [SETTINGS.index(name) for name in group.settings])
    actors: dict[str, Any] = dict.fromkeys(actor for group in by_setting for actor in group.actors)
    return sorted(actors, key=lambda actor: actor != PERSON)
