"""The list of runs with their scores, filtered by text, benchmark and setup, and kept up to date."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import gradio as gr

from logs import LogReader
from simulator import catalog, frames
from simulator.errors import InputError
from simulator.figures import Column
from simulator.reports import mean_of, present_metrics
from ui.research.address import COMPARE, REPORT, RUN, Address
from ui.research.blocks import TICK, Visit, add_part, keep_in_address, rebuild_on_change
from ui.research.controls import (
    Menu,
    Sheet,
    SheetCell,
    add_table,
    copy_field,
    link_cell,
    menu_field,
    text_cell,
    update_table,
)
from ui.research.format import Cell, estimate
from ui.research.runs import RunCard, run_cards

SCORE_SECONDS: Final = 0.8
"""Seconds that a page spends on computing scores; the rest follow at the next tick."""
IDLE_SECONDS: Final = 10.0
"""Seconds between updates while no run is in progress."""
SORT_BY: Final = {"run": 0, "scores": 4, "progress": -3, "cost": -2}
"""Columns for sorting on a phone, where runs are cards without column heads."""
_METRICS: Final = 2
_SCORE_WIDTH: Final = 190
_GO: Final = "runs => {{ location.assign('{path}?' + new URLSearchParams(runs.map(run => ['runs', run]))) }}"


@dataclass(frozen=True, slots=True)
class Headline:
    """A metric of a run with the title of its column, and its mean, for sorting."""

    title: str
    cell: Cell
    value: float


Headlines = tuple[Headline, ...]


@dataclass(frozen=True, slots=True)
class RunList:
    """The list of runs for one visit."""

    visit: Visit

    def build(self) -> None:
        """Create the components of the page."""
        t, at, cards = self.visit.t, self.visit.at, run_cards(self.visit.reader)
        add_part(self.visit, "runs", empty=not cards)
        if not cards:
            for command in _starter_commands(t.language):
                copy_field(command, t("research.list.type"))
            rebuild_on_change(self.visit, lambda: len(run_cards(self.visit.reader)))
            return
        benchmarks = {t.phrase(card.title): card.run.benchmark for card in cards}
        setups = sorted({card.run.setup for card in cards})
        with gr.Row():
            words = gr.Textbox(at.text, label=t("research.list.search"), scale=2, interactive=True)
            every_benchmark = [(t("research.list.all_benchmarks"), ""), *benchmarks.items()]
            benchmark = menu_field(Menu(t("research.list.benchmark"), every_benchmark, at.benchmark))
            every_setup = [(t("research.list.all_setups"), ""), *((name, name) for name in setups)]
            setup = menu_field(Menu(t("research.list.setup"), every_setup, at.setup))
            orders = [
                (t("research.list.started"), ""),
                *((t(f"research.list.{name}"), name) for name in SORT_BY),
            ]
            sort = menu_field(Menu(t("research.list.sort"), orders, ""), elem_classes=["rs-card-label"])
        first, more = self.rows(at.text, at.benchmark, at.setup)
        runs = add_table(t("research.runs"), first, "rs-cards")
        timer, shown = gr.Timer(_interval(more)), gr.State(first)
        filters: list[gr.Textbox | gr.Dropdown] = [words, benchmark, setup, sort]
        keep_in_address(text=words, benchmark=benchmark, setup=setup)
        gr.on(
            [timer.tick, *(component.change for component in filters)],
            self.shown,
            [*filters, shown],
            [runs, shown, timer],
            show_progress="hidden",
        )
        ids = [(card.run.id, card.run.id) for card in cards]
        chosen = menu_field(Menu(t("research.list.choose"), ids, []))
        with gr.Row():
            for path, name in ((COMPARE, "research.run.compare"), (REPORT, "research.report.several")):
                gr.Button(t(name), size="md").click(None, chosen, None, js=_GO.format(path=path))

    def shown(
        self, words: str, benchmark: str, setup: str, sort: str, before: Sheet
    ) -> tuple[Any, Any, gr.Timer]:
        """Return the matching rows, skipped if unchanged, and the interval of the next update."""
        rows, more = self.rows(words, benchmark, setup, sort)
        timer = gr.Timer(_interval(more))
        return (gr.skip(), gr.skip(), timer) if rows == before else (update_table(rows), rows, timer)

    def rows(self, words: str, benchmark: str, setup: str, sort: str = "") -> tuple[Sheet, bool]:
        """Return the matching rows, and whether a run or a score among them is still in progress.

        `sort`: a key of `SORT_BY`: names alphabetically, numbers from the highest; default: newest first.
        """
        t, query = self.visit.t, words.casefold().strip()
        cards = [
            card
            for card in run_cards(self.visit.reader)
            if benchmark in ("", card.run.benchmark)
            and setup in ("", card.run.setup)
            and query in _searchable_text(card).casefold()
        ]
        scores = self._scores(cards)
        titles = dict.fromkeys(each.title for known in scores.values() for each in known or ())
        # Runs of several benchmarks share no metric, so columns per metric would be nearly empty.
        several = len({card.run.benchmark for card in cards}) > 1
        score_heads = [t("research.run.scores")] if several else [t.phrase(title) for title in titles]
        rows = [
            [
                link_cell(card.run.id, str(Address(path=RUN, run=card.run.id))),
                text_cell(t.phrase(card.title)),
                text_cell(card.run.setup),
                self._cell("seats", " ".join(card.seats.values()), card),
                *self._score_cells(scores[card.run.id], None if several else list(titles)),
                self._cell("progress", card.progress.done / (card.progress.planned or 1), card),
                self._cell("cost", card.cost, card),
                text_cell(card.run.created_at[:16].replace("T", " ")),
            ]
            for card in cards
        ]
        if (at := SORT_BY.get(sort)) is not None:
            with_value: list[Any] = [row for row in rows if row[at].value is not None]
            with_value.sort(key=lambda row: row[at].value, reverse=sort != "run")
            rows = [*with_value, *(row for row in rows if row[at].value is None)]
        before = {"run": 215, "benchmark": 110, "setup": 75, "seats": 200}
        after = {"progress": 170, "cost": 105, "started": 130}
        heads = {
            **{t(f"research.list.{name}"): width for name, width in before.items()},
            **dict.fromkeys(score_heads, _SCORE_WIDTH),
            **{t(f"research.list.{name}"): width for name, width in after.items()},
        }
        return Sheet(heads, rows), any(card.live for card in cards) or None in scores.values()

    def _scores(self, cards: Sequence[RunCard]) -> dict[str, Headlines | None]:
        """Return the headlines of runs; None where computing them would take too long for now."""
        until, shown = time.monotonic() + SCORE_SECONDS, dict[str, Headlines | None]()
        for card in cards:
            run = card.run.id
            waits = time.monotonic() >= until and not self.visit.office.headlines.is_current("headlines", run)
            make = partial(headlines, self.visit.reader, run)
            shown[run] = None if waits else self.visit.office.headlines.get("headlines", run, make)
        return shown

    def _score_cells(self, scores: Headlines | None, titles: Sequence[str] | None) -> list[SheetCell]:
        """Return a cell for each title; without titles, one cell with the first score and its title."""
        if titles is None:
            first = scores[0] if scores else None
            return [self._score(first, scores, named=True)]
        by_title = {each.title: each for each in scores or ()}
        return [self._score(by_title.get(title), scores, named=False) for title in titles]

    def _score(self, headline: Headline | None, scores: Headlines | None, *, named: bool) -> SheetCell:
        if headline is None:
            return SheetCell(None, "…" if scores is None else "–")
        html = self.visit.render("headline", headline=headline, named=named)
        return SheetCell(headline.value, html)

    def _cell(self, name: str, value: str | float | None, card: RunCard) -> SheetCell:
        return SheetCell(value, self.visit.render("run_cell", name=name, card=card))


def _interval(more: bool) -> float:
    return TICK if more else IDLE_SECONDS


def headlines(reader: LogReader, run: str) -> Headlines:
    """Return the first metrics of a run with their intervals; empty if nothing is scored."""
    try:
        benchmark = catalog.find(reader.run(run).benchmark)
    except InputError:
        return ()
    frame = frames.episodes(reader, [run])
    headlines = []
    for metric in present_metrics(benchmark, frame)[:_METRICS]:
        if (mean := mean_of(frame, metric, benchmark.cluster)) is not None:
            cell = estimate(mean, Column(metric.title, 3 if metric.is_share else 2))
            headlines.append(Headline(metric.title, cell, mean.value))
    return tuple(headlines)


def _starter_commands(language: str) -> list[str]:
    """Return commands for an empty log: a run of the first benchmark, and imports of published results."""
    first = catalog.installed()[0]
    imports = [words for words in first.commands if words.startswith("import ")]
    return [first.example_command(language), *(f"askback {words} FILE" for words in imports)]


def _searchable_text(card: RunCard) -> str:
    return " ".join([card.run.id, card.run.benchmark, card.title, card.run.setup, *card.seats.values()])
