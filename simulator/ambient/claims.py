"""Political claims that are ambiguous, found by a multilabel model of inference (spec 10).

A claim is paraphrased; where claim and paraphrase may stand in more than one relation, the claim has readings
of which the paraphrase is only one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from personas.templates import Rendered, render
from simulator.ambient.intervals import share_interval
from simulator.ambient.items import ClaimItem
from simulator.ambient.labels import LABELS, Label, LabelSet
from simulator.ambient.nli.predict import Predictor, sigmoid
from simulator.ambient.records import ClaimRecord, Paraphrase
from simulator.stats import Interval

THRESHOLD: Final = sigmoid(-1.97)
"""The median logit threshold of multi-label WANLI (Table 11) as a probability."""
PARAPHRASES: Final = 5
AMBIGUITY: Final = "a"
FACTUALITY: Final = "f"
TOLERANCE: Final = 1e-9

_DELETED: Final = ("Says that", "Says", '"', "“", "”", "(", ")")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimMeasures:
    """The agreement of flags with what fact-checks complain about.

    Attributes:
        n: claims that have been marked; the others are not counted below.
        unscored: marked claims without any paraphrase; they are never flagged.
        ambiguous: claims marked ``a``.
        precision: share of the flagged that are marked ``a`` (claims resampled); None if none is flagged.
        recall: share of those marked ``a`` that are flagged; None if there are none.
    """

    n: int
    unmarked: int
    unscored: int
    flagged: int
    flagged_of_all: int
    ambiguous: int
    threshold: float
    precision: Interval | None
    recall: Interval | None


def clean_claim(claim: str) -> str:
    """Return a claim without who says it: some strings deleted, the first letter a capital."""
    for text in _DELETED:
        claim = claim.replace(text, "")
    claim = claim.strip()
    return claim[:1].upper() + claim[1:]


def paraphrase_prompt(item: ClaimItem) -> Rendered:
    """Return the zero-shot prompt for one paraphrase of a claim."""
    return render("ambient/paraphrase", "en", {"claim": item.cleaned})


def kept(paraphrases: Iterable[str], cleaned: str = "") -> tuple[str, ...]:
    """Return the distinct paraphrases in order, without empty ones and such as only repeat the claim."""
    written = dict.fromkeys(text.strip() for text in paraphrases)
    return tuple(text for text in written if text and text != cleaned)


def second_highest(probabilities: Mapping[Label, float]) -> float:
    """Return the second-highest probability: above a threshold if more than one label is."""
    return sorted(probabilities.values())[-2]


def score_paraphrases(
    predictor: Predictor, cleaned: str, paraphrases: Sequence[str]
) -> tuple[Paraphrase, ...]:
    """Return the paraphrases of a claim with their scores, the claim being the premise."""
    probabilities = predictor.probabilities([(cleaned, text) for text in paraphrases])
    return tuple(
        Paraphrase(text, second_highest(shares), shares)
        for text, shares in zip(paraphrases, probabilities, strict=True)
    )


def score(record: ClaimRecord) -> float | None:
    """Return the score of a claim: the highest of its paraphrases; None if it has none."""
    return max((paraphrase.score for paraphrase in record.paraphrases), default=None)


def flagged(record: ClaimRecord, threshold: float = THRESHOLD) -> bool:
    """Return True if a claim is taken to be ambiguous: its score is strictly above the threshold."""
    highest = score(record)
    return highest is not None and highest > threshold


def predicted_set(paraphrase: Paraphrase, threshold: float = THRESHOLD) -> LabelSet | None:
    """Return the labels whose probability is above the threshold; None if only the score is known."""
    if paraphrase.probabilities is None:
        return None
    return frozenset(label for label in LABELS if paraphrase.probabilities[label] > threshold)


def explanation(record: ClaimRecord, threshold: float = THRESHOLD) -> Paraphrase | None:
    """Return the paraphrase for which a claim is flagged, that with the highest score; None if it is not."""
    if not flagged(record, threshold):
        return None
    return max(record.paraphrases, key=lambda paraphrase: paraphrase.score)


def claim_measures(records: Sequence[ClaimRecord], threshold: float = THRESHOLD) -> ClaimMeasures:
    """Return precision and recall for marked claims; those that nobody has marked are only counted."""
    marked = [record for record in records if record.marks is not None]
    flags = [flagged(record, threshold) for record in marked]
    ambiguous = [AMBIGUITY in (record.marks or ()) for record in marked]
    return ClaimMeasures(
        n=len(marked),
        unmarked=len(records) - len(marked),
        unscored=sum(not record.paraphrases for record in marked),
        flagged=sum(flags),
        flagged_of_all=sum(flagged(record, threshold) for record in records),
        ambiguous=sum(ambiguous),
        threshold=threshold,
        precision=share_interval(ambiguous, flags),
        recall=share_interval(flags, ambiguous),
    )


def rescored(records: Iterable[ClaimRecord]) -> tuple[tuple[ClaimRecord, float | None], ...]:
    """Return claims whose stored score is not that of their paraphrases, with the latter."""
    scores = ((record, score(record)) for record in records if record.stored_score is not None)
    return tuple(
        (record, now)
        for record, now in scores
        if now is None or abs(now - (record.stored_score or 0.0)) > TOLERANCE
    )
