"""Desks: examples are sorted into kinds of ambiguity (spec 1.3), claims are marked (10).

An annotator names one kind for each ambiguity of an example; where several kinds fit one ambiguity, the one
that comes first in `labels.CATEGORIES` holds (`winner`). Two annotators sort each example, blind to each
other; where they differ, one form more decides.

People who read fact-checks mark what a claim is faulted for: ambiguity or factuality. Their own impression
of the claim does not count, only what the fact-check complains about.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final

from pydantic import BeforeValidator

from logs import LogReader
from logs.rows import Item
from simulator.ambient.claims import AMBIGUITY, FACTUALITY, explanation, flagged
from simulator.ambient.examples import Example
from simulator.ambient.files.dataset import CATEGORY_ROWS, CategoryRecord, category_record
from simulator.ambient.items import BENCHMARK, AnnotateItem, ClaimItem, item_from_row, item_row
from simulator.ambient.labels import CATEGORIES, Category
from simulator.ambient.records import ClaimRecord
from simulator.ambient.trial_log import claim_records
from simulator.desk_forms import Values
from simulator.desks import Case
from simulator.errors import InputError
from simulator.judging import DecidingForm, Form, JudgingForm, Opinions
from simulator.judging.agreement import alpha_measure, intervals, masi_distance, modal_subjects, set_measures
from simulator.stats import Interval

Kinds = tuple[Category, ...]
"""In the order of their priority, each once."""


def _in_order(categories: Iterable[str]) -> Kinds:
    there = set(categories)
    return tuple(category for category in CATEGORIES if category in there)


class CategoryForm(DecidingForm):
    """An annotator's form on an example: a kind for each of its ambiguities, and a note beside."""

    categories: Annotated[Kinds, BeforeValidator(_in_order)]
    note: str = ""


SORTING: Final = JudgingForm(kind="ambient.category", model=CategoryForm, source="data", verb="sorts")


@dataclass(frozen=True, slots=True)
class Sorted:
    """The progress of an example."""

    example: Example
    opinions: Opinions[CategoryForm]

    @property
    def kinds(self) -> Mapping[str, Kinds]:
        """Return the kinds that each annotator named, without forms that decide."""
        return {name: form.categories for name, form in self.opinions.blind.items()}

    @property
    def notes(self) -> Mapping[str, str]:
        """Return the annotators' notes."""
        return {name: form.note for name, form in self.opinions.blind.items() if form.note}

    @property
    def decided(self) -> Kinds | None:
        """The kinds that ended a discussion."""
        return self.opinions.decided.categories if self.opinions.decided else None

    @property
    def settled(self) -> Kinds | None:
        """Return what holds: decided, or said by all; None before there is such a thing."""
        form = self.opinions.settled(_kinds)
        return form.categories if form else None

    @property
    def differs(self) -> bool:
        """Return True if annotators differ and nobody has decided."""
        return self.opinions.differs(_kinds)


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryAgreement:
    """The agreement of annotators' kinds, over the examples that the usual number of them sorted.

    Attributes:
        raters: that number; None if no example has two.
        examples: sorted by so many; `other` by another number, one at least.
        measures: Fleiss' kappa for each kind (named, or not), the share of examples with ``identical`` kinds
            from everybody, and Krippendorff's ``alpha`` with MASI, over all examples that two or more sorted.
    """

    raters: int | None
    examples: int
    other: int
    measures: Mapping[str, Interval | None]


def winner(fitting: Iterable[Category]) -> Category:
    """Return the kind that holds of one ambiguity that several fit.

    Raises:
        InputError: if none does.
    """
    if not (kinds := _in_order(fitting)):
        raise InputError(
            "Name a kind of ambiguity; if none fits, it is of another kind (other).", code="kindless"
        )
    return kinds[0]


def read_kinds(case: Case[CategoryForm], values: Values, decides: bool = False) -> CategoryForm:
    """Return an annotator's form; kinds that all fit one and the same ambiguity become one (`winner`).

    Raises:
        InputError: if a kind is missing.
    """
    kinds = _in_order(values.get("categories") or ())
    first = winner(kinds)
    single = values.get("several") == "one"
    return CategoryForm(
        categories=(first,) if single else kinds, note=values.get("note") or "", decides=decides
    )


def sorted_examples(reader: LogReader, examples: Iterable[Example], data: str) -> tuple[Sorted, ...]:
    """Return how far every ambiguous example of a data set is, in their order.

    Forms on an example that has been changed since are not found.
    """
    opinions = SORTING.read(reader, data)
    ambiguous = [(example, example_item(example).hash) for example in examples if example.ambiguous]
    return tuple(Sorted(example, opinions.get(key, Opinions())) for example, key in ambiguous)


def category_agreement(examples: Sequence[Sorted]) -> CategoryAgreement:
    """Return how far annotators sort alike."""
    units = [[frozenset(kinds) for kinds in each.kinds.values()] for each in examples if each.kinds]
    usual = [units[place] for place in modal_subjects(units)]
    measures = {**set_measures(usual, CATEGORIES), "alpha": alpha_measure(units, masi_distance)}
    return CategoryAgreement(
        raters=len(usual[0]) if usual else None,
        examples=len(usual),
        other=len(units) - len(usual),
        measures=intervals(measures),
    )


def category_records(examples: Sequence[Sorted]) -> tuple[CategoryRecord, ...]:
    """Return the settled examples as rows of the published format, ids with their suffix (spec 1.3)."""
    return tuple(
        category_record(each.example, _suffixed(each.example.id), each.settled)
        for each in examples
        if each.settled is not None
    )


def export_categories(examples: Sequence[Sorted], path: str | Path) -> int:
    """Write the settled examples in the published format, and return how many there are.

    Raises:
        InputError: if there are none, or the file cannot be written.
    """
    records = category_records(examples)
    if not records:
        raise InputError("No example is sorted yet, so there is nothing to write.")
    CATEGORY_ROWS.write(path, records)
    return len(records)


def example_item(example: Example) -> Item:
    """Return the row that an example's forms are about."""
    # What is not part of the annotated pair may come and go without its forms being lost.
    bare = replace(example, split="", categories=(), distractors={}, meta=None)
    return item_row(AnnotateItem(id=example.id, example=bare))


def _kinds(form: CategoryForm) -> Kinds:
    return form.categories


def _suffixed(id: str) -> str:
    return id if id.endswith(("_c", "_g")) else f"{id}_g"


MARKS: Final = (AMBIGUITY, FACTUALITY)


class Mark(Form):
    """The complaints of a claim's fact-check (``a``, ``f`` or both), and a note."""

    marks: tuple[str, ...]
    note: str


MARKING: Final = JudgingForm(kind="ambient.claim", model=Mark, verb="marks")


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedClaim:
    """A claim of a run.

    Attributes:
        marks: annotator -> their newest form, in the order of the first.
    """

    key: str
    record: ClaimRecord
    marks: Mapping[str, Mark]

    @property
    def flagged(self) -> bool:
        """Return True if its score is above the threshold."""
        return flagged(self.record)


def marked_claims(reader: LogReader, run_id: str) -> tuple[MarkedClaim, ...]:
    """Return the claims of a run that have been paraphrased and scored: the flagged first, by falling score.

    Raises:
        InputError: if the run is another benchmark's.
        NotInLog: if there is no such run.
    """
    opinions = MARKING.read(reader, run_id)
    newest = {record.id: record for record in claim_records(reader, [run_id], aborted=False)}
    claims = [
        MarkedClaim(key=key, record=newest[id], marks=opinions.get(key, Opinions()).blind)
        for id, key in _keys(reader, run_id).items()
        if id in newest
    ]
    return tuple(sorted(claims, key=_rank))


def read_marks(case: Case[Mark], values: Values, decides: bool = False) -> Mark:
    """Return an annotator's form on a claim.

    Raises:
        InputError: if there is no mark.
    """
    chosen = values.get("marks") or ()
    if not chosen:
        message = "Say what the fact-check complains about: a (ambiguity), f (factuality), or both."
        raise InputError(message, code="markless")
    return Mark(marks=tuple(mark for mark in MARKS if mark in chosen), note=values.get("note") or "")


def records_marked_by(claims: Sequence[MarkedClaim], annotator: str) -> tuple[ClaimRecord, ...]:
    """Return the claims with one annotator's marks in place of the data's, for `claims.claim_measures`."""
    return tuple(
        replace(claim.record, marks=frozenset(mark.marks), notes=mark.note)
        if (mark := claim.marks.get(annotator))
        else replace(claim.record, marks=None, notes="")
        for claim in claims
    )


def _rank(claim: MarkedClaim) -> tuple[bool, float]:
    shown = explanation(claim.record)
    return shown is None, -(shown.score if shown else 0.0)


def _keys(reader: LogReader, run_id: str) -> dict[str, str]:
    """Return id of the claim -> its item's hash."""
    rows = [row for row in reader.items(reader.run(run_id).id) if row.benchmark == BENCHMARK]
    items = {row.hash: item_from_row(row) for row in rows}
    keys = {item.id: key for key, item in items.items() if isinstance(item, ClaimItem)}
    if not keys:
        raise InputError(f"{run_id} has no claims: run the task claim first.", code="no_claims", run=run_id)
    return keys
