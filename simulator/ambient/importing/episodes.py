"""Rows of published files as episodes of the log: items, and turns with their payloads (spec 11).

Payloads are made as in play (`payloads.logged`), so that whatever reads the log reads them like any others.
What a published row tells beside stands in fields of their own: ``prompt`` where it is not the one that the
item gives, ``stored_rewrites`` and ``stored_edit_f1``; ``kl`` and ``num_conts`` where the samples behind an
estimate are not published; ``readings`` false where only originals were predicted; ``merged`` where a row
gives the rewrites of all annotators together, which then stand with the first; ``annotations`` of a claim.
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
from simulator.ambient.payloads import logged
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
    """An episode as a file tells it; without `annotator` it is of the model that the file is of."""

    item: Item
    turns: tuple[ImportedTurn, ...]
    annotator: str = ""
    complete: bool = True


def crowd_episodes(record: CrowdRecord, id: str) -> list[PublishedEpisode]:
    """Return one episode per worker of a row.

    `id`: the item's; rows of one example have different ones.
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

    Rewrites are nobody's in the file: they stand with the first, marked as merged, and are shown as by one or
    both.
    """
    item = AnnotateItem(
        id=id, example=Example(id=record.id, premise=record.premise, hypothesis=record.hypothesis)
    )
    forms = [
        (worker, Annotation(labels=labels, rewrites=() if place else record.rewrites))
        for place, (worker, labels) in enumerate(zip(record.workers, record.annotations, strict=True))
    ]
    forms += [(worker, Annotation(discard=why)) for worker, why in (record.discarded or {}).items()]
    step = Step("annotate")
    shown = {"shown": shown_record(item, step, shown_in(item, step))}
    episodes = []
    for worker, form in forms:
        merged = {"merged": True} if form.rewrites else {}
        turn = describe(form), {"kind": step.kind, **form.payload(), **shown, **merged}
        episodes.append(PublishedEpisode(item=item, annotator=worker, turns=(turn,)))
    return episodes


def generation_episode(record: GenerationRecord) -> PublishedEpisode:
    """Return the one episode of a row; its item has the readings and worked examples that the row tells."""
    item = _generate_item(record)
    more: dict[str, Any] = {}
    if record.prompt and record.prompt != prompt(item):
        more |= {"prompt": record.prompt, "prompt_hash": sha256(record.prompt.encode()).hexdigest()}
    if record.stored_rewrites is not None:
        more["stored_rewrites"] = dict(record.stored_rewrites)
    if record.stored_edit_f1 is not None:
        more["stored_edit_f1"] = record.stored_edit_f1
    turn = _turn(item, Step("generate"), Reply(text=record.generation), more)
    return PublishedEpisode(item=item, turns=(turn,))


def true_false_episode(records: Sequence[TrueFalseRecord], sentence: str) -> PublishedEpisode:
    """Return the one episode of all statements on a sentence."""
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
        more: dict[str, Any] = {"mass": record.mass}
        if record.prompt != true_false_prompt(record.template, sentence, record.disambiguation):
            more["prompt"] = record.prompt
        turns.append(_turn(item, step, Reply(text=word), more))
    return PublishedEpisode(item=item, turns=tuple(turns), complete=len(turns) == len(numbers))


def statement_sentence(record: TrueFalseRecord) -> str | None:
    """Return the ambiguous sentence out of the prompt of one of its statements; None if it is no such."""
    before, _, after = true_false_prompt(record.template, "\0", record.disambiguation).partition("\0")
    if not (record.prompt.startswith(before) and record.prompt.endswith(after)):
        return None
    return record.prompt.removeprefix(before).removesuffix(after) or None


def continuation_episode(record: ContinuationRecord, examples: Mapping[str, Example]) -> PublishedEpisode:
    """Return the one episode of an instance, with estimates in place of samples.

    `examples`: the dataset by id: it tells the ambiguous sentence, and so the stem in front of it.

    Raises:
        FieldError: if the dataset has no such example or sentence.
    """
    example = examples.get(record.id)
    if example is None:
        raise FieldError(f"id: {record.id} is not in the dataset, which tells the sentence's side")
    side = next((side for side in example.sides if record.sentence.endswith(example.sentence(side))), None)
    if side is None:
        raise FieldError("ambiguous_sentence: is no flagged sentence of this example in the dataset")
    sentence = example.sentence(side)
    stem = record.sentence.removesuffix(sentence)
    if wrong := [option.name for option in record.options if not option.sentence.startswith(stem)]:
        raise FieldError(f"options.{wrong[0]}.sentence: has not the stem {stem!r} of the ambiguous one")
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
    nothing: dict[str, Any] = {"continuations": [], "own": [], "original": [], "tokens": []}
    turns = (
        _turn(item, step, Reply(move=nothing), {"kl": option.kl, "num_conts": record.num_conts})
        for step, option in zip(task_steps(item), record.options, strict=True)
    )
    return PublishedEpisode(item=item, turns=tuple(turns))


def nli_episode(record: NliRecord) -> PublishedEpisode:
    """Return the one episode of an example of which the original pair's labels were predicted."""
    item = NliItem(
        id=record.id,
        example=Example(
            id=record.id, premise=record.premise, hypothesis=record.hypothesis, labels=record.gold
        ),
    )
    turn = _turn(item, Step("nli"), Reply(move={"prediction": record.predicted}), {"readings": False})
    return PublishedEpisode(item=item, turns=(turn,))


def claim_episode(record: ClaimRecord) -> PublishedEpisode:
    """Return the one episode of a claim that was paraphrased and scored."""
    item = replace(claim_items([record])[0], cleaned=record.cleaned)
    texts = [paraphrase.text for paraphrase in record.paraphrases]
    move = scored_move(record.paraphrases)
    written = Reply(text="\n".join(texts), move={"texts": texts, "kept": texts})
    more = {} if record.annotations is None else {"annotations": record.annotations}
    turns = _turn(item, Step("paraphrase"), written), _turn(item, Step("claim"), Reply(move=move), more)
    return PublishedEpisode(item=item, turns=turns)


def _turn(item: Item, step: Step, reply: Reply, more: Mapping[str, Any] | None = None) -> ImportedTurn:
    text, payload = logged(item, step, reply, _OPTIONS, person=False)
    return text, {**payload, **(more or {})}


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
        read = read_prompt(record.prompt)
    except InputError:
        return item  # a prompt of another form is kept as a text
    published = read.instruction == instruction(record.side, "published").text
    shots = (replace(shot, id=f"{item.id}.shot{number}") for number, shot in enumerate(read.shots, start=1))
    return replace(item, shots=tuple(shots), instruction="published" if published else "corrected")
