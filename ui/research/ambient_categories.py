"""Sorting ambiguous examples into kinds of ambiguity: the next example, agreement, export."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from logs import LogReader
from simulator.ambient.annotation.consolidation import consolidated_examples
from simulator.ambient.annotation.desks import (
    ANNOTATORS,
    Kinds,
    Sorted,
    category_agreement,
    sorted_examples,
    to_settle,
    to_sort,
)
from simulator.ambient.data import BUILTIN, load_examples, load_guidelines
from simulator.ambient.examples import Example
from simulator.ambient.labels import CATEGORIES, Category
from simulator.ambient.reporting.measures import paper
from simulator.errors import AskbackError
from ui.problems import problem_text
from ui.research.address import Address
from ui.research.ambient_words import Line, kappa_line, ordered, readings, runs_of, share_line
from ui.research.view import Page, Visit

OF_RUN = "run:"
"""In front of a run's name: the examples that its linguists' annotations have been consolidated to."""


@dataclass(frozen=True, slots=True)
class Differing:
    """An example on which annotators differ, or differed."""

    example: Example
    kinds: dict[str, Kinds]
    decided: Kinds | None


def chosen(at: Address, reader: LogReader) -> tuple[str, tuple[Example, ...]]:
    """Return the name of the data that are sorted, and their examples.

    Raises:
        InputError: if there are no such data.
        NotInLog: if there is no such run.
    """
    data = at.data or BUILTIN
    if data.startswith(OF_RUN):
        return data, consolidated_examples(reader, data.removeprefix(OF_RUN))
    return data, load_examples(data)


def categories_page(visit: Visit, reader: LogReader) -> Page:
    """Return the start, the next example, one that is looked at again or decided, or the agreement."""
    at = visit.at
    try:
        data, examples = chosen(at, reader)
    except AskbackError as error:
        return _start(visit, reader, (), problem_text(visit.t, error))
    there = sorted_examples(reader, examples, data)
    if at.tab == "agreement":
        return _agreement(visit, there)
    if not at.reviewer:
        return _start(visit, reader, there)
    return _sorting(visit, there)


def _start(visit: Visit, reader: LogReader, there: Sequence[Sorted], problem: str = "") -> Page:
    return visit.page(
        "ambient_categories_start",
        data=visit.at.data or BUILTIN,
        runs=[f"{OF_RUN}{run}" for run in runs_of(reader, "annotate")],
        examples=len(there),
        settled=sum(entry.settled is not None for entry in there),
        annotators=sorted({name for entry in there for name in entry.kinds}),
        problem=problem,
    )


def _sorting(visit: Visit, there: Sequence[Sorted]) -> Page:
    at = visit.at
    due = to_sort(there, at.reviewer)
    settle = to_settle(there, at.reviewer)
    deciding = at.tab == "decide"
    shown = _shown(at, there, due, settle)
    mine = [entry for entry in there if at.reviewer in entry.kinds]
    again = shown is not None and not deciding and at.reviewer in shown.kinds
    filled = {}
    if shown is not None and again:
        kinds, note = shown.kinds[at.reviewer], shown.notes.get(at.reviewer, "")
        filled = {"categories": list(kinds), "several": "more", "comment": note}
    return visit.page(
        "ambient_categories",
        shown=shown,
        labels=ordered(shown.example.labels) if shown else [],
        readings=readings(shown.example) if shown else (),
        others=shown.kinds if shown and deciding else {},
        notes=shown.notes if shown and deciding else {},
        filled=json.dumps(filled) if filled else "",
        again=again,
        deciding=deciding,
        done=len(mine),
        left=len(due),
        settle=len(settle),
        guide=load_guidelines(visit.t.language),
        categories=list(enumerate(CATEGORIES, start=1)),
    )


def _shown(
    at: Address, there: Sequence[Sorted], due: Sequence[Example], settle: Sequence[Sorted]
) -> Sorted | None:
    if at.tab == "decide":
        return next((entry for entry in settle if entry.example.id == at.item), settle[0] if settle else None)
    by_id = {entry.example.id: entry for entry in there}
    id = at.item or (due[0].id if due else "")
    return by_id.get(id)


def _agreement(visit: Visit, there: Sequence[Sorted]) -> Page:
    agreement = category_agreement(there)
    settle = to_settle(there, visit.at.reviewer)
    counts: dict[Category, int] = {
        category: sum(category in (entry.settled or ()) for entry in there) for category in CATEGORIES
    }
    lines: list[Line] = [
        *(kappa_line(category, agreement.measures[category]) for category in CATEGORIES),
        kappa_line("alpha", agreement.measures["alpha"]),
        share_line("identical", agreement.measures["identical"]),
    ]
    return visit.page(
        "ambient_categories_agreement",
        data=visit.at.data or BUILTIN,
        found=agreement,
        lines=lines,
        counts=counts,
        printed=paper()["categories"]["shares"],
        tokens=sum(counts.values()),
        settled=sum(entry.settled is not None for entry in there),
        examples=len(there),
        differing=[Differing(entry.example, dict(entry.kinds), entry.decided) for entry in settle],
        hidden=sum(entry.differs for entry in there) - len(settle),
        annotators=ANNOTATORS,
    )
