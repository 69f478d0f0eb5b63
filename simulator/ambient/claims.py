"""Detection of ambiguous political claims with a multilabel NLI model (spec 10).

If the model finds more than one relation likely between a claim and its paraphrase, the paraphrase is only
one of the claim's readings.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from personas.templates import Rendered, render
from simulator.ambient.generation import TOLERANCE
from simulator.ambient.intervals import Count, Values, share_interval
from simulator.ambient.items import ClaimItem
from simulator.ambient.labels import LABELS, Label, LabelSet
from simulator.ambient.nli.predict import Predictor
from simulator.ambient.records import ClaimRecord, Paraphrase

THRESHOLD: Final = math.exp(-1.97) / (1 + math.exp(-1.97))
"""Multi-label WANLI's median logit threshold (Table 11) as a probability; libraries round it otherwise."""
PARAPHRASES: Final = 5
AMBIGUITY: Final = "a"
FACTUALITY: Final = "f"

_DELETED: Final = ("Says that", "Says", '"', "“", "”", "(", ")")


def clean_claim(claim: str) -> str:
    """Return a claim without its attribution ("Says that"), quotes and brackets, capitalized."""
    for text in _DELETED:
        claim = claim.replace(text, "")
    claim = claim.strip()
    return claim[:1].upper() + claim[1:]


def paraphrase_prompt(item: ClaimItem) -> Rendered:
    """Return the zero-shot prompt for one paraphrase of a claim."""
    return render("ambient/paraphrase", "en", {"claim": item.cleaned})


def distinct_paraphrases(paraphrases: Iterable[str], cleaned: str = "") -> tuple[str, ...]:
    """Return the distinct paraphrases in order, without empty ones and copies of the claim."""
    texts = dict.fromkeys(text.strip() for text in paraphrases)
    return tuple(text for text in texts if text and text != cleaned)


def second_highest(probabilities: Mapping[Label, float]) -> float:
    """Return the second-highest probability, which exceeds a threshold if at least two labels do."""
    return sorted(probabilities.values())[-2]


def with_scores(
    paraphrases: Iterable[str], probabilities: Iterable[Mapping[Label, float]]
) -> tuple[Paraphrase, ...]:
    """Return scored paraphrases, from the label probabilities of each with the claim as premise."""
    pairs = zip(paraphrases, probabilities, strict=True)
    return tuple(Paraphrase(text, second_highest(labels), labels) for text, labels in pairs)


def score_paraphrases(
    predictor: Predictor, cleaned: str, paraphrases: Sequence[str]
) -> tuple[Paraphrase, ...]:
    """Return the paraphrases of a claim with their scores."""
    return with_scores(paraphrases, predictor.probabilities([(cleaned, text) for text in paraphrases]))


def score(paraphrases: Iterable[Paraphrase]) -> float | None:
    """Return the score of a claim: the highest among its paraphrases, None without paraphrases."""
    return max((paraphrase.score for paraphrase in paraphrases), default=None)


def scored_move(paraphrases: Sequence[Paraphrase]) -> dict[str, Any]:
    """Return the payload of a turn that scores a claim's paraphrases (`payloads`)."""
    highest = score(paraphrases)
    return {
        "paraphrases": [paraphrase.payload() for paraphrase in paraphrases],
        "score": highest,
        "flagged": highest is not None and highest > THRESHOLD,
    }


def is_flagged(record: ClaimRecord, threshold: float = THRESHOLD) -> bool:
    """Return True if a claim counts as ambiguous: its score is strictly above the threshold."""
    highest = score(record.paraphrases)
    return highest is not None and highest > threshold


def predicted_set(paraphrase: Paraphrase, threshold: float = THRESHOLD) -> LabelSet | None:
    """Return the labels whose probability is above the threshold; None if only the score is known."""
    if paraphrase.probabilities is None:
        return None
    return frozenset(label for label in LABELS if paraphrase.probabilities[label] > threshold)


def explanation(record: ClaimRecord, threshold: float = THRESHOLD) -> Paraphrase | None:
    """Return the paraphrase with the highest score if the claim is flagged, else None."""
    if not is_flagged(record, threshold):
        return None
    return max(record.paraphrases, key=lambda paraphrase: paraphrase.score)


def claim_measures(records: Sequence[ClaimRecord], threshold: float = THRESHOLD) -> Values:
    """Return precision and recall over the ``n`` marked claims; unmarked claims are only counted.

    Claims are resampled; precision is None if no claim is flagged. A claim without paraphrases
    (``unscored``) is never flagged.
    """
    marked = [record for record in records if record.marks is not None]
    flags = [is_flagged(record, threshold) for record in marked]
    ambiguous = [AMBIGUITY in (record.marks or ()) for record in marked]
    n, rows = len(marked), len(records)
    return {
        "precision": share_interval(ambiguous, flags),
        "recall": share_interval(flags, ambiguous),
        "flagged_of_all": Count(sum(is_flagged(record, threshold) for record in records), rows),
        "flagged": Count(sum(flags) if n else None, n),
        "ambiguous": Count(sum(ambiguous), n),
        "unmarked": Count(rows - n, rows),
        "unscored": Count(sum(not record.paraphrases for record in marked), n),
        "n": n,
        "threshold": threshold,
    }


def stored_differences(records: Iterable[ClaimRecord]) -> tuple[tuple[ClaimRecord, float | None], ...]:
    """Return the claims whose stored score differs from the recomputed one, with the latter."""
    scores = ((record, score(record.paraphrases)) for record in records if record.stored_score is not None)
    return tuple(
        (record, computed)
        for record, computed in scores
        if computed is None or abs(computed - (record.stored_score or 0.0)) > TOLERANCE
    )
