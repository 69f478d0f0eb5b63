"""Conversion of published rows to episodes of the log: items, and turns with their payloads (spec 11).

Payloads are built as in play (`turn_content`), so readers of the log need not tell them apart. Further
facts of published rows have their own fields: ``prompt`` if it differs from the item's, ``stored_rewrites``
and ``stored_edit_f1``; ``kl`` and ``num_conts`` for estimates without published samples; ``readings`` (false)
if only originals were predicted; ``merged`` if a row does not attribute its rewrites, which are then stored
with the first annotator; ``annotations`` of a claim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final

from simulator.ambient.annotation.rules import Annotation, describe
from simulator.ambient.claims import scored_move
from simulator.ambient.examples import Example, one_sided
from simulator.ambient.items import (
    AnnotateItem,
    Candidate,
    ContinueItem,
    CrowdItem,
    GenerateItem,
    Item,
    NliItem,
    TrueFalseItem,
)
from simulator.ambient.payloads import turn_content
from simulator.ambient.playing import Options, Step, shown_in, shown_record, statements, task_steps
from simulator.ambient.prepare import claim_items
from simulator.ambient.prompts import instruction, prompt, read_prompt
from simulator.ambient.records import (
    ClaimRecord,
    ContinuationRecord,
    CrowdRecord,
    GenerationRecord,
    LinguistRecord,
    NliRecord,
    TrueFalseRecord,
)
from simulator.ambient.true_false import FALSE, TRUE, true_false_prompt
from simulator.errors import InputError
from simulator.jsonlines import FieldError
from simulator.seats import Reply
from simulator.tables.importing import PUBLISHED

_OPTIONS: Final = Options()


ImportedTurn = tuple[str, Mapping[str, Any]]
"""Text and payload."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedEpisode:
    """An episode read from a file; without `annotator`, the annotator is the file's model."""

    item: Item
    turns: tuple[ImportedTurn, ...]
    annotator: str = ""
    complete: bool = True


def crowd_episodes(record: CrowdRecord, id: str) -> list[PublishedEpisode]:
    """Return one episode per worker of a row.

    `id`: the item's id, which differs between rows of one example.
    """
    item = CrowdItem(
        id=id,
        example_id=record.id,
        premise=record.premise,
        hypothesis=record.hypothesis,
        side=record.side,
        candidates=tuple(
            Candidate(text, label) for text, label in zip(record.interpretations, record.labels, strict=True)
        ),
        gold=frozenset(label for label in record.labels if label is not None),
        origin=record.origin,
    )
    return [
        PublishedEpisode(
            item=item,
            annotator=PUBLISHED,
            turns=tuple(_turn(item, step, _vote(record, step, worker)) for step in task_steps(item)),
        )
        for worker in range(len(record.plausible[0]))
    ]


def linguist_episodes(record: LinguistRecord, id: str) -> list[PublishedEpisode]:
    """Return one episode per annotation of a row; arguments as for `crowd_episodes`.

    The file does not attribute rewrites, so they are stored with the first annotator and marked as merged.
    """
    item = AnnotateItem(
        id=id, example=Example(id=record.id, premise=record.premise, hypothesis=record.hypothesis)
    )
    forms = [
        (worker, Annotation(labels=labels, rewrites=() if place else record.rewrites))
        for place, (worker, labels) in enumerate(zip(record.workers, record.annotations, strict=True))
    ]
    forms += [(worker, Annotation(discard=reason)) for worker, reason in (record.discarded or {}).items()]
    step = Step("annotate")
    shown = {"shown": shown_record(item, step, shown_in(item, step))}
    episodes = []
    for worker, form in forms:
        merged = {"merged": True} if form.rewrites else {}
        turn = describe(form), {"kind": step.kind, **form.payload(), **shown, **merged}
        episodes.append(PublishedEpisode(item=item, annotator=worker, turns=(turn,)))
    return episodes


def generation_episode(record: GenerationRecord) -> PublishedEpisode:
    """Return the episode of a row; its item has the row's readings and worked examples."""
    item = _generate_item(record)
    extra: dict[str, Any] = {}
    if record.prompt and record.prompt != prompt(item):
        extra |= {"prompt": record.prompt, "prompt_hash": sha256(record.prompt.encode()).hexdigest()}
    if record.stored_rewrites is not None:
        extra["stored_rewrites"] = dict(record.stored_rewrites)
    if record.stored_edit_f1 is not None:
        extra["stored_edit_f1"] = record.stored_edit_f1
    turn = _turn(item, Step("generate"), Reply(text=record.generation), extra)
    return PublishedEpisode(item=item, turns=(turn,))


def true_false_episode(records: Sequence[TrueFalseRecord], sentence: str) -> PublishedEpisode:
    """Return the episode of all statements on a sentence."""
    first = records[0]
    item = TrueFalseItem(
        id=f"{first.id}.{first.side}",
        example_id=first.id,
        side=first.side,
        sentence=sentence,
        rewrites=tuple(dict.fromkeys(record.disambiguation for record in records)),
    )
    numbers = {(each.rewrite, each.template): number for number, each in enumerate(statements(item))}
    turns = []
    for record in records:
        step = Step("true_false", numbers[record.disambiguation, record.template])
        word = "" if record.prediction is None else TRUE if record.prediction else FALSE
        extra: dict[str, Any] = {"mass": record.mass}
        if record.prompt != true_false_prompt(record.template, sentence, record.disambiguation):
            extra["prompt"] = record.prompt
        turns.append(_turn(item, step, Reply(text=word), extra))
    return PublishedEpisode(item=item, turns=tuple(turns), complete=len(turns) == len(numbers))


def statement_sentence(record: TrueFalseRecord) -> str | None:
    """Return the ambiguous sentence in the prompt of a statement; None if the prompt has another form."""
    before, _, after = true_false_prompt(record.template, "\0", record.disambiguation).partition("\0")
    if not (record.prompt.startswith(before) and record.prompt.endswith(after)):
        return None
    return record.prompt.removeprefix(before).removesuffix(after) or None


def continuation_episode(record: ContinuationRecord, examples: Mapping[str, Example]) -> PublishedEpisode:
    """Return the episode of an instance, with estimates instead of samples.

    `examples`: the dataset by id, needed to separate the ambiguous sentence from the stem before it.

    Raises:
        FieldError: if the dataset has no such example or sentence.
    """
    example = examples.get(record.id)
    if example is None:
        raise FieldError(f"id: {record.id} is not in the dataset, which is needed to find the ambiguous side")
    side = next((side for side in example.sides if record.sentence.endswith(example.sentence(side))), None)
    if side is None:
        raise FieldError("ambiguous_sentence: is not a flagged sentence of this example in the dataset")
    sentence = example.sentence(side)
    stem = record.sentence.removesuffix(sentence)
    if wrong := [option.name for option in record.options if not option.sentence.startswith(stem)]:
        raise FieldError(f"options.{wrong[0]}.sentence: lacks the stem {stem!r} of the ambiguous sentence")
    *rewrites, distractor = (option.sentence.removeprefix(stem) for option in record.options)
    item = ContinueItem(
        id=f"{record.id}.{side}",
        example_id=record.id,
        side=side,
        sentence=sentence,
        rewrites=tuple(rewrites),
        distractor=distractor,
        stem=stem,
        wanted=max(record.num_conts or 0, 1),
    )
    no_samples: dict[str, Any] = {"continuations": [], "own": [], "original": [], "tokens": []}
    turns = (
        _turn(item, step, Reply(move=no_samples), {"kl": option.kl, "num_conts": record.num_conts})
        for step, option in zip(task_steps(item), record.options, strict=True)
    )
    return PublishedEpisode(item=item, turns=tuple(turns))


def nli_episode(record: NliRecord) -> PublishedEpisode:
    """Return the episode of an example whose original pair's labels were predicted."""
    item = NliItem(
        id=record.id,
        example=Example(
            id=record.id, premise=record.premise, hypothesis=record.hypothesis, labels=record.gold
        ),
    )
    turn = _turn(item, Step("nli"), Reply(move={"prediction": record.predicted}), {"readings": False})
    return PublishedEpisode(item=item, turns=(turn,))


def claim_episode(record: ClaimRecord) -> PublishedEpisode:
    """Return the episode of a claim that was paraphrased and scored."""
    item = replace(claim_items([record])[0], cleaned=record.cleaned)
    texts = [paraphrase.text for paraphrase in record.paraphrases]
    move = scored_move(record.paraphrases)
    paraphrases = Reply(text="\n".join(texts), move={"texts": texts, "kept": texts})
    extra = {} if record.annotations is None else {"annotations": record.annotations}
    turns = _turn(item, Step("paraphrase"), paraphrases), _turn(item, Step("claim"), Reply(move=move), extra)
    return PublishedEpisode(item=item, turns=turns)


def _turn(item: Item, step: Step, reply: Reply, extra: Mapping[str, Any] | None = None) -> ImportedTurn:
    text, payload = turn_content(item, step, reply, _OPTIONS, person=False)
    return text, {**payload, **(extra or {})}


def _vote(record: CrowdRecord, step: Step, worker: int) -> Reply:
    if step.kind == "label":
        return Reply(move={"label": record.original[worker]})
    if step.kind == "plausible":
        return Reply(move={"plausible": [votes[worker] for votes in record.plausible]})
    return Reply(move={"labels": [votes[worker] for votes in record.relabelled]})


def _generate_item(record: GenerationRecord) -> GenerateItem:
    readings = [*record.gold.items()]
    example = one_sided(record.id, record.premise, record.hypothesis, record.side, readings)
    item = GenerateItem(id=record.id, example=example, side=record.side, shots=())
    try:
        parts = read_prompt(record.prompt)
    except InputError:
        return item  # a prompt of another form is stored as text
    published = parts.instruction == instruction(record.side, "published").text
    shots = (replace(shot, id=f"{item.id}.shot{number}") for number, shot in enumerate(parts.shots, start=1))
    return replace(item, shots=tuple(shots), instruction="published" if published else "corrected")
