"""Items out of examples: what is shown to crowdworkers, linguists and models (spec 3, 5.1, 7, 9, 10)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Final

from simulator.ambient.claims import clean_claim
from simulator.ambient.data import Claim
from simulator.ambient.examples import Example
from simulator.ambient.items import AnnotateItem, Candidate, ClaimItem, CrowdItem, NliItem, TrueFalseItem
from simulator.ambient.labels import Label, Side
from simulator.ambient.records import ClaimRecord
from simulator.errors import InputError
from simulator.seeds import derive_seed

CANDIDATES: Final = 3
_NAMED: Final = 5
_MISSING: Final = (
    "no distractor for the ambiguous side; give the examples a field "
    '"distractors": {"premise": …} with a sentence near the ambiguous one that is no reading of it, '
    "or name the file that `askback generate ambient-distractors` makes (a run: --distractors FILE, "
    "a study's settings: distractors: FILE)"
)
_WRONG: Final = "the distractor is the ambiguous sentence or one of its readings"
_log = logging.getLogger(__name__)
Distractors = Mapping[tuple[str, Side], str]
"""By id of the example and side."""


def crowd_items(
    examples: Iterable[Example], *, seed: int, distractors: Distractors | None = None
) -> tuple[CrowdItem, ...]:
    """Return the examples with exactly one ambiguous side, each with three candidates in a drawn order.

    Two readings get a distractor, three get none, and of four three are drawn. The readings are shuffled
    and the distractor's slot is drawn uniformly, for each example from the seed and its id alone. Examples
    whose distractor is missing, or is the sentence or one of its readings, are left out with a warning.

    Args:
        examples: others than those are left out.
        seed: of the drawing.
        distractors: go before the examples' own.

    Raises:
        InputError: if no such example is left; says why, and names those left out.
    """
    fit = [example for example in examples if example.xor]
    if not fit:
        raise InputError("no example has exactly one ambiguous side: there is nothing for crowdworkers")
    texts = {example.id: _distractor(example, distractors or {}) for example in fit}
    # With three readings nobody sees the distractor.
    shown = [example for example in fit if len(_readings(example)) < CANDIDATES]
    missing = [example for example in shown if not texts[example.id]]
    wrong = [
        example
        for example in shown
        if texts[example.id] and not tells_apart(example, example.sides[0], texts[example.id])
    ]
    groups = [(group, why) for group, why in ((missing, _MISSING), (wrong, _WRONG)) if group]
    left_out = {example.id for group, _ in groups for example in group}
    if len(left_out) == len(fit):
        raise InputError("; ".join(f"{_ids(group)}: {why}" for group, why in groups))
    for group, why in groups:
        _log.warning("%d of %d examples left out: %s: %s", len(group), len(fit), _ids(group), why)
    return tuple(
        _crowd_item(example, seed, texts[example.id]) for example in fit if example.id not in left_out
    )


def tells_apart(example: Example, side: Side, distractor: str) -> bool:
    """Return True if a distractor is neither the ambiguous sentence nor one of its readings."""
    return one_line(distractor) not in map(one_line, (example.sentence(side), *example.rewrites(side)))


def one_line(text: str) -> str:
    """Return a sentence without outer and repeated white space, which makes no other sentence."""
    return " ".join(text.split())


def annotate_items(examples: Iterable[Example]) -> tuple[AnnotateItem, ...]:
    """Return all examples, for linguists; pairs that nobody has annotated will do."""
    return tuple(AnnotateItem(id=example.id, example=example) for example in examples)


def true_false_items(examples: Iterable[Example]) -> tuple[TrueFalseItem, ...]:
    """Return flagged sentences with their distinct rewrites; an example with two of them gives two items."""
    return tuple(
        TrueFalseItem(
            id=f"{example.id}.{side}",
            example_id=example.id,
            side=side,
            sentence=example.sentence(side),
            rewrites=example.rewrites(side),
        )
        for example in examples
        for side in example.sides
    )


def nli_items(examples: Iterable[Example]) -> tuple[NliItem, ...]:
    """Return all examples, with their disambiguations.

    Raises:
        InputError: if some have no labels to compare with; names them.
    """
    examples = tuple(examples)
    unlabelled = [example for example in examples if not example.labels]
    if unlabelled:
        raise InputError(f"{_ids(unlabelled)}: no labels, so no prediction can be right or wrong")
    return tuple(NliItem(id=example.id, example=example) for example in examples)


def claim_items(claims: Iterable[Claim | ClaimRecord]) -> tuple[ClaimItem, ...]:
    """Return claims, built in or of a results file, to be paraphrased (spec 10)."""
    return tuple(
        ClaimItem(
            id=claim.id,
            claim=claim.claim,
            cleaned=getattr(claim, "cleaned", "") or clean_claim(claim.claim),
            justification=claim.justification,
            rating=claim.rating,
            person=claim.person,
            venue=claim.venue,
            url=getattr(claim, "url", ""),
            marks="".join(sorted(claim.marks or ())),
        )
        for claim in claims
    )


def _crowd_item(example: Example, seed: int, distractor: str) -> CrowdItem:
    side = example.sides[0]
    random = Random(derive_seed(seed, "crowd", example.id))
    candidates = [Candidate(text, label) for text, label in _readings(example).items()]
    random.shuffle(candidates)
    del candidates[CANDIDATES:]
    if len(candidates) < CANDIDATES:
        candidates.insert(random.randrange(CANDIDATES), Candidate(distractor, None))
    return CrowdItem(
        id=f"{example.id}.{side}",
        example_id=example.id,
        premise=example.premise,
        hypothesis=example.hypothesis,
        side=side,
        candidates=tuple(candidates),
        gold=example.labels,
    )


def _readings(example: Example) -> dict[str, Label]:
    """Return the distinct rewrites of the one ambiguous side with their labels."""
    return {
        disambiguation.sentence(example.sides[0]): disambiguation.label
        for disambiguation in example.disambiguations
    }


def _distractor(example: Example, distractors: Distractors) -> str:
    side = example.sides[0]
    return distractors.get((example.id, side)) or example.distractors.get(side, "")


def _ids(examples: Sequence[Example]) -> str:
    more = f" and {len(examples) - _NAMED} more" if len(examples) > _NAMED else ""
    ids = ", ".join(example.id for example in examples[:_NAMED])
    return f"example{'s' if len(examples) > 1 else ''} {ids}{more}"
