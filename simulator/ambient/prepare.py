"""Items built from examples, for crowdworkers, linguists and models (spec 3, 5.1, 6.2, 7 to 10).

In the evaluation of models' disambiguations (6.5), workers do the second and third step of the crowdworkers'
task. The candidates are a model's rewrites, filled up to three with the distractor. Participants do not
learn that a model wrote the rewrites.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Final

from logs import LogError, LogReader
from simulator.ambient.claims import clean_claim
from simulator.ambient.continuations import STEMS
from simulator.ambient.data import Claim
from simulator.ambient.distractors import DistractorRule, Relations, distractor_for
from simulator.ambient.examples import Example, list_names, squeeze
from simulator.ambient.files.dataset import warn_of
from simulator.ambient.files.results import CANDIDATES, GENERATION
from simulator.ambient.items import (
    AnnotateItem,
    Candidate,
    ClaimItem,
    ContinueItem,
    CrowdItem,
    GenerateItem,
    InstructionText,
    NliItem,
    TrueFalseItem,
)
from simulator.ambient.labels import LABELS, SIDES, Label, Side
from simulator.ambient.playing import ANNOTATOR
from simulator.ambient.prompts import Parser, parse
from simulator.ambient.records import ClaimRecord, GenerationRecord
from simulator.ambient.trial_log import generation_records
from simulator.errors import InputError
from simulator.seeds import derive_seed

SHOTS: Final = 4
_MISSING: Final = (
    "no distractor for the ambiguous side; give the examples a field "
    '"distractors": {"premise": …} with a sentence similar to the ambiguous one that is not a reading of it, '
    "or name a file made by `askback generate ambient-distractors` (in a run: --distractors FILE, in a "
    "study's settings: distractors: FILE)"
)
_WRONG: Final = "the distractor is the ambiguous sentence or one of its readings"
_log = logging.getLogger(__name__)
Distractors = Mapping[tuple[str, Side], str]
"""Sentences by example id and side."""


def crowd_items(
    examples: Iterable[Example], *, seed: int, distractors: Distractors | None = None
) -> tuple[CrowdItem, ...]:
    """Return an item for each example with exactly one ambiguous side, with three shuffled candidates.

    Two readings are supplemented by a distractor; of four readings, three are drawn. The readings are
    shuffled and the distractor's slot is uniform; both depend only on the seed and the example's id.
    Examples whose distractor is missing, or is the sentence or one of its readings, are skipped with a
    warning.

    Raises:
        InputError: if no example is left; says why and names the skipped ones.
    """
    suitable = [example for example in examples if example.xor]
    if not suitable:
        raise InputError("no example has exactly one ambiguous side, so there are no items for crowdworkers")
    texts = {example.id: _distractor(example, distractors or {}) for example in suitable}
    # With three readings the distractor is not shown.
    shown = [example for example in suitable if len(_readings(example)) < CANDIDATES]
    missing = [example for example in shown if not texts[example.id]]
    wrong = [
        example
        for example in shown
        if texts[example.id] and not is_new_sentence(example, example.sides[0], texts[example.id])
    ]
    groups = [(group, why) for group, why in ((missing, _MISSING), (wrong, _WRONG)) if group]
    skipped = {example.id for group, _ in groups for example in group}
    if len(skipped) == len(suitable):
        raise InputError("; ".join(f"{_ids(group)}: {why}" for group, why in groups))
    for group, why in groups:
        _log.warning("%d of %d examples left out: %s: %s", len(group), len(suitable), _ids(group), why)
    return tuple(
        _crowd_item(example, seed, texts[example.id]) for example in suitable if example.id not in skipped
    )


def is_new_sentence(example: Example, side: Side, distractor: str) -> bool:
    """Return True if a distractor is neither the ambiguous sentence nor one of its readings."""
    return squeeze(distractor) not in map(squeeze, (example.sentence(side), *example.rewrites(side)))


def annotate_items(examples: Iterable[Example]) -> tuple[AnnotateItem, ...]:
    """Return an item for each example, annotated or not, for linguists."""
    return tuple(AnnotateItem(id=example.id, example=example) for example in examples)


def true_false_items(examples: Iterable[Example]) -> tuple[TrueFalseItem, ...]:
    """Return an item for each flagged sentence, with its distinct rewrites; an example may have two."""
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


def generate_items(
    examples: Iterable[Example], *, seed: int, shots: int = SHOTS, instruction: InstructionText = "published"
) -> tuple[GenerateItem, ...]:
    """Return an item for each example with exactly one ambiguous side.

    The worked examples of each item are drawn without replacement from the *other* examples that are
    ambiguous only on the same side; the draw depends only on `seed` and the example's id.

    Raises:
        InputError: if there are fewer other examples than `shots`.
    """
    chosen = tuple(example for example in examples if example.xor)
    pools = {side: [example for example in chosen if example.flagged(side)] for side in SIDES}

    def item(example: Example) -> GenerateItem:
        side = example.sides[0]
        others = [other for other in pools[side] if other.id != example.id]
        if len(others) < shots:
            raise InputError(
                f"{example.id}: needs {shots} worked examples, but only {len(others)} other examples are "
                f"ambiguous only in the {side}; give more examples, or fewer --shots"
            )
        drawn = tuple(Random(derive_seed(seed, example.id)).sample(others, shots))
        return GenerateItem(id=example.id, example=example, side=side, shots=drawn, instruction=instruction)

    return tuple(map(item, chosen))


def continue_items(
    examples: Iterable[Example],
    *,
    seed: int,
    stem: str = STEMS["plain"],
    wanted: int = 100,
    distractor: DistractorRule = "paper",
    relations: Relations | None = None,
) -> tuple[ContinueItem, ...]:
    """Return an item for each flagged sentence; its distractor depends only on `seed` and its id.

    Raises:
        InputError: if a sentence contains no word.
    """
    return tuple(
        ContinueItem(
            id=(name := f"{example.id}.{side}"),
            example_id=example.id,
            side=side,
            sentence=example.sentence(side),
            rewrites=example.rewrites(side),
            distractor=distractor_for(
                example.sentence(side), seed=derive_seed(seed, name), rule=distractor, relations=relations
            ).text,
            stem=stem,
            wanted=wanted,
        )
        for example in examples
        for side in example.sides
    )


def nli_items(examples: Iterable[Example]) -> tuple[NliItem, ...]:
    """Return an item for each example, with its disambiguations.

    Raises:
        InputError: if examples have no labels to compare with; names them.
    """
    examples = tuple(examples)
    unlabelled = [example for example in examples if not example.labels]
    if unlabelled:
        raise InputError(f"{_ids(unlabelled)}: no labels to compare predictions with")
    return tuple(NliItem(id=example.id, example=example) for example in examples)


def claim_items(claims: Iterable[Claim | ClaimRecord]) -> tuple[ClaimItem, ...]:
    """Return an item for each claim, built-in or from a results file (spec 10)."""
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
    """Return rewrite -> label for the distinct rewrites of the ambiguous side."""
    return {
        disambiguation.sentence(example.sides[0]): disambiguation.label
        for disambiguation in example.disambiguations
    }


def _distractor(example: Example, distractors: Distractors) -> str:
    side = example.sides[0]
    return distractors.get((example.id, side)) or example.distractors.get(side, "")


def _ids(examples: Sequence[Example]) -> str:
    return f"example{'s' if len(examples) > 1 else ''} {list_names([example.id for example in examples])}"


ITEMS: Final = 50


def evaluation_items(
    results: Mapping[str, Sequence[GenerationRecord]],
    distractors: Distractors,
    *,
    seed: int,
    items: int = ITEMS,
) -> tuple[CrowdItem, ...]:
    """Return items of the same `items` examples for every model, example by example.

    The draw of examples depends only on the seed and their ids, so models evaluated separately get the same
    ones if their results cover the same examples. Candidates are shuffled for each item. If a model's
    rewrites need a distractor and there is none, the example is replaced for all models, with a warning.

    Raises:
        InputError: if no example has results of every model and the distractor it needs.
    """
    by_model = {
        model: {(record.id, record.side): record for record in records} for model, records in results.items()
    }
    first, *others = by_model.values() if by_model else ({},)
    common = [key for key in first if all(key in other for other in others)]
    if not common:
        raise InputError(f"no example has results of every model ({', '.join(results) or 'no models'})")
    complete, missing, drawn = list[CrowdItem](), dict[str, None](), 0
    for key in sorted(common, key=lambda key: (derive_seed(seed, "evaluation", *key), key)):
        if drawn == items:
            break
        candidates = [
            _item(by_model[model][key], model, number, distractors.get(key, ""), seed)
            for number, model in enumerate(sorted(by_model), start=1)
        ]
        valid = [item for item in candidates if item is not None]
        if len(valid) < len(candidates):
            missing[key[0]] = None
            continue
        complete += valid
        drawn += 1
    if missing:
        reason = f"no distractor for the ambiguous sentence of examples {', '.join(missing)}"
        if any((id, side) in distractors for id in missing for side in SIDES):
            reason += ", or it repeats the sentence or a rewrite"
        if not complete:
            raise InputError(reason)
        _log.warning("%d examples left out: %s", len(missing), reason)
    return tuple(complete)


def results_of(names: Iterable[str], log: Path) -> dict[str, tuple[GenerationRecord, ...]]:
    """Return the disambiguations by model.

    `names`: results files, named after their models, or runs.

    Raises:
        InputError: if a file or run does not exist, or no row of a file can be read.
    """
    results: dict[str, tuple[GenerationRecord, ...]] = {}
    for name in names:
        path = Path(name)
        if path.exists():
            rows, _, faults = GENERATION.read(path)
            warn_of(faults, rows, path)
            results[path.stem] = rows
            continue
        try:
            with LogReader(log) as reader:
                model = str(reader.run(name).config["seats"][ANNOTATOR])
                results[model] = generation_records(reader, [name], aborted=False)
        except LogError as error:
            raise InputError(f"results {name!r} is neither a results file nor a run ({error})") from error
    return results


def distractors_of(examples: Iterable[Example]) -> dict[tuple[str, Side], str]:
    """Return the distractors stored in examples, by id and side."""
    return {(example.id, side): text for example in examples for side, text in example.distractors.items()}


def labelled_rewrites(record: GenerationRecord, parser: Parser = "reference") -> dict[Label, str]:
    """Return the non-empty rewrites of a model by label."""
    texts = parse(record.generation, parser).rewrites
    return {label: texts[label].strip() for label in LABELS if texts.get(label, "").strip()}


def _item(record: GenerationRecord, model: str, number: int, distractor: str, seed: int) -> CrowdItem | None:
    """Return the item of a model's rewrites; None if it needs a distractor and there is no valid one."""
    rewrites = labelled_rewrites(record)
    candidates = [Candidate(text, label) for label, text in rewrites.items()]
    if len(candidates) < CANDIDATES:
        shown = map(squeeze, (record.original, *rewrites.values()))
        if not distractor or squeeze(distractor) in shown:
            return None
        candidates += [Candidate(distractor, None)] * (CANDIDATES - len(candidates))
    Random(derive_seed(seed, "candidates", model, record.id, record.side)).shuffle(candidates)
    return CrowdItem(
        id=f"{record.id}.{record.side}.{number}",
        example_id=record.id,
        premise=record.premise,
        hypothesis=record.hypothesis,
        side=record.side,
        candidates=tuple(candidates),
        gold=frozenset(record.gold),
        origin=model,
    )
