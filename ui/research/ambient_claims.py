"""Claims that a model takes to be ambiguous, beside what fact-checks say of them (spec 10)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from logs import LogReader
from simulator.ambient.annotation.desks import MARKS, MarkedClaim, marked_claims, records_marked_by
from simulator.ambient.claims import THRESHOLD, claim_measures, explanation, predicted_set, score
from simulator.ambient.labels import Label
from simulator.ambient.records import ClaimRecord, Paraphrase
from simulator.ambient.reporting.measures import paper
from ui.ambient.stages import SHOWN
from ui.research.ambient_words import Line, ordered, runs_of, share_line
from ui.research.view import Page, Visit

OUTCOMES: Final = ("flagged", "not_flagged", "marked", "not_marked")


@dataclass(frozen=True, slots=True)
class Bar:
    """A label's probability; `above` the threshold."""

    label: Label
    share: float
    above: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """A paraphrase with what the model says of it: its set, and a bar for each label.

    Attributes:
        why: whether the claim is flagged for it.
    """

    paraphrase: Paraphrase
    labels: list[Label]
    bars: tuple[Bar, ...]
    why: bool


def claims_page(visit: Visit, reader: LogReader) -> Page:
    """Return the start, or a run's claims with one of them open."""
    at = visit.at
    if not at.run or not at.reviewer:
        return visit.page("ambient_claims_start", runs=runs_of(reader, "claim"))
    every = marked_claims(reader, at.run)
    listed = [claim for claim in every if _fits(visit, claim)]
    shown = next((claim for claim in every if claim.key == at.item), None)
    if shown is None:
        waiting = [claim for claim in listed if at.reviewer not in claim.marks]
        shown = next(iter(waiting or listed), None)
    mine = shown.marks.get(at.reviewer) if shown else None
    filled: Mapping[str, Any] = {"marks": sorted(mine.marks), "comment": mine.note} if mine else {}
    return visit.page(
        "ambient_claims",
        listed=[(claim, score(claim.record), claim.marks.get(at.reviewer)) for claim in listed],
        total=len(every),
        outcomes=OUTCOMES,
        shown=shown,
        paraphrases=_paraphrases(shown.record) if shown else (),
        filled=json.dumps(filled) if filled else "",
        following=_following(listed, shown, at.reviewer),
        done=sum(at.reviewer in claim.marks for claim in every),
        left=sum(at.reviewer not in claim.marks for claim in every),
        marks=MARKS,
        threshold=THRESHOLD,
        **_measured(every, at.reviewer),
    )


def _fits(visit: Visit, claim: MarkedClaim) -> bool:
    at = visit.at
    kinds = {
        "flagged": claim.flagged,
        "not_flagged": not claim.flagged,
        "marked": at.reviewer in claim.marks,
        "not_marked": at.reviewer not in claim.marks,
    }
    return kinds.get(at.outcome, True) and at.text.lower().strip() in claim.record.claim.lower()


def _following(listed: Sequence[MarkedClaim], shown: MarkedClaim | None, annotator: str) -> str:
    """Return the next claim that is not marked yet, after the one that is shown."""
    keys = [claim.key for claim in listed]
    place = keys.index(shown.key) if shown and shown.key in keys else -1
    order = [*listed[place + 1 :], *listed[: max(place, 0)]]
    return next((claim.key for claim in order if annotator not in claim.marks), "")


def _measured(every: Sequence[MarkedClaim], annotator: str) -> dict[str, Any]:
    measures, printed = claim_measures(records_marked_by(every, annotator)), paper()["claims"]
    lines: list[Line] = [
        share_line(name, getattr(measures, name), f"{printed[name]:.1f}") for name in ("precision", "recall")
    ]
    return {"measured": measures, "lines": lines}


def _paraphrases(record: ClaimRecord) -> tuple[Shown, ...]:
    why = explanation(record)
    return tuple(
        _paraphrase(paraphrase, paraphrase is why)
        for paraphrase in sorted(record.paraphrases, key=lambda paraphrase: -paraphrase.score)
    )


def _paraphrase(paraphrase: Paraphrase, why: bool) -> Shown:
    probabilities = paraphrase.probabilities or {}
    bars = tuple(
        Bar(label, probabilities[label], probabilities[label] > THRESHOLD)
        for label in SHOWN
        if label in probabilities
    )
    return Shown(paraphrase, ordered(predicted_set(paraphrase) or ()), bars, why)
