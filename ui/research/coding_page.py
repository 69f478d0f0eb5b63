"""Sorting outputs blind: one output and the salient feature, nothing else; and how raters agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from logs import LogReader
from simulator.ambibench.coding import (
    CATEGORIES,
    Output,
    chosen_runs,
    compared,
    outputs,
    standing,
    to_code,
    to_decide,
)
from ui.research.format import Cell, cell, scale
from ui.research.view import Page, Visit


@dataclass(frozen=True, slots=True)
class Agreed:
    """Two raters' agreement as the table shows it."""

    raters: tuple[str, str]
    n: int
    observed: Cell
    kappa: Cell
    shown: tuple[Any, ...]
    hidden: int
    open: int


def coding_page(visit: Visit, reader: LogReader) -> Page:
    """Return the start, the next output, or the agreement."""
    runs = chosen_runs(reader, visit.at.outputs)
    if not runs:
        return visit.page("coding_start", outputs=0, raters=(), open=0)
    if visit.at.tab == "agreement":
        return _agreement(visit, reader, runs)
    if not visit.at.reviewer:
        state = standing(reader, runs, "")
        return visit.page("coding_start", outputs=state.outputs, raters=state.raters, open=state.differing)
    return sorting_page(visit, reader, runs)


def sorting_page(visit: Visit, reader: LogReader, runs: tuple[str, ...]) -> Page:
    """Return the next output that the rater is to sort, or the one that they look at again.

    Nothing of the page tells run, model or format: what the rater reads is all that there is.
    """
    rater = visit.at.reviewer
    state = standing(reader, runs, rater)
    again = visit.at.token in state.mine
    due, deciding = _due(reader, runs, rater)
    output = due[0] if due else None
    if again:
        output = next(each for each in outputs(reader, runs).values() if each.token == visit.at.token)
    return visit.page(
        "coding",
        output=output,
        category=state.mine.get(visit.at.token, ""),
        categories=list(enumerate(CATEGORIES, start=1)),
        told=state,
        sorted=len(state.mine),
        left=len(due),
        deciding=deciding and not again,
        again=again,
    )


def _due(reader: LogReader, runs: tuple[str, ...], rater: str) -> tuple[tuple[Output, ...], bool]:
    """Return what is left for a rater: first what nobody or one has sorted, then what two differ on."""
    due = to_code(reader, runs, rater)
    return (due, False) if due else (to_decide(reader, runs, rater), True)


def _agreement(visit: Visit, reader: LogReader, runs: tuple[str, ...]) -> Page:
    pairs = [
        Agreed(
            raters=agreed.agreement.raters,
            n=agreed.agreement.observed.n,
            observed=cell(agreed.agreement.observed, scale((), fixed=(0.0, 1.0)), 3),
            kappa=cell(agreed.agreement.kappa, scale((), fixed=(-0.2, 1.0)), 3),
            shown=agreed.shown,
            hidden=agreed.hidden,
            open=sum(each.decided is None for each in agreed.agreement.disagreements),
        )
        for agreed in compared(reader, runs, visit.at.reviewer)
    ]
    return visit.page("coding_agreement", told=standing(reader, runs, visit.at.reviewer), pairs=pairs)
