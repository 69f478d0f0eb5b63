"""The desk at which claims are marked (spec 10).

People who read fact-checks mark what a claim is faulted for: ambiguity or factuality. Their own impression
of the claim does not count, only what the fact-check complains about.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from logs import LogReader
from simulator.ambient.claims import AMBIGUITY, FACTUALITY, THRESHOLD, claim_measures, explanation, flagged
from simulator.ambient.items import BENCHMARK, ClaimItem, item_from_row
from simulator.ambient.records import ClaimRecord
from simulator.ambient.reporting.measures import paper
from simulator.ambient.trial_log import claim_records, runs_with
from simulator.blocks import Block, Cell, Heading, Text, message
from simulator.blocks import Table as Rows
from simulator.desk_forms import Field, Values
from simulator.desks import Case, Desk
from simulator.errors import InputError
from simulator.figures import Column, Table
from simulator.judging import Form, JudgingForm, Opinions
from simulator.reporting import Section, slug

MARKS: Final = (AMBIGUITY, FACTUALITY)
CLAIM_MEASURES: Final = {"precision": "Precision for ambiguity, %", "recall": "Recall of ambiguity, %"}


class Mark(Form):
    """The complaints of a claim's fact-check (``a``, ``f`` or both), and a note."""

    marks: tuple[str, ...]
    note: str


MARKING: Final = JudgingForm(kind="ambient.claim", model=Mark, verb="marks")
MarkedClaim = Case[Mark]
"""A claim of a run; its `thing` is a `ClaimRecord`."""


def marked_claims(reader: LogReader, run_id: str) -> list[MarkedClaim]:
    """Return the claims of a run that have been paraphrased and scored: the flagged first, by falling score.

    Raises:
        InputError: if the run is another benchmark's, or has no claims.
        NotInLog: if there is no such run.
    """
    opinions = MARKING.read(reader, run_id)
    newest = {record.id: record for record in claim_records(reader, [run_id], aborted=False)}
    rows = [row for row in reader.items(reader.run(run_id).id) if row.benchmark == BENCHMARK]
    items = {row.hash: item_from_row(row) for row in rows}
    keys = {item.id: key for key, item in items.items() if isinstance(item, ClaimItem)}
    if not keys:
        raise InputError(f"{run_id} has no claims: run the task claim first.", code="no_claims", run=run_id)
    claims = [
        Case(
            key=key,
            name=key,
            title=record.cleaned,
            show=partial(_show, record),
            opinions=Opinions(opinions.get(key, Opinions()).blind),
            thing=record,
        )
        for id, key in keys.items()
        if (record := newest.get(id))
    ]
    return sorted(claims, key=_rank)


def _rank(claim: MarkedClaim) -> tuple[bool, float]:
    shown = explanation(claim.thing)
    return shown is None, -(shown.score if shown else 0.0)


def read_marks(case: MarkedClaim, values: Values, decides: bool = False) -> Mark:
    """Return an annotator's form on a claim."""
    chosen = values.get("marks") or ()
    if not chosen:
        message = "Say what the fact-check complains about: a (ambiguity), f (factuality), or both."
        raise InputError(message, code="markless")
    return Mark(marks=tuple(mark for mark in MARKS if mark in chosen), note=values.get("note") or "")


def records_marked_by(claims: Sequence[MarkedClaim], annotator: str) -> tuple[ClaimRecord, ...]:
    """Return the claims with one annotator's marks in place of the data's, for `claims.claim_measures`."""
    forms = ((claim.thing, claim.opinions.blind.get(annotator)) for claim in claims)
    return tuple(
        replace(record, marks=frozenset(mark.marks) if mark else None, notes=mark.note if mark else "")
        for record, mark in forms
    )


def _show(record: ClaimRecord) -> Iterator[Block]:
    why = explanation(record)
    yield Heading(message("desks.claims.flagged" if flagged(record) else "desks.claims.not_flagged"))
    yield Text(record.cleaned)
    yield Text(" · ".join(filter(None, (record.person, record.venue))), look="muted")
    if record.cleaned != record.claim:
        yield Text(message("desks.claims.as_said", words=record.claim), look="muted")
    for paraphrase in sorted(record.paraphrases, key=lambda paraphrase: -paraphrase.score):
        yield Heading(message("desks.claims.why" if paraphrase is why else "desks.claims.paraphrase"))
        yield Text(paraphrase.text)
        if paraphrase.probabilities:
            rows = [
                (
                    message(f"desks.labels.{label}"),
                    Cell(f"{share:.3f}", "strong" if share > THRESHOLD else ""),
                )
                for label, share in paraphrase.probabilities.items()
            ]
            above = message("desks.claims.probability", threshold=f"{THRESHOLD:.3f}")
            yield Rows(rows, (message("desks.claims.label"), above))
    yield Heading(message("desks.claims.factcheck"))
    yield Text("\n\n".join(filter(None, (record.rating, record.justification, record.url))) or "–")


def _sections(reader: LogReader, run: str, rater: str) -> Iterator[Section]:
    """Yield, for every annotator, how well flags find the claims that they marked as ambiguous."""
    claims, printed = marked_claims(reader, run), paper()["claims"]
    for annotator in dict.fromkeys(name for claim in claims for name in claim.opinions.blind):
        measures = claim_measures(records_marked_by(claims, annotator))
        rows = [(title, measures[name], printed[name]) for name, title in CLAIM_MEASURES.items()]
        remark = (
            f"{measures['n']} claims marked, {measures['ambiguous'].value} of them for ambiguity, "
            f"{measures['flagged'].value or 0} of them flagged; {measures['unmarked'].value} not marked yet."
        )
        table = Table(("Measure", Column("Value, with interval", 1, 100), Column("In the paper", 1)), rows)
        yield Section(name=slug(annotator), title=annotator, tables=(table,), remarks=(remark,))


CLAIMS: Final = Desk(
    name="claims",
    form=MARKING,
    fields=(Field(name="marks", kind="choices", choices=MARKS), Field(name="note")),
    sets=lambda reader: runs_with(reader, "claim"),
    cases=marked_claims,
    outcome=lambda form: form.marks,
    read=read_marks,
    raters=None,
    decides=None,
    own_order=False,
    agreement=_sections,
    command="askback run ambient --task claim --model local/MODEL --nli FOLDER",
)
