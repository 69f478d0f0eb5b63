"""The list of runs, with the headlines of each."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import Final

from logs import LogReader
from simulator import catalog, frames
from simulator.errors import InputError
from simulator.figures import Column
from simulator.reports import mean_of, present_metrics
from ui.research.desk import Desk
from ui.research.format import Cell
from ui.research.kept import CachedReports
from ui.research.report_parts import estimate
from ui.research.view import Page, Visit

AT_ONCE: Final = 0.8
"""Seconds for which a page waits for headlines; the browser asks again for the others."""
_SHOWN: Final = 2


@dataclass(frozen=True, slots=True)
class Headline:
    """A metric of a run, by the title of its column.

    Attributes:
        value: its mean, to sort by.
    """

    title: str
    cell: Cell
    value: float


Headlines = tuple[Headline, ...]


def list_page(visit: Visit, desk: Desk, kept: CachedReports) -> Page:
    """Return all runs; headlines that take time come with a later page (`Page.more`)."""
    cards = desk.cards()
    until = time.monotonic() + AT_ONCE
    shown: dict[str, Headlines | None] = {}
    for card in cards:
        run = card.run.id
        if time.monotonic() < until or kept.has("headlines", run):
            shown[run] = kept.once("headlines", run, partial(headlines, desk.reader, run))
        else:
            shown[run] = None
    return visit.page(
        "runs",
        live=not cards or any(card.live for card in cards),
        more=None in shown.values(),
        cards=cards,
        headlines=shown,
        benchmarks={card.run.benchmark: card.title for card in cards},
        setups=sorted({card.run.setup for card in cards}),
    )


def headlines(reader: LogReader, run: str) -> Headlines:
    """Return the first metrics of a run with their intervals; none where nothing is scored."""
    try:
        benchmark = catalog.find(reader.run(run).benchmark)
    except InputError:
        return ()
    frame = frames.episodes(reader, [run])
    made = []
    for metric in present_metrics(benchmark, frame)[:_SHOWN]:
        if (mean := mean_of(frame, metric)) is not None:
            cell = estimate(mean, Column(metric.title, 3 if metric.is_share else 2))
            made.append(Headline(metric.title, cell, mean.value))
    return tuple(made)
