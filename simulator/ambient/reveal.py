"""The blocks of an episode that is over: what was said beside what the dataset says, and what was hidden."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from logs.rows import Turn
from simulator.ambient.annotation.rules import Annotation, read_annotation
from simulator.ambient.examples import Disambiguation, Example
from simulator.ambient.items import AnnotateItem, Candidate, CrowdItem, Item, TrueFalseItem
from simulator.ambient.labels import SHOWN, SIDES, Label, Side
from simulator.ambient.playing import statements
from simulator.ambient.show import pair, tag
from simulator.blocks import (
    Block,
    Card,
    Cell,
    Facts,
    Message,
    Quote,
    Quotes,
    Revision,
    Table,
    Tag,
    Text,
    Verdict,
    Words,
    message,
)
from simulator.errors import InputError
from simulator.form_blocks import Part
from simulator.word_diff import word_diff

Facing = tuple[Words, Sequence[Words | Tag]]


def result_blocks(item: Item, turns: Sequence[Turn]) -> tuple[Block, ...]:
    """Return how an ended episode of a person's task went, and what was hidden in it.

    Raises:
        InputError: if it is a task that people do not do.
    """
    match item:
        case TrueFalseItem():
            judged = [
                (statements(item)[turn.payload["number"]], turn.payload["prediction"])
                for turn in turns
                if turn.payload.get("kind") == "true_false"
            ]
            right = [given == asked.answer for asked, given in judged]
            rows = [
                (
                    asked.text.removeprefix(item.sentence).strip(),
                    truth(asked.answer),
                    "–" if given is None else Cell(truth(given), "right" if good else "wrong"),
                )
                for (asked, given), good in zip(judged, right, strict=True)
            ]
            head = [message(f"result.{name}") for name in ("statement", "right_answer", "you")]
            card = Card(
                message("true_false.sentence"), [Quotes([Quote("", item.sentence)]), Table(rows, head)]
            )
            lead = message("result.true_false_lead")
            return _verdict(_score("true_false", right), lead, all(right)), card
        case CrowdItem():
            right = [
                bool(plausible) and answer == candidate.label
                for candidate, plausible, answer in _slots(item, turns)
                if candidate.label and answer
            ]
            count = sum(candidate.label is not None for candidate in item.candidates)
            side = message(f"side.{item.side}_within")
            lead = message("result.crowd_lead", side=side, count=count)
            verdict = _verdict(_score("crowd", right), lead, bool(right) and all(right))
            return (verdict, *details(item, turns))
        case AnnotateItem():
            form, labels = _form(turns), item.example.labels
            same = form is not None and not form.discard and form.labels == labels and bool(labels)
            known = "same" if same else "other" if labels else "unknown"
            name = "unknown" if form is None else "discarded" if form.discard else known
            verdict = _verdict(message(f"result.annotate_{name}"), message("result.annotate_lead"), same)
            return (verdict, *details(item, turns))
    raise InputError(f"Episodes of the task {item.task} are not shown: no person does it.")


def details(
    item: CrowdItem | AnnotateItem,
    turns: Sequence[Turn],
    said: str = "result.you_said",
    own: str = "result.your_rewrites",
    others: str = "result.dataset_rewrites",
) -> tuple[Card, ...]:
    """Return the pair with the labels that it was given and those of the dataset; then what was hidden.

    `said`, `own`, `others`: the words above what was answered, its rewrites, and those of the dataset.
    """
    if isinstance(item, AnnotateItem):
        form, example = _form(turns), item.example
        chosen: Sequence[Words | Tag] | None = None
        if form is not None:
            chosen = [message(f"discard.{form.discard}")] if form.discard else _tags(form.labels)
        head = _pair(example.premise, example.hypothesis, example.labels, (message(said), chosen))
        if form is None:
            return (head,)
        mine = _rewrite_blocks(example, form.rewrites) or [Text(message("result.nothing"), "muted")]
        theirs = _rewrite_blocks(example, example.disambiguations)
        theirs = theirs or [Text(message("result.no_rewrites"), "muted")]
        return head, Card(message(own), mine), Card(message(others), theirs)
    label = _answers(turns).get("label", {}).get("answer")
    given = (message(said), _tags([label]) if label else None)
    head = _pair(item.premise, item.hypothesis, item.gold, given, both=label in item.gold)
    parts = [
        Part(
            message("result.reading" if candidate.label else "result.distractor"),
            (
                *(() if candidate.label else (Text(message("result.distractor_note"), "muted"),)),
                Revision("", word_diff(item.sentence, candidate.sentence)),
                Facts(_candidate_rows(candidate, plausible, answer, said)),
            ),
        )
        for candidate, plausible, answer in _slots(item, turns)
    ]
    return head, Card(message("result.readings"), parts)


def revisions(premise: str, hypothesis: str, reading: Disambiguation) -> list[Revision]:
    """Return the sentences of a pair that a reading changes, word by word."""
    originals: dict[Side, str] = {"premise": premise, "hypothesis": hypothesis}
    return [
        Revision(message(f"side.{side}"), word_diff(originals[side], reading.sentence(side)))
        for side in SIDES
        if reading.sentence(side) != originals[side]
    ]


def truth(value: bool) -> Message:
    """Return an answer to a statement in words."""
    return message(f"field.answer.{'true' if value else 'false'}")


def _verdict(heading: Message, lead: Message, good: bool) -> Verdict:
    return Verdict(heading, lead, good, kicker=message("result.kicker"))


def _score(task: str, right: Sequence[bool]) -> Message:
    return message(f"result.{task}_score", correct=sum(right), of=len(right))


def _answers(turns: Sequence[Turn]) -> dict[str, Mapping[str, Any]]:
    return {turn.payload["kind"]: turn.payload for turn in turns if turn.payload.get("kind")}


def _form(turns: Sequence[Turn]) -> Annotation | None:
    payload = _answers(turns).get("annotate")
    return None if payload is None else read_annotation(payload)


def _slots(item: CrowdItem, turns: Sequence[Turn]) -> list[tuple[Candidate, bool | None, Label | None]]:
    """Return each candidate with what was answered: whether it is possible, and the label of its pair."""
    answers, nothing = _answers(turns), [None] * len(item.candidates)
    plausible = answers.get("plausible", {}).get("answers", nothing)
    relabelled = answers.get("relabel", {}).get("answers", nothing)
    return list(zip(item.candidates, plausible, relabelled, strict=True))


def _pair(
    premise: str,
    hypothesis: str,
    gold: Iterable[Label],
    given: tuple[Words, Sequence[Words | Tag] | None],
    *,
    both: bool = False,
) -> Card:
    said, chosen = given
    labels = _tags(gold)
    rows: list[Facing] = [] if chosen is None else [(said, chosen)]
    rows.append((message("result.dataset_says"), labels))
    note = (Text(message("result.both"), "muted"),) if both and len(labels) > 1 else ()
    return Card(message("result.pair"), (pair(premise, hypothesis), Facts(rows), *note))


def _tags(labels: Iterable[Label]) -> Sequence[Words | Tag]:
    chosen = set(labels)
    return [tag(label) for label in SHOWN if label in chosen] or [message("result.nothing")]


def _candidate_rows(
    candidate: Candidate, plausible: bool | None, answer: Label | None, said: str
) -> list[Facing]:
    """Return what was said of a candidate; of a distractor that is a matter of judgement."""
    label, rows = candidate.label, list[Facing]()
    if plausible is not None:
        word = message(f"result.{'possible' if plausible else 'not_possible'}")
        rows.append((message(said), [Tag(word, right=plausible if label else None)]))
    if answer is not None:
        rows.append((message("result.with_it"), [tag(answer, answer == label if label else None)]))
    if label and answer != label:
        rows.append((message("result.dataset_says"), [tag(label)]))
    return rows


def _rewrite_blocks(example: Example, readings: Iterable[Disambiguation]) -> list[Block]:
    return [
        Part(message(f"labels.{reading.label}"), revisions(example.premise, example.hypothesis, reading))
        for reading in readings
    ]
