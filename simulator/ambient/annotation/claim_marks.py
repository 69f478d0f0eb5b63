"""What people who read fact-checks say a claim is faulted for: ambiguity or factuality (spec 10).

Their own impression of the claim does not count, only what the fact-check complains about.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from logs import LogReader
from logs.rows import Judgment
from simulator.ambient.claims import AMBIGUITY, FACTUALITY, explanation, flagged
from simulator.ambient.items import ClaimItem
from simulator.ambient.records import ClaimRecord
from simulator.ambient.rows import BENCHMARK, item_from_row
from simulator.ambient.trial_log import claim_records
from simulator.errors import InputError
from simulator.judging import Form, JudgingForm, Opinions, require_known

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
        key: names it in `mark_claim`.
        marks: annotator -> their newest form, in the order of the first.
    """

    key: str
    record: ClaimRecord
    marks: Mapping[str, Mark]

    @property
    def flagged(self) -> bool:
        """Whether its score is above the threshold."""
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


def mark_claim(
    reader: LogReader,
    run_id: str,
    key: str,
    annotator: str,
    marks: Iterable[str],
    *,
    submission: str,
    note: str = "",
) -> Judgment:
    """Return the row that an annotator's form on a claim of a run makes; nothing is written here.

    The same `submission` is the same form, however often it is sent.

    Raises:
        InputError: if there is no such claim, a mark is unknown, or there is none.
    """
    MARKING.require_name(annotator)
    if key not in _keys(reader, run_id).values():
        raise InputError(f"There is no claim {key!r} in {run_id}.", code="no_claim", claim=key, run=run_id)
    chosen = list(marks)
    require_known(chosen, MARKS, "mark")
    if not chosen:
        message = "Say what the fact-check complains about: a (ambiguity), f (factuality), or both."
        raise InputError(message, code="markless")
    form = Mark(marks=tuple(mark for mark in MARKS if mark in chosen), note=note)
    return MARKING.judgment(key, annotator, form, submission=submission, source=run_id)


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
