"""Two runs side by side: the paired table, the difference plot, one item's two dialogues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simulator.clarq.reporting.report import Comparison, Difference, Pair, compare
from ui.research import figures
from ui.research.desk import Desk, Dialogue, RunCard, RunData
from ui.research.format import DIGITS, Cell, cell, metric_cell, scale
from ui.research.scores_page import type_label
from ui.research.view import Page, Visit


@dataclass(frozen=True, slots=True)
class Contrast:
    """One metric in both runs, as the table shows it."""

    metric: str
    first: Cell
    second: Cell
    difference: Cell
    n: int
    p: float | None


def compare_page(visit: Visit, card: RunCard, others: Sequence[str], desk: Desk) -> Page:
    """Return the third tab of a run."""
    at = visit.at
    if not at.against:
        return visit.page("compare", card=card, tab="compare", others=others, comparison=None, languages=())
    first, second = desk.run_data(at.run), desk.run_data(at.against)
    comparisons = compare(first.scored, second.scored)
    chosen = _chosen(comparisons, at.language, at.episode)
    pair = _pair(chosen, at.episode)
    plots = (figures.differences(visit.t, chosen),) if chosen else ()
    return visit.page(
        "compare",
        plots,
        card=card,
        tab="compare",
        others=others,
        languages=[comparison.language for comparison in comparisons],
        comparison=chosen,
        contrasts=[contrast(difference) for difference in chosen.differences] if chosen else [],
        labels={pair.first.episode.id: label(visit, pair) for pair in chosen.pairs} if chosen else {},
        pair=pair,
        both=_both(desk, pair),
        runs=(first.run.id, second.run.id),
    )


def contrast(difference: Difference) -> Contrast:
    """Return a difference as a table shows it."""
    metric = difference.metric
    pair = (difference.first, difference.second)
    common = scale(pair, fixed=(0.0, 1.0) if metric == "success" else None)
    reach = 1.1 * max(*map(abs, difference.difference.reach), 0.01)
    around_zero = scale((), fixed=(-reach, reach))
    return Contrast(
        metric=metric,
        first=metric_cell(metric, difference.first, common),
        second=metric_cell(metric, difference.second, common),
        difference=cell(difference.difference, around_zero, DIGITS[metric], signed=True),
        n=difference.difference.n,
        p=difference.p,
    )


def label(visit: Visit, pair: Pair) -> str:
    """Return how a shared item is called."""
    task = pair.first.task
    return f"{task.id} · {type_label(visit.t, task.type)}"


def _chosen(comparisons: Sequence[Comparison], language: str, episode: str) -> Comparison | None:
    for comparison in comparisons:
        if comparison.language == language or _pair(comparison, episode):
            return comparison
    return comparisons[0] if comparisons else None


def _pair(comparison: Comparison | None, episode: str) -> Pair | None:
    pairs = comparison.pairs if comparison else ()
    return next((pair for pair in pairs if pair.first.episode.id == episode), None)


def _both(desk: Desk, pair: Pair | None) -> tuple[Dialogue, ...]:
    if pair is None:
        return ()
    return tuple(desk.dialogue(scored.episode.id) for scored in (pair.first, pair.second))


def other_runs(cards: Sequence[RunCard], run: RunData) -> list[str]:
    """Return the runs that `run` could be compared with, newest first."""
    return [
        card.run.id for card in cards if card.run.benchmark == run.run.benchmark and card.run.id != run.run.id
    ]
