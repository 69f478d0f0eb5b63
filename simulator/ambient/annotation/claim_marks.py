"""What people who read fact-checks say a claim is faulted for: ambiguity or factuality (spec 10).

A mark is a `Judgment` on the claim's item:

================= ========== ==========================================================
kind              about      value
================= ========== ==========================================================
``ambient.claim`` an item    ``run``, ``marks`` (``a``, ``f`` or both), ``note``
================= ========== ==========================================================

Their own impression of the claim does not count, only what the fact-check complains about. Of each annotator
the newest form on a claim counts.
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
from simulator.forms import desk_row

KIND: Final = "ambient.claim"
MARKS: Final = (AMBIGUITY, FACTUALITY)


@dataclass(frozen=True, slots=True)
class Mark:
    """A form: what the fact-check complains about."""

    annotator: str
    marks: frozenset[str]
    note: str


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
    """The claims of a run that have been paraphrased and scored: the flagged first, by falling score.

    Raises:
        InputError: if the run is another benchmark's.
        NotInLog: if there is no such run.
    """
    keys = _keys(reader, run_id)
    forms = _forms(reader, run_id)
    newest = {record.id: record for record in claim_records(reader, [run_id], aborted=False)}
    found = [
        MarkedClaim(key=key, record=newest[id], marks=forms.get(key, {}))
        for id, key in keys.items()
        if id in newest
    ]
    return tuple(sorted(found, key=_rank))


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
    """The row that an annotator's form makes; nothing is written here.

    Args:
        reader: of the log.
        run_id: whose claims they are.
        key: of the claim.
        annotator: the annotator's pseudonym.
        marks: ``a``, ``f`` or both.
        submission: the same is the same form, however often it is sent.
        note: anything else.

    Raises:
        InputError: if there is no such claim, a mark is unknown, or there is none.
    """
    if not annotator.strip():
        raise InputError("Say who marks: a name, or any other pseudonym.", code="nameless")
    if key not in _keys(reader, run_id).values():
        raise InputError(f"There is no claim {key!r} in {run_id}.", code="no_claim", claim=key, run=run_id)
    given = list(marks)
    if unknown := [one for one in given if one not in MARKS]:
        raise InputError(
            f"{unknown[0]!r} is no mark; they are {' and '.join(MARKS)}.", code="no_choice", value=unknown[0]
        )
    if not given:
        raise InputError(
            "Say what the fact-check complains about: a (ambiguity), f (factuality), or both.",
            code="markless",
        )
    value = {"run": run_id, "marks": [one for one in MARKS if one in given], "note": note}
    return desk_row(KIND, run_id, key, annotator, value, submission=submission)


def records_marked_by(claims: Sequence[MarkedClaim], annotator: str) -> tuple[ClaimRecord, ...]:
    """The claims with one annotator's marks in place of the data's, for `claims.claim_measures`."""
    return tuple(
        replace(
            one.record,
            marks=one.marks[annotator].marks if annotator in one.marks else None,
            notes=one.marks[annotator].note if annotator in one.marks else "",
        )
        for one in claims
    )


def _rank(one: MarkedClaim) -> tuple[bool, float]:
    shown = explanation(one.record)
    return shown is None, -(shown.score if shown else 0.0)


def _keys(reader: LogReader, run_id: str) -> dict[str, str]:
    """Id of the claim -> its item's hash."""
    found: dict[str, str] = {}
    for row in reader.items(reader.run(run_id).id):
        item = item_from_row(row) if row.benchmark == BENCHMARK else None
        if isinstance(item, ClaimItem):
            found[item.id] = row.hash
    if not found:
        raise InputError(f"{run_id} has no claims: run the task claim first.", code="no_claims", run=run_id)
    return found


def _forms(reader: LogReader, run_id: str) -> dict[str, dict[str, Mark]]:
    forms: dict[str, dict[str, Mark]] = {}
    for one in reader.judgments(kind=KIND):
        # The values of annotators who have been erased are gone.
        if one.item_hash is not None and one.value.get("run") == run_id:
            mark = Mark(one.annotator, frozenset(one.value["marks"]), one.value["note"])
            forms.setdefault(one.item_hash, {})[one.annotator] = mark
    return forms
