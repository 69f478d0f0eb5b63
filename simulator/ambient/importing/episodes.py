"""Rows of published files as episodes of the log: items, and turns with the room's own payloads (spec 11).

Payloads are made by the room (`payloads.logged`), so that whatever reads the log reads them like any others.
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

from simulator.ambient.annotation.rules import annotation_payload, describe
from simulator.ambient.claims import flagged, score
from simulator.ambient.examples import Disambiguation, Example
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
from simulator.ambient.labels import Label
from simulator.ambient.payloads import logged
from simulator.ambient.playing import Options, Step, statements, task_steps
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
from simulator.ambient.shown import shown_in, shown_record
from simulator.ambient.true_false import FALSE, TRUE, true_false_prompt
from simulator.ambient.views import Annotation, Discard
from simulator.errors import InputError
from simulator.seats import Reply
from simulator.tables.importing import PUBLISHED

_OPTIONS: Final = Options()


@dataclass(frozen=True, slots=True)
class ImportedTurn:
    """One turn."""

    text: str
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedEpisode:
    """What becomes an episode.

    Attributes:
        annotator: who sat there; empty for the model that the file is of.
        complete: whether the file has all turns that there should be.
    """

    item: Item
    turns: tuple[ImportedTurn, ...]
    annotator: str = ""
    complete: bool = True


class RowProblem(Exception):
    """A row that cannot be brought into the log; the message names the field."""


def crowd_episodes(record: CrowdRecord, id: str) -> list[PublishedEpisode]:
    """One episode per worker of a row; `id` is the item's, and rows of one example have different ones."""
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
    workers = len(record.plausible[0])
    return [
        PublishedEpisode(
            item=item,
            annotator=PUBLISHED,
            turns=tuple(_said(item, step, _vote(record, step, worker)) for step in task_steps(item)),
        )
        for worker in range(workers)
    ]


def linguist_episodes(record: LinguistRecord, id: str) -> list[PublishedEpisode]:
    """Return one episode per annotation of a row; rewrites are nobody's in the file and stand with the first.

    They are marked as merged, and shown as by one or both.

    Args:
        record: the row.
        id: the item's; rows of one example have different ones.
    """
    item = AnnotateItem(
        id=id, example=Example(id=record.id, premise=record.premise, hypothesis=record.hypothesis)
    )
    kept = [
        Annotation(labels=labels, rewrites=() if place else record.rewrites)
        for place, labels in enumerate(record.annotations)
    ]
    forms = list(zip(record.workers, kept, strict=True))
    forms += [(who, Annotation(discard=_discard(why))) for who, why in (record.discarded or {}).items()]
    step = Step("annotate")
    shown = {"shown": shown_record(item, step, shown_in(item, step))}
    made = []
    for who, form in forms:
        payload = {"kind": step.kind, **annotation_payload(form), **shown}
        payload |= {"merged": True} if form.rewrites else {}
        turn = ImportedTurn(describe(form), payload)
        made.append(PublishedEpisode(item=item, annotator=who, turns=(turn,)))
    return made


def generation_episode(record: GenerationRecord) -> PublishedEpisode:
    """Return the one episode of a row; its item has the readings and worked examples that the row tells."""
    item = _generate_item(record)
    said = _said(item, Step("generate"), Reply(text=record.generation))
    payload = dict(said.payload)
    if record.prompt and record.prompt != prompt(item):
        payload |= {"prompt": record.prompt, "prompt_hash": sha256(record.prompt.encode()).hexdigest()}
    if record.stored_rewrites is not None:
        payload["stored_rewrites"] = dict(record.stored_rewrites)
    if record.stored_edit_f1 is not None:
        payload["stored_edit_f1"] = record.stored_edit_f1
    return PublishedEpisode(item=item, turns=(ImportedTurn(said.text, payload),))


def true_false_episode(records: Sequence[TrueFalseRecord], sentence: str) -> PublishedEpisode:
    """Return the one episode of all statements on a sentence.

    Args:
        records: of one example and side, each statement once.
        sentence: the ambiguous one.
    """
    first = records[0]
    item = TrueFalseItem(
        id=f"{first.id}.{first.side}",
        example_id=first.id,
        side=first.side,
        sentence=sentence,
        rewrites=tuple(dict.fromkeys(record.disambiguation for record in records)),
    )
    asked = {(one.rewrite, one.template): number for number, one in enumerate(statements(item))}
    turns = []
    for record in records:
        step = Step("true_false", asked[record.disambiguation, record.template])
        word = "" if record.prediction is None else TRUE if record.prediction else FALSE
        said = _said(item, step, Reply(text=word))
        payload = {**said.payload, "mass": record.mass}
        if record.prompt != true_false_prompt(record.template, sentence, record.disambiguation):
            payload["prompt"] = record.prompt
        turns.append(ImportedTurn(said.text, payload))
    return PublishedEpisode(item=item, turns=tuple(turns), complete=len(turns) == len(asked))


def statement_sentence(record: TrueFalseRecord) -> str | None:
    """The ambiguous sentence, read out of the prompt of one of its statements; None if it is no such."""
    marks = true_false_prompt(record.template, "\0", record.disambiguation).split("\0")
    text = record.prompt
    if len(marks) != 2 or not (text.startswith(marks[0]) and text.endswith(marks[1])):
        return None
    return text[len(marks[0]) : len(text) - len(marks[1])] or None


def continuation_episode(record: ContinuationRecord, examples: Mapping[str, Example]) -> PublishedEpisode:
    """Return the one episode of an instance, with estimates in place of samples.

    Args:
        record: the row.
        examples: the dataset by id: it tells the ambiguous sentence, and so the stem in front of it.

    Raises:
        RowProblem: if the dataset has no such example or sentence.
    """
    example = examples.get(record.id)
    if example is None:
        raise RowProblem(f"id: {record.id} is not in the dataset, which tells the sentence's side")
    sides = [one for one in example.sides if record.sentence.endswith(example.sentence(one))]
    if not sides:
        raise RowProblem("ambiguous_sentence: is no flagged sentence of this example in the dataset")
    side = sides[0]
    sentence = example.sentence(side)
    stem = record.sentence.removesuffix(sentence)
    texts = {option.name: option.sentence for option in record.options}
    if wrong := [name for name, text in texts.items() if not text.startswith(stem)]:
        raise RowProblem(f"options.{wrong[0]}.sentence: has not the stem {stem!r} of the ambiguous one")
    *rewrites, distractor = texts.values()
    item = ContinueItem(
        id=f"{record.id}.{side}",
        example_id=record.id,
        side=side,
        sentence=sentence,
        rewrites=tuple(text.removeprefix(stem) for text in rewrites),
        distractor=distractor.removeprefix(stem),
        stem=stem,
        wanted=max(record.num_conts, 1),
    )
    estimates = {option.name: option.kl for option in record.options}
    nothing: dict[str, Any] = {"continuations": [], "own": [], "original": [], "tokens": []}
    turns = []
    for step in task_steps(item):
        said = _said(item, step, Reply(move=nothing))
        name = item.options[step.number][0]
        more = {"kl": estimates[name], "num_conts": record.num_conts}
        turns.append(ImportedTurn(said.text, {**said.payload, **more}))
    return PublishedEpisode(item=item, turns=tuple(turns))


def nli_episode(record: NliRecord) -> PublishedEpisode:
    """Return the one episode of an example of which the original pair's labels were predicted."""
    item = NliItem(
        id=record.id,
        example=Example(
            id=record.id, premise=record.premise, hypothesis=record.hypothesis, labels=record.gold
        ),
    )
    said = _said(item, Step("nli"), Reply(move={"prediction": record.predicted}))
    return PublishedEpisode(item=item, turns=(ImportedTurn(said.text, {**said.payload, "readings": False}),))


def claim_episode(record: ClaimRecord) -> PublishedEpisode:
    """Return the one episode of a claim that was paraphrased and scored."""
    item = replace(claim_items([record])[0], cleaned=record.cleaned)
    texts = [paraphrase.text for paraphrase in record.paraphrases]
    paraphrases = [
        {
            "text": paraphrase.text,
            "probabilities": None if paraphrase.probabilities is None else dict(paraphrase.probabilities),
            "score": paraphrase.score,
        }
        for paraphrase in record.paraphrases
    ]
    move = {"paraphrases": paraphrases, "score": score(record), "flagged": flagged(record)}
    asked = _said(
        item, Step("paraphrase"), Reply(text="\n".join(texts), move={"texts": texts, "kept": texts})
    )
    scored = _said(item, Step("claim"), Reply(move=move))
    if record.annotations is not None:
        scored = ImportedTurn(scored.text, {**scored.payload, "annotations": record.annotations})
    return PublishedEpisode(item=item, turns=(asked, scored))


def _said(item: Item, step: Step, reply: Reply) -> ImportedTurn:
    return ImportedTurn(*logged(item, step, reply, _OPTIONS, person=False))


def _vote(record: CrowdRecord, step: Step, worker: int) -> Reply:
    if step.kind == "label":
        return Reply(move={"label": record.original[worker]})
    if step.kind == "plausible":
        return Reply(move={"plausible": [votes[worker] for votes in record.plausible]})
    return Reply(move={"labels": [votes[worker] for votes in record.relabelled]})


def _discard(reason: str | None) -> Discard | None:
    match reason:
        case None | "offensive" | "not_fluent" | "incoherent":
            return reason
    raise RowProblem(f"discarded: {reason!r} is no reason")


def _generate_item(record: GenerationRecord) -> GenerateItem:
    readings = [_reading(record, label, text) for label, text in record.gold.items()]
    example = Example(
        id=record.id,
        premise=record.premise,
        hypothesis=record.hypothesis,
        premise_ambiguous=record.side == "premise",
        hypothesis_ambiguous=record.side == "hypothesis",
        labels=frozenset(record.gold),
        disambiguations=tuple(readings),
    )
    try:
        read = read_prompt(record.prompt)
    except InputError:
        # A prompt of another form is kept as a text.
        return GenerateItem(id=record.id, example=example, side=record.side, shots=())
    shots = tuple(
        replace(shot, id=f"{record.id}.shot{number}") for number, shot in enumerate(read.shots, start=1)
    )
    published = read.instruction == instruction(record.side, "published").text
    return GenerateItem(
        id=record.id,
        example=example,
        side=record.side,
        shots=shots,
        instruction="published" if published else "corrected",
    )


def _reading(record: GenerationRecord, label: Label, text: str) -> Disambiguation:
    if record.side == "premise":
        return Disambiguation(text, record.hypothesis, label)
    return Disambiguation(record.premise, text, label)
